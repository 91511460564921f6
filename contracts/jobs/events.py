"""`GET …/events`: how far a job is, as server-sent events. They hold no words but those that the result will hold."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from contracts.jobs.answers import EndedStatus, Links, Mode
from contracts.jobs.values import Absent, ClaimId, Count, Document, Instant, JobId, Money, RollupVerdict

LookOutcome = Literal["hit", "new", "joined", "miss", "unusable"]


class Queued(Document):
    """The job was accepted."""

    job_id: JobId
    created_at: Instant
    mode: Mode


class Fetched(Document):
    """The article is there. Units: `characters` are code points; `language` is BCP 47, None if unknown."""

    characters: Count
    language: str | None


class Extracted(Document):
    """The claims are known. `cached_extraction`: they were of an earlier job."""

    claims_total: Count
    cached_extraction: bool


class PlannedClaim(Document):
    """What the cache has for a claim."""

    claim_id: ClaimId
    outcome: LookOutcome


class Planned(Document):
    """Every claim was looked up."""

    claims: tuple[PlannedClaim, ...]


class ClaimEnded(Document):
    """A claim that was waited for. `rollup_verdict` is absent where an older analysis serves."""

    claim_id: ClaimId
    state: Literal["done", "failed"]
    rollup_verdict: Absent[RollupVerdict] = None


class Assessing(Document):
    """The article is assessed as a whole."""


class Ended(Document):
    """The job is over; no event follows."""

    status: EndedStatus
    code: Absent[Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]] = None
    charged: Money
    links: Links


JobEvent = Queued | Fetched | Extracted | Planned | ClaimEnded | Assessing | Ended
EVENT_NAMES: dict[type[Document], str] = {
    Queued: "queued",
    Fetched: "fetched",
    Extracted: "extracted",
    Planned: "planned",
    ClaimEnded: "claim",
    Assessing: "assessing",
    Ended: "ended",
}
"""The field `event` of each."""
