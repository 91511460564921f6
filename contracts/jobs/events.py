"""`GET …/events`: a job's progress as server-sent events. They have no words that the result will not have."""

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
    """The article was fetched. Units: `characters` are code points; `language` is BCP 47, None if unknown."""

    characters: Count
    language: str | None


class Extracted(Document):
    """The claims are known. `cached_extraction`: they are those of an earlier job."""

    claims_total: Count
    cached_extraction: bool


class PlannedClaim(Document):
    """The outcome of a claim's look-up in the cache."""

    claim_id: ClaimId
    outcome: LookOutcome


class Planned(Document):
    """Every claim was looked up."""

    claims: tuple[PlannedClaim, ...]


class ClaimEnded(Document):
    """The analysis of a claim has ended. `rollup_verdict` is absent if an older analysis is used."""

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
"""The field `event` of each message."""
