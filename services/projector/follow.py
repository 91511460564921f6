"""Follows one stream: applies the messages that have arrived as one batch, while the next one forms.

The position is stored in the database. After a failure the caller starts again from there; nothing is lost or applied
twice. Of several projectors of one read model, one follows a stream; the others stand by and take over when its session
ends.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge

from services.projector.facts.reading import Batch, read
from services.projector.ledger.chain import LedgerBroken
from services.projector.ports import Log
from services.projector.store.store import Store

POLL_S: Final = 0.05
CLAIM_POLL_S: Final = 1.0
"""The claim is polled: a statement that waits for a lock would keep its snapshot and block vacuum."""

log = structlog.get_logger(__name__)


class Metrics:
    """Counters and gauges of the projector."""

    def __init__(self, registry: CollectorRegistry, position: Gauge) -> None:
        self.position = position
        self.facts = Counter(
            "openerrata_projector_facts_total",
            "Messages that passed the projector",
            ("stream", "outcome"),
            registry=registry,
        )
        self.standing_still = Gauge(
            "openerrata_projector_standing_still",
            "1 while the read model lacks facts of the stream and its position does not move",
            ("stream",),
            registry=registry,
        )
        self.standing_by = Gauge(
            "openerrata_projector_standing_by",
            "1 while another projector follows the stream",
            ("stream",),
            registry=registry,
        )


class Follower:
    """Keeps the read model up with one stream."""

    def __init__(self, stream: str, store: Store, source: Log, metrics: Metrics) -> None:
        self._stream = stream
        self._store = store
        self._source = source
        self._metrics = metrics

    async def run(self) -> None:
        """Follow until cancelled.

        Raises: LedgerBroken: stream, tables and ledger contradict each other; nothing more is applied.
        """
        try:
            await self._claim()
            position = await self._store.position(self._stream)
            self._metrics.position.labels(self._stream).set(position)
            skipped = await self._store.skipped(self._stream)
            extent = await self._source.extent(self._stream)
            if extent.last < position:
                raise LedgerBroken(f"{self._stream} ends at {extent.last}, but facts up to {position} were applied")
            async for records in self._source.follow(self._stream, position + 1):
                batch = read(records, skipped)
                await self._wait_for_other_stream(batch)
                position = await self._apply(batch)
        finally:
            await self._store.close()

    async def _claim(self) -> None:
        if not await self._store.claim(self._stream):
            log.info("standing by: another projector follows this stream", stream=self._stream)
            self._metrics.standing_by.labels(self._stream).set(1)
            while not await self._store.claim(self._stream):  # noqa: ASYNC110 (another process holds it)
                await asyncio.sleep(CLAIM_POLL_S)
            log.info("taking over from another projector", stream=self._stream)
        self._metrics.standing_by.labels(self._stream).set(0)

    async def _apply(self, batch: Batch) -> int:
        applied = await self._store.apply(batch)
        for outcome, number in applied.outcomes.items():
            self._metrics.facts.labels(self._stream, outcome).inc(number)
        if applied.outcomes["unknown"]:
            log.warning("views of unknown posts dropped", number=applied.outcomes["unknown"])
        self._metrics.position.labels(self._stream).set(applied.position)
        await self._source.announce(self._stream, applied.position)
        return applied.position

    async def _wait_for_other_stream(self, batch: Batch) -> None:
        """If facts refer to another stream: wait until its current end is applied, then apply them anyway."""
        other = await self._store.find_stream_to_wait_for(batch)
        if other is None:
            return
        head = (await self._source.extent(other)).last
        while await self._store.position(other) < head:  # noqa: ASYNC110 (another process may move it)
            await asyncio.sleep(POLL_S)
