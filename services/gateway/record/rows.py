"""Row classes shared by several families of queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from contracts.v1.finding import FindingCause
from contracts.v1.parts import Provenance

BY_HIDDEN: Final = "EXISTS (SELECT FROM author w WHERE w.id = p.author_id AND w.hidden_at IS NOT NULL)"
"""Whether the author of a post `p` asks not to be shown in public: then neither are its findings, which quote it."""

WITHDRAWN: Final = """
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', f.claim_id, 'text', c.text, 'state', f.state, 'cause', f.cause,
        'note', f.note, 'changed_at', f.changed_at, 'summary', CASE WHEN f.state = 'RETRACTED' THEN c.summary END)
        ORDER BY c.ordinal), '[]')
        FROM finding_state f JOIN claim c ON c.id = f.claim_id
        WHERE f.investigation_id = d.investigation_id AND f.state <> 'RELEASED') AS withdrawn
"""
"""The findings of an investigation `d` that do not stand. The projector keeps those that do in `d.claims`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedText:
    """A text with its backing: by its site, by enough readers, or by too few."""

    server_verified_at: datetime | None
    corroborated_at: datetime | None

    @property
    def is_listed(self) -> bool:
        """Whether the text's findings are shown in lists, feeds and figures."""
        return self.server_verified_at is not None or self.corroborated_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Investigated(BackedText):
    """An investigated text of a post. `provenance`: its backing at that time."""

    provenance: Provenance
    platform: str
    external_id: str
    url: str

    @property
    def origin(self) -> Investigated:
        """The row itself, for shapes in which the origin is nested."""
        return self


@dataclass(frozen=True, slots=True)
class Source:
    """A page that a finding cites."""

    url: str
    title: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A published finding."""

    id: str
    text: str
    context: str
    summary: str
    reasoning: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class ClaimSummary:
    """A published finding in one sentence."""

    id: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawnClaim:
    """A published finding that is retracted or suspended.

    Shapes: `summary` is None for a suspended finding: until it is decided on, repeating the finding may do harm.
    """

    id: UUID
    text: str
    summary: str | None
    state: Literal["SUSPENDED", "RETRACTED"]
    cause: FindingCause
    note: str
    changed_at: datetime

    @property
    def is_retracted(self) -> bool:
        """Whether the finding is withdrawn for good."""
        return self.state == "RETRACTED"
