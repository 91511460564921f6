"""Every query of the gateway: by primary key, small, and nothing that scans.

A finished investigation is one row with its claims ready to send; what is still running is read from its candidates.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection

from contracts.rpc.audit import Audit
from contracts.rpc.public import Origin, PublicInvestigation, PublicPost, PublicResult, SourceCheck
from contracts.rpc.status import VersionKey, claim_out
from contracts.v1.ids import post_id, version_id
from contracts.v1.parts import ClaimPayload, PostRef, Provenance, PublishedClaim
from kit.database import Database
from services.gateway.domain import Failure
from services.gateway.graphql.reads import Record
from services.gateway.ports import (
    Broken,
    Complete,
    InvestigationState,
    Prior,
    Running,
    Standing,
    Unavailable,
    VersionView,
)

_VIEW: Final = text("""
    SELECT v.post_id, v.correlation, d.investigation_id, d.provenance, d.checked_at, d.claims,
           e.investigation_id AS prior_id, e.claims AS prior_claims, o.unique_view_score AS views,
           (SELECT count(*) FROM corroboration_credit c WHERE c.investigation_id = d.investigation_id) AS corroborations
    FROM post_version v
    JOIN post o ON o.id = v.post_id
    LEFT JOIN investigation_doc d ON d.post_version_id = v.id AND d.analysis = :analysis
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
        WHERE k.investigation_id = i.id AND i.status IN ('PENDING', 'PROCESSING') AND k.state IN ('PENDING', 'APPROVED')
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
    WHERE i.id = :id
""")

_STANDING: Final = text("""
    SELECT v.post_id, v.correlation, v.server_verified_at, b.word_count, i.id AS investigation_id
    FROM post_version v
    JOIN content_blob b ON b.content_hash = v.content_hash
    LEFT JOIN investigation i ON i.post_version_id = v.id AND i.analysis = :analysis
    WHERE v.id = :id
""")

_CLAIM_COUNTS: Final = text("""
    SELECT post_version_id, claim_count FROM investigation_doc
    WHERE post_version_id = ANY(CAST(:ids AS uuid[])) AND analysis = :analysis
""")

_PUBLIC: Final = text("""
    SELECT i.id, i.checked_at, i.provider, i.model, r.version AS prompt_version, n.provenance, n.content_hash,
           v.server_verified_at, v.corroborated_at, p.platform, p.external_id, p.url, d.claims,
           (SELECT count(*) FROM corroboration_credit c WHERE c.investigation_id = i.id) AS corroborations
    FROM investigation i
    JOIN investigation_doc d ON d.investigation_id = i.id
    JOIN investigation_input n ON n.investigation_id = i.id
    JOIN prompt r ON r.hash = i.prompt_hash
    JOIN post_version v ON v.id = i.post_version_id
    JOIN post p ON p.id = v.post_id
    WHERE i.id = :id AND i.status = 'COMPLETE'
""")

_FORGOTTEN: Final = text("SELECT post_id FROM forgotten")
_ACTIVE_KEYS: Final = text("SELECT key_hash FROM instance_api_key WHERE revoked_at IS NULL")
_IS_ACTIVE: Final = text("SELECT 1 FROM instance_api_key WHERE key_hash = :key_hash AND revoked_at IS NULL")
_POSITION: Final = text("SELECT sequence FROM position WHERE stream = :stream")
_ALIVE: Final = text("SELECT 1")

Row = Mapping[str, Any]


@asynccontextmanager
async def _connection(database: Database) -> AsyncIterator[AsyncConnection]:
    try:
        async with database.connect() as connection:
            yield connection
    except (OperationalError, InterfaceError, PoolTimeout) as error:
        raise Unavailable(f"database: {type(error).__name__}") from error


class SqlReads:
    """The read model, for one kind of analysis."""

    def __init__(self, database: Database, *, analysis: str) -> None:
        self._database = database
        self._analysis = analysis

    async def view(self, version_id: UUID) -> VersionView | None:
        """One version: its result, or what was found in an earlier one."""
        row = await self._row(_VIEW, id=version_id, analysis=self._analysis)
        if row is None:
            return None
        complete = None
        if row["investigation_id"] is not None:
            complete = Complete(row["investigation_id"], row["provenance"], _claims(row["claims"]), row["checked_at"])
        return VersionView(
            row["post_id"], complete, _prior(row), row["correlation"], row["views"], row["corroborations"]
        )

    async def investigation(self, investigation_id: UUID) -> InvestigationState | None:
        """One investigation with its progress."""
        row = await self._row(_INVESTIGATION, id=investigation_id)
        return None if row is None else _state(row)

    async def standing(self, version_id: UUID) -> Standing | None:
        """What decides whether a version is investigated."""
        row = await self._row(_STANDING, id=version_id, analysis=self._analysis)
        if row is None:
            return None
        known = row["investigation_id"]
        investigation = None if known is None else await self.investigation(known)
        provenance = _provenance(row["server_verified_at"])
        return Standing(row["post_id"], row["word_count"], provenance, investigation, row["correlation"])

    async def claim_counts(self, keys: Sequence[VersionKey]) -> Sequence[int | None]:
        """Findings per version; their ids derive from the keys, so this is one read by key."""
        wanted = [
            version_id(post_id(PostRef(platform=key.platform, external_id=key.external_id)), key.version_hash.lower())
            for key in keys
        ]
        async with _connection(self._database) as connection:
            found = await connection.execute(_CLAIM_COUNTS, {"ids": list(set(wanted)), "analysis": self._analysis})
            counts = {row.post_version_id: int(row.claim_count) for row in found}
        return [counts.get(version) for version in wanted]

    async def public(self, investigation_id: UUID) -> PublicResult | None:
        """One finished investigation with everything that is public about it."""
        row = await self._row(_PUBLIC, id=investigation_id)
        if row is None:
            return None
        async with _connection(self._database) as connection:
            record = Record(connection)
            checks = await record.source_checks(investigation_id)
            audit = await record.audit(investigation_id)
            shown = audit.whole(await record.exchanges(investigation_id))
        return PublicResult(
            investigation=PublicInvestigation(
                id=str(row["id"]),
                content_hash=row["content_hash"],
                origin=Origin(
                    provenance=row["provenance"],
                    server_verified_at=row["server_verified_at"],
                    corroborated_at=row["corroborated_at"],
                ),
                corroboration_count=row["corroborations"],
                checked_at=row["checked_at"],
                prompt_version=row["prompt_version"],
                provider=row["provider"],
                model=row["model"],
            ),
            post=PublicPost(platform=row["platform"], external_id=row["external_id"], url=row["url"]),
            claims=tuple(map(claim_out, _claims(row["claims"]))),
            source_checks=tuple(SourceCheck(**check) for check in checks),
            audit=Audit.model_validate(shown),
        )

    async def forgotten(self) -> frozenset[UUID]:
        """The posts that were erased on request."""
        async with _connection(self._database) as connection:
            return frozenset((await connection.execute(_FORGOTTEN)).scalars())

    async def position(self, stream: str) -> int:
        """How far the read model is in a stream."""
        row = await self._row(_POSITION, stream=stream)
        return 0 if row is None else int(row["sequence"])

    async def alive(self) -> None:
        """Ask the database for anything at all. Raises: Unavailable."""
        await self._row(_ALIVE)

    async def _row(self, query: Any, **values: Any) -> Row | None:
        async with _connection(self._database) as connection:
            row = (await connection.execute(query, values)).mappings().one_or_none()
            return None if row is None else dict(row)


class SqlKeyRegister:
    """Instance keys as the operator's table has them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def active(self) -> frozenset[str]:
        """Hashes of all active keys."""
        async with _connection(self._database) as connection:
            return frozenset((await connection.execute(_ACTIVE_KEYS)).scalars())

    async def is_active(self, key_hash: str) -> bool:
        """Whether this key is active at this moment."""
        async with _connection(self._database) as connection:
            return (await connection.execute(_IS_ACTIVE, {"key_hash": key_hash})).first() is not None


def _state(row: Row) -> InvestigationState:
    provenance: Provenance = row["provenance"] or _provenance(row["server_verified_at"])
    if row["status"] == "COMPLETE":
        return Complete(row["id"], provenance, _claims(row["claims"]), row["checked_at"])
    if row["status"] == "FAILED":
        failure = Failure(
            row["failed_at"],
            row["round"],
            row["requested_sequence"],
            retries=row["retries"],
            own_retries=row["own_retries"],
            of_a_reader=bool(row["of_a_reader"]),
            of_the_key=bool(row["of_the_key"]),
        )
        return Broken(row["id"], provenance, failure)
    by_state: dict[str, list[ClaimPayload]] = {"PENDING": [], "APPROVED": []}
    for candidate in row["candidates"] or ():
        by_state[candidate["state"]].append(ClaimPayload.model_validate(candidate["payload"]))
    pending, confirmed = tuple(by_state["PENDING"]), tuple(by_state["APPROVED"])
    takes_key = row["status"] == "PENDING" and row["retry_after"] is None and row["key_source"] == "USER"
    return Running(row["id"], row["status"], provenance, pending, confirmed, _prior(row), takes_key)


def _prior(row: Row) -> Prior | None:
    return None if row["prior_id"] is None else Prior(row["prior_id"], _claims(row["prior_claims"]))


def _claims(stored: Sequence[Mapping[str, Any]] | None) -> tuple[PublishedClaim, ...]:
    return tuple(
        PublishedClaim(claim_id=UUID(claim["id"]), payload=ClaimPayload.model_validate(claim)) for claim in stored or ()
    )


def _provenance(server_verified_at: object) -> Provenance:
    return "CLIENT_FALLBACK" if server_verified_at is None else "SERVER_VERIFIED"
