"""What a run is given besides the post: findings of an earlier version, and other posts by its author."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from contracts.v1.parts import PublishedClaim


@dataclass(frozen=True)
class Prior:
    """The newest complete investigation of another version of the post whose text its site vouched for."""

    investigation_id: UUID
    text: str
    claims: tuple[PublishedClaim, ...]


@dataclass(frozen=True)
class AuthorPost:
    """Another post by the same author, as it was last seen here.

    Shapes: `claims` is None where that version was not investigated; `verified`: its site vouched for the text.
    """

    author: str
    url: str
    first_seen_at: datetime
    verified: bool
    beginning: str
    claims: tuple[PublishedClaim, ...] | None
