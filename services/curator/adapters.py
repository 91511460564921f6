"""The stream `JOBS`, accounts' secrets and metrics, as the curator sees them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge
from sqlalchemy import text

from contracts.topology import JOBS
from contracts.v1 import AssertionAnalysed, Event, JobEnded, JobRequested, decode
from kit.bus import Bus
from kit.database import Database
from kit.history import read_latest
from kit.pages import find_first_since, read_page
from kit.publisher import PublishConflict
from kit.vault import KeyUnusable, MasterKey, unseal
from services.curator.domain import EndedJob

PAGE: Final = 256
_SECRETS: Final = text("SELECT webhook_secrets FROM operator.account WHERE id = :id AND closed_at IS NULL")

log = structlog.get_logger(__name__)


class EventLog:
    """The stream over the broker. Raises: Outage: it could not be read now. BusError: nothing was confirmed."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def ended_job(self, job_id: UUID) -> EndedJob | None:
        """A job that is over; None: the log does not show it yet, or there is none."""
        subjects = (f"{kind.SUBJECT}.{job_id}" for kind in (JobRequested, JobEnded))
        match await read_latest(self._bus, *subjects, stream=JOBS):
            case [first, last] if isinstance(request := first.event, JobRequested):
                return EndedJob(request, last.envelope.occurred_at)
            case _:
                return None

    async def is_over(self, key: str) -> bool:
        """Whether a job has ended."""
        return bool(await read_latest(self._bus, f"{JobEnded.SUBJECT}.{key}", stream=JOBS))

    async def publish(self, event: Event, correlation: UUID) -> bool:
        """Whether it was stored, now or before; False: another one came first."""
        try:
            await self._bus.publish(event, correlation=correlation)
        except PublishConflict:
            return False
        return True

    async def citing(self, url_sha256: str, since: datetime) -> AsyncIterator[AssertionAnalysed]:
        """The analyses since a moment that cite an address, by its hash."""
        first = await find_first_since(self._bus, JOBS.name, since)
        after, more = (first or 1) - 1, first is not None
        while more:
            page = await read_page(self._bus, JOBS.name, (f"{AssertionAnalysed.SUBJECT}.*",), after=after, limit=PAGE)
            for message in page.messages:
                event = decode(message.subject, message.data).event
                if isinstance(event, AssertionAnalysed) and url_sha256 in {each.url_sha256 for each in event.citations}:
                    yield event
            after, more = page.messages[-1].sequence if page.messages else after, page.more


class SqlSecrets:
    """Webhook secrets of accounts, sealed in the database."""

    def __init__(self, database: Database, masters: tuple[MasterKey, ...]) -> None:
        self._database = database
        self._masters = masters

    async def find(self, account_id: UUID) -> Sequence[str]:
        """Those that are valid now; none: the account is closed or has none."""
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
        self._overdue = Counter(
            "openerrata_curator_overdue_jobs_total", "Jobs ended because their deadline passed", registry=registry
        )
        self._removed = Counter(
            "openerrata_curator_swept_texts_total", "Texts deleted after they had expired", registry=registry
        )
        self._swept_at = Gauge(
            "openerrata_curator_swept_timestamp_seconds", "When expired texts were last deleted", registry=registry
        )

    def count_webhook(self, outcome: str) -> None:
        """A try to send one."""
        self._webhooks.labels(outcome).inc()

    def count_overdue(self) -> None:
        """A job that was ended."""
        self._overdue.inc()

    def swept(self, removed: int, at: datetime) -> None:
        """A sweep that is done."""
        self._removed.inc(removed)
        self._swept_at.set(at.timestamp())
