"""The extension's queries of the read model: by primary key, small, and without scans.

A finished investigation is one row with its claims; the progress of a running one is read from its candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeVar
from uuid import UUID

from sqlalchemy import TextClause, text

from contracts.rpc.status import VersionKey
from contracts.v1.ids import version_text
from contracts.v1.parts import ClaimPayload, Provenance, PublishedClaim, Source
from kit.database import Database
from services.gateway.domain import Failure
from services.gateway.ports import (
    Complete,
    Eligibility,
    FailedRun,
    InvestigationState,
    Prior,
    Running,
    VersionView,
)
from services.gateway.record.connection import open_connection

_VIEW: Final = text("""
    SELECT v.post_id, v.correlation, d.investigation_id, d.provenance, d.checked_at, d.claims,
           e.investigation_id AS prior_id, e.claims AS prior_claims, o.unique_view_score AS views,
           (SELECT count(*) FROM corroboration_credit c WHERE c.investigation_id = d.investigation_id) AS corroborations
    FROM post_version v
    JOIN post o ON o.id = v.post_id
    LEFT JOIN LATERAL (
        SELECT * FROM investigation_doc WHERE post_version_id = v.id AND analysis = :analysis
        ORDER BY checked_at DESC, investigation_id DESC LIMIT 1
    ) d ON true
    LEFT JOIN post_prior p
        ON d.investigation_id IS NULL AND p.post_id = v.post_id AND p.analysis = :analysis AND p.post_version_id <> v.id
    LEFT JOIN investigation_doc e ON e.investigation_id = p.investigation_id
    WHERE v.id = :id
""")

_INVESTIGATION: Final = text("""
    SELECT i.id, i.status, i.checked_at, i.failed_at, i.round, i.requested_sequence, i.key_source, i.retry_after,
           n.provenance, v.server_verified_at, d.claims,
           e.investigation_id AS prior_id, e.claims AS prior_claims, c.candidates, r.of_a_reader, r.of_the_key,
           r.retries, r.own_retries
    FROM investigation i
    JOIN post_version v ON v.id = i.post_version_id
    LEFT JOIN investigation_input n ON n.investigation_id = i.id
    LEFT JOIN investigation_doc d ON d.investigation_id = i.id
    LEFT JOIN post_prior p
        ON i.status = 'PENDING' AND p.post_id = v.post_id AND p.analysis = i.analysis AND p.post_version_id <> v.id
    LEFT JOIN investigation_doc e ON e.investigation_id = coalesce(i.parent_investigation_id, p.investigation_id)
    LEFT JOIN LATERAL (
        SELECT jsonb_agg(jsonb_build_object('state', k.state, 'payload', k.payload) ORDER BY k.ordinal, k.claim_id)
            AS candidates
        FROM claim_candidate k
        WHERE k.investigation_id = i.id AND i.status IN ('PENDING', 'PROCESSING') AND (k.state = 'PENDING'
            OR k.state = 'APPROVED' AND (k.retained_from IS NOT NULL OR EXISTS (
                SELECT FROM claim_review w WHERE w.claim_id = k.claim_id AND w.round = i.round
                    AND w.outcome = 'APPROVED')))
    ) c ON true
    LEFT JOIN LATERAL (
        SELECT bool_or(q.of_a_reader) FILTER (WHERE q.round = i.round) AS of_a_reader,
            bool_or(NOT q.counted) FILTER (WHERE q.round = i.round) AS of_the_key,
            count(*) FILTER (WHERE q.counted AND q.recent AND q.round > q.first_counted) AS retries,
            count(*) FILTER (WHERE NOT q.of_a_reader AND q.recent AND q.round > q.first_own) AS own_retries
        FROM (
            SELECT round, counted, of_a_reader, requested_at > now() - interval '24 hours' AS recent,
                min(round) FILTER (WHERE counted) OVER () AS first_counted,
                min(round) FILTER (WHERE NOT of_a_reader) OVER () AS first_own
            FROM (
                SELECT round, requested_at, fault IS DISTINCT FROM 'USER_KEY' AS counted,
                    fault IS NOT DISTINCT FROM 'USER_KEY' OR key_source IS NOT DISTINCT FROM 'USER' AS of_a_reader
                FROM investigation_round WHERE investigation_id = i.id AND i.status = 'FAILED'
            ) o
        ) q
    ) r ON true
    WHERE i.id = :id AND i.origin <> 'CONTROL'
""")

_VERSION: Final = text("""
    SELECT v.post_id, v.correlation, v.server_verified_at, b.word_count, i.id AS investigation_id
    FROM post_version v
    JOIN content_blob b ON b.content_hash = v.content_hash
    LEFT JOIN LATERAL (
        SELECT id FROM investigation
        WHERE post_version_id = v.id AND analysis = :analysis
            AND (origin = 'ORIGINAL' OR status = 'COMPLETE' AND origin <> 'CONTROL')
        ORDER BY checked_at DESC NULLS LAST, id DESC LIMIT 1
    ) i ON true
    WHERE v.id = :id
""")

_CLAIM_COUNTS: Final = text("""
    SELECT DISTINCT ON (post_version_id) post_version_id, claim_count FROM investigation_doc
    WHERE post_version_id = ANY(CAST(:ids AS uuid[])) AND analysis = :analysis
    ORDER BY post_version_id, checked_at DESC, investigation_id DESC
""")

_POST: Final = text("SELECT EXISTS (SELECT FROM post WHERE id = :id)")
_FORGOTTEN: Final = text("SELECT post_id FROM forgotten")
_POSITION: Final = text("SELECT sequence FROM position WHERE stream = :stream")
_ALIVE: Final = text("SELECT 1")

_WITHOUT_WORDS: Final = ClaimPayload(
    text="…",
    context="…",
    summary="…",
    reasoning="…",
    sources=(Source(url="https://held.invalid/", title="…", snippet="…"),),
)
"""Stands for a candidate whose words are not shown: the protocol has no count of candidates, only their list."""

R = TypeVar("R")
Document = Sequence[Mapping[str, object]]
"""Findings or candidates as stored JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prior:
    prior_id: UUID | None
    prior_claims: Document | None

    def prior(self) -> Prior | None:
        return None if self.prior_id is None else Prior(self.prior_id, _claims(self.prior_claims))


@dataclass(frozen=True, slots=True, kw_only=True)
class _View(_Prior):
    post_id: UUID
    correlation: UUID | None
    investigation_id: UUID | None
    provenance: Provenance | None
    checked_at: datetime | None
    claims: Document | None
    views: int
    corroborations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Investigation(_Prior):
    id: UUID
    status: Literal["PENDING", "PROCESSING", "COMPLETE", "FAILED"]
    checked_at: datetime | None
    failed_at: datetime | None
    round: int
    requested_sequence: int | None
    key_source: str | None
    retry_after: datetime | None
    provenance: Provenance | None
    server_verified_at: datetime | None
    claims: Document | None
    candidates: Document | None
    of_a_reader: bool | None
    of_the_key: bool | None
    retries: int
    own_retries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    post_id: UUID
    correlation: UUID | None
    server_verified_at: datetime | None
    word_count: int
    investigation_id: UUID | None


class SqlReads:
    """The read model, for one kind of analysis.

    `counts_pending`: candidates without a verdict are only counted, and their words are not shown.
    """

    def __init__(self, database: Database, *, analysis: str, counts_pending: bool = False) -> None:
        self._database = database
        self._analysis = analysis
        self._counts_pending = counts_pending

    async def view(self, version_id: UUID) -> VersionView | None:
        """A version with its result, else with its post's prior; None if the version is unknown."""
        row = await self._row(_View, _VIEW, id=version_id, analysis=self._analysis)
        if row is None:
            return None
        complete = None
        if row.investigation_id is not None and row.provenance is not None and row.checked_at is not None:
            complete = Complete(row.investigation_id, row.provenance, _claims(row.claims), row.checked_at)
        return VersionView(row.post_id, complete, row.prior(), row.correlation, row.views, row.corroborations)

    async def investigation(self, investigation_id: UUID) -> InvestigationState | None:
        """An investigation with its progress, or None."""
        row = await self._row(_Investigation, _INVESTIGATION, id=investigation_id)
        return None if row is None else _state(row, counts_pending=self._counts_pending)

    async def eligibility(self, version_id: UUID) -> Eligibility | None:
        """What decides whether a version is investigated; None if the version is unknown."""
        row = await self._row(_Version, _VERSION, id=version_id, analysis=self._analysis)
        if row is None:
            return None
        known = row.investigation_id
        investigation = None if known is None else await self.investigation(known)
        provenance = _provenance(row.server_verified_at)
        return Eligibility(row.post_id, row.word_count, provenance, investigation, row.correlation)

    async def claim_counts(self, keys: Sequence[VersionKey]) -> Sequence[int | None]:
        """Findings per version; their ids derive from the keys, so this is one read by key."""
        versions = [version_text(key.platform, key.external_id, key.version_hash.lower()) for key in keys]
        # The driver looks for quotes in each item of a list, which takes longer than all the rest.
        ids = f"{{{','.join(set(versions))}}}"
        async with open_connection(self._database) as connection:
            found = await connection.execute(_CLAIM_COUNTS, {"ids": ids, "analysis": self._analysis})
            counts = {version.hex: count for version, count in found}
        return [counts.get(version) for version in versions]

    async def knows_post(self, post_id: UUID) -> bool:
        async with open_connection(self._database) as connection:
            return bool((await connection.execute(_POST, {"id": post_id})).scalar_one())

    async def erased_posts(self) -> frozenset[UUID]:
        async with open_connection(self._database) as connection:
            return frozenset((await connection.execute(_FORGOTTEN)).scalars())

    async def position(self, stream: str) -> int:
        """The read model's position in a stream."""
        async with open_connection(self._database) as connection:
            return (await connection.execute(_POSITION, {"stream": stream})).scalar_one_or_none() or 0

    async def alive(self) -> None:
        """Run a trivial query. Raises: Unavailable."""
        async with open_connection(self._database) as connection:
            await connection.execute(_ALIVE)

    async def _row(self, kind: type[R], query: TextClause, /, **values: object) -> R | None:
        async with open_connection(self._database) as connection:
            row = (await connection.execute(query, values)).mappings().one_or_none()
            return None if row is None else kind(**row)


def _state(row: _Investigation, *, counts_pending: bool) -> InvestigationState:
    provenance = row.provenance or _provenance(row.server_verified_at)
    if row.status == "COMPLETE":
        assert row.checked_at is not None, "the table demands it"
        return Complete(row.id, provenance, _claims(row.claims), row.checked_at)
    if row.status == "FAILED":
        failure = Failure(
            row.failed_at,
            row.round,
            row.requested_sequence,
            retries=row.retries,
            own_retries=row.own_retries,
            of_a_reader=bool(row.of_a_reader),
            of_the_key=bool(row.of_the_key),
        )
        return FailedRun(row.id, provenance, failure)
    pending, confirmed = (
        tuple(ClaimPayload.model_validate(each["payload"]) for each in row.candidates or () if each["state"] == state)
        for state in ("PENDING", "APPROVED")
    )
    if counts_pending:
        pending = (_WITHOUT_WORDS,) * len(pending)
    accepts_key = row.status == "PENDING" and row.retry_after is None and row.key_source == "USER"
    return Running(row.id, row.status, provenance, pending, confirmed, row.prior(), accepts_key)


def _claims(stored: Document | None) -> tuple[PublishedClaim, ...]:
    return tuple(
        PublishedClaim(claim_id=UUID(str(claim["id"])), payload=ClaimPayload.model_validate(claim))
        for claim in stored or ()
    )


def _provenance(server_verified_at: datetime | None) -> Provenance:
    return "CLIENT_FALLBACK" if server_verified_at is None else "SERVER_VERIFIED"
