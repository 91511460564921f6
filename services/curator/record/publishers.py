"""A week of citations and their publishers, in the tables of the read model, and the epochs that are closed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from contracts.topology import JOBS
from contracts.v1 import PublisherEpochClosed
from kit.history import read_latest
from lifecycle.audits.epochs import NO_EPOCH, Epoch
from lifecycle.audits.scores import Cited, Concluded, Rating, Record
from services.curator.record.reading import LoggedTables, read_rows

_FIRST: Final = text("SELECT (SELECT min(analysed_at) FROM analysis), (SELECT min(rated_at) FROM publisher_rating)")
_ANALYSES: Final = text("""
    SELECT j.id, j.rollup, b.id AS before, b.recommended, EXISTS (
            SELECT FROM job_claim c JOIN job o ON o.id = c.job_id
            WHERE c.assertion_id = j.assertion_id AND c.central AND o.created_at < :ends
        ) AS is_central
    FROM analysis j
    LEFT JOIN LATERAL (
        SELECT id, recommended FROM analysis e
        WHERE e.assertion_id = j.assertion_id AND (e.analysed_at, e.id) < (j.analysed_at, j.id)
        ORDER BY e.analysed_at DESC, e.id DESC LIMIT 1
    ) b ON true
    WHERE j.analysed_at >= :begins AND j.analysed_at < :ends
        AND (j.invalidated_at IS NULL OR j.invalidated_at >= :until)
    ORDER BY j.analysed_at, j.id
""")
_CITATIONS: Final = text("""
    SELECT analysis_id, publisher_id, domain, scenario, supports, family FROM citation
    WHERE analysis_id = ANY (:analyses) ORDER BY analysis_id, place
""")
_RATED: Final = text(
    "SELECT DISTINCT publisher_id FROM publisher_rating WHERE rated_at >= :since AND rated_at < :until"
)
_PUBLISHERS: Final = text("""
    SELECT id, domain, epoch, sequence, correct, total, correct_weight, total_weight, total_citations, claim_count
    FROM publisher WHERE id = ANY (:publishers)
""")
_RATINGS: Final = text("""
    SELECT DISTINCT ON (publisher_id) publisher_id, type, correction_policy, editorial_standards, bias_transparency,
        longevity, score
    FROM publisher_rating WHERE publisher_id = ANY (:publishers) AND rated_at < :until
    ORDER BY publisher_id, sequence DESC
""")


@dataclass(frozen=True, slots=True)
class KnownPublisher:
    """A publisher as of its newest score. Shapes: `sequence` is that of the score, 0 if there is none."""

    id: UUID
    domain: str
    epoch: int
    sequence: int
    correct: int
    total: int
    correct_weight: int
    total_weight: int
    total_citations: int
    claim_count: int

    @property
    def record(self) -> Record:
        """The counts up to the publisher's epoch."""
        return Record(
            self.correct,
            self.total,
            self.correct_weight,
            self.total_weight,
            self.total_citations,
            self.claim_count,
        )


@dataclass(frozen=True, slots=True)
class _Analysis:
    id: UUID
    rollup: str
    before: UUID | None
    recommended: int | None
    is_central: bool


@dataclass(frozen=True, slots=True)
class _Citation(Cited):
    analysis_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rating(Rating):
    publisher_id: UUID


class SqlPublishers(LoggedTables):
    """Publishers and their epochs. Raises: Outage: they could not be read now."""

    async def closed(self) -> tuple[int, int]:
        """The newest closed epoch, and the sequence of the event that closed it."""
        found = await read_latest(self._bus, f"{PublisherEpochClosed.SUBJECT}.weekly", stream=JOBS)
        for fact in found:
            if isinstance(event := fact.event, PublisherEpochClosed):
                return event.epoch, fact.sequence
        return NO_EPOCH, 0

    async def first(self) -> tuple[datetime | None, datetime | None]:
        """When the first claim was analysed, and the first publisher rated."""
        async with self._database.connect() as connection:
            analysed, rated = (await connection.execute(_FIRST)).one()
        return analysed, rated

    async def week(self, epoch: Epoch) -> Sequence[Concluded]:
        """The analyses of a week, each with the citations that it judges."""
        analyses = await read_rows(
            self._database, _Analysis, _ANALYSES, begins=epoch.begins, ends=epoch.ends, until=epoch.rated_until
        )
        wanted = {each.id for each in analyses} | {each.before for each in analyses if each.before}
        cited: defaultdict[UUID, list[Cited]] = defaultdict(list)
        for row in await read_rows(self._database, _Citation, _CITATIONS, analyses=list(wanted)):
            cited[row.analysis_id].append(row)
        return [
            Concluded(
                each.rollup,
                each.is_central,
                cited[each.id],
                cited[each.before] if each.before else (),
                each.recommended,
            )
            for each in analyses
        ]

    async def rated(self, epoch: Epoch) -> Collection[UUID]:
        """The publishers whose ratings count in an epoch for the first time."""
        async with self._database.connect() as connection:
            found = await connection.execute(_RATED, {"since": epoch.rated_since, "until": epoch.rated_until})
            return {publisher for (publisher,) in found}

    async def publishers(self, ids: Collection[UUID]) -> Mapping[UUID, KnownPublisher]:
        """The publishers in the read model, by id."""
        found = await read_rows(self._database, KnownPublisher, _PUBLISHERS, publishers=list(ids))
        return {each.id: each for each in found}

    async def ratings(self, ids: Collection[UUID], until: datetime) -> Mapping[UUID, Rating]:
        """The newest rating of each publisher before a moment."""
        found = await read_rows(self._database, _Rating, _RATINGS, publishers=list(ids), until=until)
        return {each.publisher_id: each for each in found}
