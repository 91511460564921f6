"""The catalogue on the wire: claims with a page, their edits, and objections to them."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from contracts.jobs.values import Absent, Code, Count, Document, Instant, JobId, Rate

WORDING_CHARACTERS: Final = 500
SUMMARY_CHARACTERS: Final = 5_000
REMARK_CHARACTERS: Final = 2_000
URL_CHARACTERS: Final = 1_000
EVIDENCE_CHARACTERS: Final = 900
"""Short enough that a remark has space for it and its address."""

Wording = Annotated[str, Field(min_length=1, max_length=WORDING_CHARACTERS, pattern=r"\S")]
Remark = Annotated[str, Field(min_length=1, max_length=REMARK_CHARACTERS, pattern=r"\S")]
Version = Annotated[int, Field(ge=1)]
Status = Literal["PUBLISHED", "HIDDEN"]
EditType = Literal["CONTENT_CORRECTION", "CLARIFICATION", "SYSTEM_REANALYSIS", "MODERATION_ACTION", "REVERT"]
FlagStatus = Literal["OPEN", "ACCEPTED", "DISMISSED"]


class EntryLine(Document):
    """A claim in a list. Units: scores from 0 to 100. `stale` are parts that no longer follow from the evidence.

    `risk_score`: half of it is missing confidence, half how evenly the evidence is divided.
    """

    id: UUID
    wording: str
    domain: str
    status: Status
    version: Version
    updated_at: Instant
    confidence_score: int | None
    completeness_score: int | None
    risk_score: int | None
    scenario_count: Count
    source_names: tuple[str, ...]
    stale: tuple[str, ...]


class EntryPage(Document):
    """Claims, newest change first. `next` is the cursor of the page after this one; null: it is the last."""

    claims: tuple[EntryLine, ...]
    next: str | None


class SourceNames(Document):
    """Domains of publishers that begin with the typed text, at most ten, in order."""

    names: tuple[str, ...]


class EvidenceView(Document):
    """A source with its quotes. `looked_up`: the outcome of the look-up of its page; null: not recorded.

    `archived` is where the Internet Archive shows its copy nearest to `extracted_at`, if it has one.
    """

    supports: bool
    text: str
    source_url: str
    source_title: str
    quotes: tuple[str, ...]
    relevance: Rate
    extracted_at: Instant
    archived: str
    looked_up: str | None


class ScenarioView(Document):
    """A reading of the claim with a model's estimate. Words are null once they are no longer kept.

    `likelihood_range`: the probability with its uncertainty, for readers, e.g. `0.85-0.95 (very likely true)`.
    """

    ordinal: Version
    description: str | None
    assumptions: tuple[str, ...]
    label: str
    probability: float | None
    confidence: Rate
    likelihood_range: str
    explanation: str | None
    uncertainty_factors: tuple[str, ...]
    evidence: tuple[EvidenceView, ...]


class MeasureView(Document):
    """How often verdicts of the same model, instructions and rules were right, of `cases` with known answers.

    `at_least`: the exact one-sided bound, with 95 % confidence.
    """

    share: Rate
    at_least: Rate
    cases: Count
    measured_at: Instant


class AnalysisView(Document):
    """The newest analysis of the claim: an estimate by a model, never a correction.

    `measured_correctness` is the share of `measure`; both are null while it is not measured.
    """

    analysed_at: Instant
    model: str
    rollup: str
    is_valid: bool
    measured_correctness: Rate | None
    measure: MeasureView | None
    scenarios: tuple[ScenarioView, ...]


class EntryWordsView(Document):
    """The words of an entry."""

    wording: str
    domain: str
    summary: str | None


class EditView(Document):
    """A change. Words are null once they are no longer kept."""

    version: Version
    edit_type: EditType
    hidden: bool
    made_at: Instant
    reason: str | None
    before: EntryWordsView | None
    after: EntryWordsView | None


class SuggestedView(Document):
    """Evidence that a contributor suggested and a moderator accepted. No analysis has looked at it."""

    supports: bool
    text: str
    source_url: str
    accepted_at: Instant


class EntryView(Document):
    """A claim's page. `edits` are the newest changes, newest first."""

    entry: EntryLine
    summary: str | None
    analysis: AnalysisView | None
    suggested_evidence: tuple[SuggestedView, ...]
    edits: tuple[EditView, ...]


class PublishRequest(Document):
    """The claim of one of the account's own jobs to publish, and its wording on the page."""

    job_id: JobId
    claim: Annotated[int, Field(ge=1, le=99)]
    wording: Wording


class EditRequest(Document):
    """A change of an entry at this version: of its words, or whether it is hidden."""

    version: Version
    edit_type: Literal["CONTENT_CORRECTION", "CLARIFICATION", "MODERATION_ACTION"]
    reason: Remark
    wording: Absent[Wording] = None
    domain: Absent[Code] = None
    summary: Absent[Annotated[str, Field(min_length=1, max_length=SUMMARY_CHARACTERS, pattern=r"\S")]] = None
    hidden: Absent[bool] = None

    @model_validator(mode="after")
    def _changes_what_its_type_says(self) -> Self:
        hides, says = self.hidden is not None, any((self.wording, self.domain, self.summary))
        if (self.edit_type == "MODERATION_ACTION") != hides or hides == says:
            raise PydanticCustomError("input", "a moderation action has hidden alone, other edits have words alone")
        return self


class RevertRequest(Document):
    """Undo the newest change of an entry at this version, by another change."""

    version: Version
    reason: Remark


class Edited(Document):
    """An entry after a change, or after its publication."""

    id: UUID
    version: Version
    status: Status


class FlagRequest(Document):
    """An objection to an entry."""

    issue_type: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,39}$")]
    description: Remark


class EvidenceRequest(Document):
    """A page that supports or contradicts a claim, and its content in the contributor's own words."""

    source_url: Annotated[str, Field(max_length=URL_CHARACTERS, pattern=r"^https?://[!-~]+$")]
    supports: bool
    text: Annotated[str, Field(min_length=1, max_length=EVIDENCE_CHARACTERS, pattern=r"\S")]


class ResolveRequest(Document):
    """A moderator's decision on an objection."""

    status: Literal["ACCEPTED", "DISMISSED"]
    note: Remark


class FlagLine(Document):
    """An open objection. Words are null if they are not kept; `wording` is that of the entry or claim."""

    flag_id: UUID
    entity_type: str
    entity_id: UUID | None
    issue_type: str
    description: str | None
    wording: str | None
    raised_at: Instant


class FlagQueue(Document):
    """Open flags, oldest first. `next` is the cursor of the page after this one."""

    flags: tuple[FlagLine, ...]
    next: str | None


class FlagView(Document):
    """An objection and its status."""

    flag_id: UUID
    status: FlagStatus
