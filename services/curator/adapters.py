"""The stream `JOBS`, the public record, accounts' secrets and metrics, as the curator sees them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge
from pydantic import TypeAdapter
from sqlalchemy import text

from contracts.topology import ERRATA, JOBS
from contracts.v1 import (
    ClaimApproved,
    ClaimHeld,
    ClaimHoldEnded,
    Event,
    FlagRaised,
    JobEnded,
    JobRequested,
    decode,
)
from kit.bus import Bus
from kit.clock import Clock
from kit.database import Database
from kit.history import read_latest, read_latest_from_leader
from kit.pages import find_first_since, read_page
from kit.vault import KeyUnusable, MasterKey, unseal
from platforms.base import REFUSALS
from services.curator.domain import EndedJob
from services.curator.labelling import ANALYSIS, ERRATUM, PinnedRecord
from services.curator.ports import Readers
from services.curator.record.reading import LoggedTables

PAGE: Final = 256
_SECRETS: Final = text("SELECT webhook_secrets FROM operator.account WHERE id = :id AND closed_at IS NULL")
# A version's `cid` comes from a proof that was checked: no browser can send one.
_RECORDS: Final = text("""
    WITH pinned AS (
        SELECT m.document->>'uri' AS uri, m.document->>'cid' AS cid, d.investigation_id, v.post_id,
            d.claim_count AS findings,
            v.server_verified_at IS NOT NULL AND d.provenance = 'SERVER_VERIFIED' AS is_confirmed,
            NOT EXISTS (
                SELECT FROM post_version w
                WHERE w.post_id = v.post_id AND w.server_verified_at IS NOT NULL
                    AND (w.last_seen_at, w.id) > (v.last_seen_at, v.id)
            ) AS is_newest,
            EXISTS (
                SELECT FROM verification_failure f
                WHERE f.post_id = v.post_id AND f.reason = ANY (:refusals) AND f.failed_at >= v.server_verified_at
            ) OR EXISTS (
                SELECT FROM post p JOIN author a ON a.id = p.author_id
                WHERE p.id = v.post_id AND a.hidden_at IS NOT NULL
            ) AS is_hidden,
            lower(i.provider) = 'demo' AS is_demo
        FROM (
            SELECT DISTINCT d.post_version_id AS id FROM investigation_doc d
            WHERE d.analysis = :analysis AND (d.claim_count > 0
                OR EXISTS (SELECT FROM finding_state f WHERE f.investigation_id = d.investigation_id))
        ) flagged
        JOIN version_metadata m ON m.post_version_id = flagged.id
        JOIN post_version v ON v.id = flagged.id
        JOIN LATERAL (
            SELECT investigation_id, provenance, claim_count FROM investigation_doc
            WHERE post_version_id = v.id AND analysis = :analysis
            ORDER BY checked_at DESC, investigation_id DESC LIMIT 1
        ) d ON true
        JOIN investigation i ON i.id = d.investigation_id
        WHERE m.document ? 'cid'
    ), current AS (
        SELECT l.*, EXISTS (SELECT FROM forgotten f WHERE f.post_id = l.post_id) AS is_forgotten
        FROM label l WHERE val = :val
    )
    SELECT coalesce(p.uri, l.uri) AS uri, coalesce(p.cid, l.cid) AS cid, to_jsonb(p) AS result, to_jsonb(l) AS label
    FROM pinned p FULL JOIN current l ON l.uri = p.uri AND l.cid = p.cid
    WHERE p.findings > 0 OR NOT l.neg
""")
_READERS: Final = text("""
    SELECT CASE WHEN o.unique_view_score > 0 THEN (
            SELECT greatest(count(*) FILTER (WHERE bucket_day = :today), count(*) FILTER (WHERE bucket_day < :today))
            FROM post_view_credit WHERE post_id = o.id AND bucket_day BETWEEN :yesterday AND :today
        ) END AS views_a_day,
        coalesce(i.requested_by = 'READER', false) AS is_requested
    FROM (SELECT) one
    LEFT JOIN investigation i ON i.id = :investigation
    LEFT JOIN post_version v ON v.id = :version LEFT JOIN post o ON o.id = v.post_id
""")
_READ_RECORDS: Final = TypeAdapter(list[PinnedRecord])

log = structlog.get_logger(__name__)


class EventLog:
    """The stream `JOBS`. Raises: Outage: it could not be read now. BusError: nothing was confirmed."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def ended_job(self, job_id: UUID) -> EndedJob | None:
        subjects = (f"{kind.SUBJECT}.{job_id}" for kind in (JobRequested, JobEnded))
        match await read_latest(self._bus, *subjects, stream=JOBS):
            case [first, last] if isinstance(request := first.event, JobRequested):
                return EndedJob(request, last.envelope.occurred_at)
            case _:
                return None

    async def is_over(self, key: str) -> bool:
        return bool(await read_latest(self._bus, f"{JobEnded.SUBJECT}.{key}", stream=JOBS))

    async def publish(self, event: Event, correlation: UUID) -> bool:
        return await self._bus.publish_if_first(event, correlation)

    async def find_flag(self, flag_id: UUID) -> FlagRaised | None:
        found = await read_latest_from_leader(self._bus, f"{FlagRaised.SUBJECT}.{flag_id}", stream=JOBS)
        return next((fact.event for fact in found if isinstance(fact.event, FlagRaised)), None)

    async def read(self, kinds: Sequence[type[Event]], since: datetime) -> AsyncIterator[Event]:
        subjects = [f"{kind.SUBJECT}.*" for kind in kinds]
        first = await find_first_since(self._bus, JOBS.name, since)
        after, more = (first or 1) - 1, first is not None
        while more:
            page = await read_page(self._bus, JOBS.name, subjects, after=after, limit=PAGE)
            for message in page.messages:
                yield decode(message.subject, message.data).event
            after, more = page.messages[-1].sequence if page.messages else after, page.more


class SqlLabelRecord(LoggedTables):
    """The public record in the tables of the read model, and the log that they follow."""

    STREAM = ERRATA

    async def read(self, since: int) -> Sequence[PinnedRecord] | None:
        if not await self.holds(since):
            return None
        async with self._database.connect() as connection:
            found = await connection.execute(
                _RECORDS, {"analysis": ANALYSIS, "val": ERRATUM, "refusals": list(REFUSALS)}
            )
            return _READ_RECORDS.validate_python([dict(row) for row in found.mappings()])


class SqlAudience:
    """The readers of posts, from the tables of the read model; unknown for a post that the tables do not hold yet."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def find(self, approval: ClaimApproved) -> Readers:
        today = self._clock.now().date()
        days = {"today": today, "yesterday": today - timedelta(days=1)}
        about = {"investigation": approval.investigation_id, "version": approval.version_id}
        async with self._database.connect() as connection:
            row = (await connection.execute(_READERS, {**days, **about})).mappings().one()
            return Readers(row["views_a_day"], row["is_requested"])


class HeldClaims:
    """The ends of holds in the stream. Raises: Outage: it could not be read now."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def find_end(self, event: ClaimHeld) -> tuple[ClaimHoldEnded | None, int]:
        for past in await read_latest(self._bus, f"{ClaimHoldEnded.SUBJECT}.{event.claim_id}"):
            if isinstance(ended := past.event, ClaimHoldEnded):
                return (ended if ended.round >= event.round else None), past.sequence
        return None, 0


class SqlSecrets:
    """Webhook secrets of accounts, sealed in the database."""

    def __init__(self, database: Database, masters: tuple[MasterKey, ...]) -> None:
        self._database = database
        self._masters = masters

    async def find(self, account_id: UUID) -> Sequence[str]:
        async with self._database.connect() as connection:
            sealed: Sequence[bytes] | None = (await connection.execute(_SECRETS, {"id": account_id})).scalar()
        found = []
        for each in sealed or ():
            try:
                found.append(unseal(self._masters, account_id.bytes, each))
            except KeyUnusable:
                log.error("a webhook secret cannot be opened with any master key", account=str(account_id))
        return found


class CuratorMetrics:
    """Counters and gauges."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._webhooks = Counter(
            "openerrata_curator_webhooks_total", "Webhooks by outcome of each try", ("outcome",), registry=registry
        )
        self._holds = Counter(
            "openerrata_curator_holds_total",
            "Held claims that were released or withheld",
            ("state",),
            registry=registry,
        )
        self._overdue = Counter(
            "openerrata_curator_overdue_jobs_total", "Jobs ended because their deadline passed", registry=registry
        )
        self._open_breakers = Gauge(
            "openerrata_curator_open_breakers",
            "Breakers that are open, so that findings are not displayed",
            registry=registry,
        )
        self._quality = Gauge(
            "openerrata_curator_quality",
            "Metrics of the 24 hours before the hour",
            ("type", "category"),
            registry=registry,
        )
        self._missed = Gauge(
            "openerrata_curator_quality_missed",
            "Whether a metric misses its target: 1, or 0",
            ("type", "category"),
            registry=registry,
        )
        self._removed = Counter(
            "openerrata_curator_swept_texts_total", "Texts deleted after they had expired", registry=registry
        )
        self._swept_at = Gauge(
            "openerrata_curator_swept_timestamp_seconds", "When expired texts were last deleted", registry=registry
        )

    def count_webhook(self, outcome: str) -> None:
        """Count a try to send a webhook."""
        self._webhooks.labels(outcome).inc()

    def count_ended(self, state: str) -> None:
        """Count a hold that has ended."""
        self._holds.labels(state).inc()

    def count_overdue(self) -> None:
        """Count an overdue job that was ended."""
        self._overdue.inc()

    def show_open(self, breakers: int) -> None:
        """Show the number of open breakers."""
        self._open_breakers.set(breakers)

    def show_quality(self, type_: str, category: str, value: float, missed: bool) -> None:
        """Show a metric, and whether it misses its target."""
        self._quality.labels(type_, category).set(value)
        self._missed.labels(type_, category).set(missed)

    def swept(self, removed: int, at: datetime) -> None:
        """Count the texts that a sweep removed, and show when it ran."""
        self._removed.inc(removed)
        self._swept_at.set(at.timestamp())
