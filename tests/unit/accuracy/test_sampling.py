"""Which findings are drawn: by their hashes alone."""

from __future__ import annotations

from hashlib import sha256
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accuracy.reviews import draw_sample, rank

lists = st.lists(st.uuids(), max_size=40)
sizes = st.integers(1, 50)


@pytest.mark.requirement("TR-44")
@given(st.text(max_size=20), lists, sizes)
def test_whoever_knows_seed_and_list_draws_the_same(seed: str, findings: list[UUID], size: int) -> None:
    """TR-44: Anybody can recompute which findings were drawn for review and the public rate."""
    hashed = {finding: sha256(f"{seed}\n{finding}".encode()).hexdigest() for finding in findings}
    drawn = draw_sample(seed, findings, size)
    assert list(drawn) == sorted(hashed, key=hashed.__getitem__)[:size]
    assert draw_sample(seed, [*reversed(findings), *findings], size) == drawn, "each counts once"


@given(st.text(max_size=20), lists, st.uuids(), sizes)
def test_one_finding_more_displaces_one_at_most(seed: str, findings: list[UUID], other: UUID, size: int) -> None:
    before, after = set(draw_sample(seed, findings, size)), set(draw_sample(seed, [*findings, other], size))
    assert after - before <= {other}
    assert len(before - after) <= 1


@given(st.text(max_size=20), lists, sizes)
def test_a_larger_sample_continues_a_smaller_one(seed: str, findings: list[UUID], size: int) -> None:
    assert draw_sample(seed, findings, size + 1)[:size] == draw_sample(seed, findings, size)


def test_a_place_is_what_sha256sum_prints() -> None:
    finding = UUID("018f0000-0000-7000-8000-0000000000AB")
    assert rank("beacon", finding) == sha256(b"beacon\n018f0000-0000-7000-8000-0000000000ab").digest()


def test_nothing_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="a sample of 0"):
        draw_sample("seed", [], 0)
