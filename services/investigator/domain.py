"""Input of a run besides the post: findings of an earlier version, other posts by its author."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from contracts.v1.parts import PublishedClaim


@dataclass(frozen=True)
class Prior:
    """The newest complete investigation of another version of the post that its site has verified."""

    investigation_id: UUID
    text: str
    claims: tuple[PublishedClaim, ...]


@dataclass(frozen=True)
class AuthorPost:
    """Another post by the same author, in its newest version.

    Shapes: `claims` is None if that version was not investigated; `verified`: its site confirmed the text.
    """

    author: str
    url: str
    first_seen_at: datetime
    verified: bool
    beginning: str
    claims: tuple[PublishedClaim, ...] | None
