"""Atomic batches: of one caller's facts all are stored or none, and concurrent callers share a batch.

A broker that acknowledges nothing before it is on the disk takes as long for the facts of one caller as for those of
sixteen. So one batch is under way at a time, and what arrives meanwhile is the next one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from nats.aio.msg import Msg

from kit.publisher import Outgoing, PublishConflict, Publisher, PublishRefused, Receipt, confirm

SHARERS: Final = 32
"""The largest number of callers that share a batch; a broker accepts 1000 messages in one."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The facts of one caller, all for one stream."""

    facts: Sequence[Outgoing]
    stored: asyncio.Future[tuple[Receipt, ...]]

    @property
    def subjects(self) -> set[str]:
        return {fact.subject for fact in self.facts}

    def end(self, outcome: tuple[Receipt, ...] | Exception) -> None:
        if self.stored.done():  # its caller was cancelled
            return
        if isinstance(outcome, Exception):
            self.stored.set_exception(outcome)
        else:
            self.stored.set_result(outcome)


class Batches:
    """Stores batches in one stream. Source: NATS ADR-50."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._waiting: deque[_Part] = deque()
        self._sending: asyncio.Task[None] | None = None

    async def store(self, facts: Sequence[Outgoing]) -> tuple[Receipt, ...]:
        """Store all of these or none. Raises: see `Bus.publish_together`."""
        part = _Part(facts, asyncio.get_running_loop().create_future())
        self._waiting.append(part)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_waiting(), name="atomic batches")
        return await part.stored

    async def _send_waiting(self) -> None:
        try:
            while parts := self._take():
                await self._store(parts)
        finally:
            while self._waiting:  # this task was cancelled
                self._waiting.popleft().stored.cancel()

    def _take(self) -> Sequence[_Part]:
        """Take the parts of the next batch: two with the same subject would have it refused, so the second waits."""
        parts: list[_Part] = []
        subjects: set[str] = set()
        while self._waiting and len(parts) < SHARERS and subjects.isdisjoint(self._waiting[0].subjects):
            part = self._waiting.popleft()
            if not part.stored.done():
                parts.append(part)
                subjects |= part.subjects
        return parts

    async def _store(self, parts: Sequence[_Part]) -> None:
        """Store parts as one batch; if the broker refuses it, store each part by itself."""
        try:
            receipts = await self._send([fact for part in parts for fact in part.facts])
        except (PublishConflict, PublishRefused) as refusal:
            if len(parts) == 1:
                parts[0].end(refusal)
            else:
                await asyncio.gather(*(self._store([part]) for part in parts))
        except Exception as error:
            for part in parts:
                part.end(error)
        else:
            for part in parts:
                count = len(part.facts)
                part.end(receipts[:count])
                receipts = receipts[count:]
        finally:
            for part in parts:
                part.stored.cancel()  # unless it has ended

    async def _send(self, facts: Sequence[Outgoing]) -> tuple[Receipt, ...]:
        """Send one batch once. Raises: see `Bus.publish_together`."""
        batch, last = str(self._publisher.clock.new_id()), len(facts)
        confirmed: list[asyncio.Future[Msg]] = []
        for number, fact in enumerate(facts, 1):
            headers = {**fact.headers, "Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(number)}
            if number == last:
                headers["Nats-Batch-Commit"] = "1"
            outgoing = Outgoing(fact.subject, fact.data, headers)
            if number in (1, last):
                confirmed.append(await self._publisher.send(outgoing))
            else:
                await self._publisher.send_unconfirmed(outgoing)
        for future in confirmed[:-1]:
            await confirm(future)  # of several errors the first one is the cause
        committed = await self._publisher.wait_for_receipt(confirmed[-1])
        return tuple(Receipt(committed.sequence - last + place) for place in range(1, last + 1))
