"""Which findings of a period are reviewed by people outside. Source: row TR-44 of docs/requirements/trust.md.

They are not chosen: the seed and the list of findings give the same ones to everybody. By shell, a finding's place is
`printf '%s\\n%s' SEED ID | sha256sum`; those with the smallest hashes are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from uuid import UUID


def rank(seed: str, finding: UUID) -> bytes:
    """The place of a finding, as SHA-256 over the seed, a line feed and the id in lower case."""
    return sha256(f"{seed}\n{finding}".encode()).digest()


def draw_sample(seed: str, findings: Iterable[UUID], size: int) -> tuple[UUID, ...]:
    """The findings with the smallest hashes, smallest first: `size` of them, or all if there are fewer.

    In this order the first ones are a sample too, so reviewers may stop anywhere.
    Raises: ValueError: nothing is to be drawn.
    """
    if size < 1:
        raise ValueError(f"a sample of {size}")
    return tuple(sorted(set(findings), key=lambda finding: rank(seed, finding))[:size])
