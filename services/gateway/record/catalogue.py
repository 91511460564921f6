"""The catalogue: entries by their newest change, a page's contents, and claims that may get one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from analyses.claims.labels import Label, format_range
from contracts.jobs.catalogue import EditType, Status
from contracts.jobs.words import Suggestion
from services.gateway.record.measures import MeasureQueries, MeasureRow
from services.gateway.record.question import drop_dashes

ARCHIVE: Final = "https://web.archive.org/web"
FEW: Final = 500
"""Fewer matches than this are sorted; more are found by reading the entries from the last change on."""
_LINE: Final = """e.id, e.assertion_id, e.wording, e.domain, e.summary, e.status, e.version, e.updated_at,
    e.analysis_id, e.confidence_score, e.completeness_score, e.risk_score, coalesce(e.scenario_count, 0) scenario_count,
    coalesce(e.source_names, '{}') source_names, e.stale"""
_VISIBLE: Final = "(e.status = 'PUBLISHED' OR :hidden)"
_AFTER: Final = """(CAST(:at AS timestamptz) IS NULL OR e.updated_at < :at
    OR e.updated_at = :at AND e.id > CAST(:after AS uuid))"""
_NEWEST: Final = sql(f"""
    SELECT {_LINE} FROM entry e WHERE {_VISIBLE} AND {_AFTER} ORDER BY e.updated_at DESC, e.id LIMIT :limit
""")  # noqa: S608 (our words)
# The planner cannot estimate how rare a word is: it would walk through all entries, newest first, to find a few.
_MATCHES: Final = sql("SELECT id FROM entry WHERE searched @@ websearch_to_tsquery('simple', :text) LIMIT :few")
_AMONG: Final = sql(f"""
    SELECT {_LINE} FROM entry e WHERE e.id = ANY (:ids) AND {_VISIBLE} AND {_AFTER}
    ORDER BY e.updated_at DESC, e.id LIMIT :limit
""")  # noqa: S608 (our words)
_FOUND: Final = sql(f"""
    SELECT {_LINE} FROM entry e WHERE {_VISIBLE} AND {_AFTER}
        AND e.searched @@ websearch_to_tsquery('simple', :text)
    ORDER BY e.updated_at DESC, e.id LIMIT :limit
""")  # noqa: S608 (our words)
_ONE: Final = sql(f"SELECT {_LINE} FROM entry e WHERE e.id = :id AND {_VISIBLE}")  # noqa: S608 (our words)
_OPEN_FLAGS: Final = sql("""
    SELECT id, entity_type, entity_id, issue_type, description, created_at,
        coalesce((SELECT e.wording FROM entry e WHERE e.id = flag.entity_id), (SELECT a.canonical FROM assertion a
            WHERE a.canonical_sha256 = flag.claim_sha256 ORDER BY a.canonical LIMIT 1)) wording FROM flag
    WHERE status = 'OPEN' AND (CAST(:at AS timestamptz) IS NULL OR (created_at, id) > (:at, CAST(:after AS uuid)))
    ORDER BY created_at, id LIMIT :limit
""")
_ANALYSIS: Final = sql("""
    SELECT analysed_at, expires_at, invalidated_at, model, rollup, kept_until FROM analysis WHERE id = :id
""")
_SCENARIOS: Final = sql("""
    SELECT s.id, s.ordinal, s.description, coalesce(s.assumptions, '{}') assumptions, v.label, v.probability,
        v.confidence, v.explanation, coalesce(v.uncertainty_factors, '{}') uncertainty_factors
    FROM scenario s JOIN verdict v ON v.scenario_id = s.id WHERE s.analysis_id = :id ORDER BY s.ordinal
""")
_EVIDENCE: Final = sql("""
    SELECT e.scenario_id, e.supports, e.text, e.source_url, e.source_title, e.quotes, e.relevance, a.analysed_at,
        (SELECT c.outcome FROM citation c WHERE c.analysis_id = e.analysis_id
            AND c.url_sha256 = encode(sha256(convert_to(e.source_url, 'UTF8')), 'hex') ORDER BY c.place LIMIT 1) outcome
    FROM evidence e JOIN analysis a ON a.id = e.analysis_id WHERE e.analysis_id = :id ORDER BY e.scenario_id, e.place
""")
_EDITS: Final = sql("""
    SELECT version, edit_type, hidden, created_at, reason, before_state, after_state FROM edit
    WHERE entry_id = :id ORDER BY version DESC LIMIT :limit
""")
_SUGGESTED: Final = sql("""
    SELECT description, resolved_at FROM flag WHERE entity_id = :id AND entity_type = 'ENTRY'
        AND issue_type = 'EVIDENCE' AND status = 'ACCEPTED' AND description IS NOT NULL
    ORDER BY resolved_at DESC, id LIMIT :limit
""")
_SOURCES: Final = sql("""
    SELECT domain FROM publisher WHERE domain ~>=~ :begins AND domain ~<~ :ends ORDER BY domain USING ~<~ LIMIT :limit
""")
_CANDIDATE: Final = sql("""
    SELECT a.id assertion_id, a.language, a.published_key, o.domain, r.public_jobs, r.accounts
    FROM job_claim o JOIN job j ON j.id = o.job_id JOIN assertion a ON a.id = o.assertion_id
    CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE m.input_type = 'URL') public_jobs,
            count(DISTINCT m.account_id) accounts
        FROM job_claim c JOIN job m ON m.id = c.job_id
        WHERE c.assertion_id = a.id AND m.status = 'SUCCEEDED' AND m.publication_mode <> 'DRAFT_ONLY') r
    WHERE o.job_id = :job AND o.number = :number AND j.account_id = :account
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """An entry in a list."""

    id: UUID
    assertion_id: UUID
    wording: str
    domain: str
    summary: str | None
    status: Status
    version: int
    updated_at: datetime
    analysis_id: UUID | None
    confidence_score: int | None
    completeness_score: int | None
    risk_score: int | None
    scenario_count: int
    source_names: Sequence[str]
    stale: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisRow:
    """An analysis. Shapes: `kept_until` is None once the analysis's words are deleted."""

    analysed_at: datetime
    expires_at: datetime
    invalidated_at: datetime | None
    model: str
    rollup: str
    kept_until: datetime | None

    def is_valid(self, now: datetime) -> bool:
        """Whether the analysis is neither invalidated nor expired."""
        return self.invalidated_at is None and now < self.expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRow:
    """A scenario with its estimate."""

    id: UUID
    ordinal: int
    description: str | None
    assumptions: Sequence[str]
    label: str
    probability: float | None
    confidence: float
    explanation: str | None
    uncertainty_factors: Sequence[str]

    @property
    def likelihood_range(self) -> str:
        """The probability with its uncertainty, for readers."""
        probability = None if self.probability is None else Decimal(str(self.probability))
        return format_range(probability, Decimal(str(self.confidence)), Label[self.label])


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRow:
    """A source with its quotes, and what the look-up of its page found."""

    scenario_id: UUID
    supports: bool
    text: str
    source_url: str
    source_title: str
    quotes: Sequence[str]
    relevance: float
    analysed_at: datetime
    outcome: str | None

    @property
    def archived(self) -> str:
        """The address of the Internet Archive's copy of the page nearest to the analysis; it may have none."""
        return f"{ARCHIVE}/{self.analysed_at.astimezone(UTC):%Y%m%d%H%M%S}/{self.source_url}"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What an entry said."""

    wording: str
    domain: str
    summary: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRow:
    """A change of an entry."""

    version: int
    edit_type: EditType
    hidden: bool
    created_at: datetime
    reason: str | None
    before_state: State | None
    after_state: State | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedRow:
    """Evidence that a moderator accepted, as it was suggested."""

    description: str
    resolved_at: datetime

    @property
    def suggestion(self) -> Suggestion:
        """The suggestion; a description in another form counts as evidence against the claim, without a page."""
        return Suggestion.read(self.description) or Suggestion(False, "", self.description)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryContents:
    """The contents of an entry's page."""

    row: EntryRow
    analysis: AnalysisRow | None
    scenarios: Sequence[ScenarioRow]
    evidence: Sequence[EvidenceRow]
    edits: Sequence[EditRow]
    suggested: Sequence[SuggestedRow] = ()
    measure: MeasureRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A claim of a job, and who made it known; see `lifecycle.audits.entries.Readers`."""

    assertion_id: UUID
    language: str
    published_key: str
    domain: str
    public_jobs: int
    accounts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagRow:
    """An open objection. Shapes: `wording` is that of its entry, or the canonical form of its claim."""

    id: UUID
    entity_type: str
    entity_id: UUID | None
    issue_type: str
    description: str | None
    created_at: datetime
    wording: str | None = None


class CatalogueQueries(MeasureQueries):
    """Queries of the catalogue. `hidden`: include hidden entries."""

    async def page(
        self, text: str, after: tuple[datetime, UUID] | None, limit: int, *, hidden: bool = False
    ) -> Sequence[EntryRow]:
        """Entries after a key, newest change first; only those with the words of `text`, unless it is empty."""
        at, id_ = after or (None, None)
        keys = {"at": at, "after": id_, "limit": limit, "hidden": hidden}
        if not text:
            return await self._all(EntryRow, _NEWEST, **keys)
        text = drop_dashes(text)
        matches = [*await self._scalars(_MATCHES, text=text, few=FEW)]
        if len(matches) < FEW:
            return await self._all(EntryRow, _AMONG, ids=matches, **keys)
        return await self._all(EntryRow, _FOUND, text=text, **keys)

    async def one(self, id_: UUID, *, hidden: bool = False, edits: int = 50) -> EntryContents | None:
        """An entry with its newest analysis and its newest edits, or None."""
        row = await self._one(EntryRow, _ONE, id=id_, hidden=hidden)
        if row is None:
            return None
        analysis = await self._one(AnalysisRow, _ANALYSIS, id=row.analysis_id)
        return EntryContents(
            row=row,
            analysis=analysis,
            scenarios=await self._all(ScenarioRow, _SCENARIOS, id=row.analysis_id),
            evidence=await self._all(EvidenceRow, _EVIDENCE, id=row.analysis_id),
            edits=await self._all(EditRow, _EDITS, id=id_, limit=edits),
            suggested=await self._all(SuggestedRow, _SUGGESTED, id=id_, limit=edits),
            measure=await self.measure(row.analysis_id),
        )

    async def sources(self, begins: str, limit: int) -> Sequence[str]:
        """Domains of publishers that start with `begins`, in order; no domain has a character after DEL."""
        return [*await self._scalars(_SOURCES, begins=begins, ends=f"{begins}\x7f", limit=limit)]

    async def candidate(self, job: UUID, number: int, account: UUID) -> Candidate | None:
        """A claim of the account's own job, or None."""
        return await self._one(Candidate, _CANDIDATE, job=job, number=number, account=account)

    async def open_flags(self, after: tuple[datetime, UUID] | None, limit: int) -> Sequence[FlagRow]:
        """Open objections after a key, oldest first."""
        at, id_ = after or (None, None)
        return await self._all(FlagRow, _OPEN_FLAGS, at=at, after=id_, limit=limit)
