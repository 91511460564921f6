"""A fold of a stream that publishes the facts that follow, and stores a low-water mark to restart from.

`Rules` define what is folded, when it is over and what follows from it. The same facts always give the same conclusion,
so replicas and replays are harmless.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar
from uuid import UUID

import structlog

from contracts.topology import MARKS, Stream
from contracts.v1 import Event, Undecodable, decode
from kit.bus import Bus
from kit.cancelling import run_until_first_ends
from kit.errors import Reject, Retry
from kit.history import StoredFact
from kit.kv import Bucket
from kit.ordered import OrderedLog, StoredMessage
from kit.publisher import BusError, PublishConflict

MARK_EVERY_S = 0.5
CHECK_AFTER_S = 5.0
CHECK_MAX_S = 600.0

log = structlog.get_logger(__name__)


class Aggregate(Protocol):
    """The state that the fold keeps for one key."""

    @property
    def correlation(self) -> UUID:
        """The correlation id of all facts of the aggregate."""

    def apply(self, fact: StoredFact) -> None:
        """Apply the next fact of the log; facts about others change nothing."""


A = TypeVar("A", bound=Aggregate)


class Rules(Protocol[A]):
    """What one fold routes, opens, concludes and closes."""

    async def route(self, fact: StoredFact) -> Sequence[tuple[str, StoredFact]]:
        """The keys of the aggregates that a fact concerns, each with the fact to apply to that aggregate.

        Older facts that an aggregate needs are read from the log and returned here too.
        """

    async def open(self, fact: StoredFact) -> A | None:
        """The aggregate that begins with this fact; None for a late fact of one that is over."""

    def is_over(self, aggregate: A) -> bool:
        """Whether nothing more will follow."""

    def conclude(self, aggregate: A) -> Event | None:
        """The fact that follows, None until everything it needs is known."""

    async def is_over_in_log(self, key: str, aggregate: A) -> bool:
        """Whether the aggregate is over according to the log."""

    async def close(self, key: str, aggregate: A) -> None:
        """Clean up after an aggregate that is over, before the mark passes it. May be repeated."""


class Watcher(Protocol):
    """Observes the fold, to detect a stall."""

    def seen(self, sequence: int, key: str, event: Event, at: datetime) -> None: ...

    def passed(self, sequence: int) -> None: ...

    def ended(self, key: str) -> None: ...

    def clear(self) -> None: ...


@dataclass(slots=True)
class _Open(Generic[A]):
    """An aggregate that is not over.

    Units: `since` is the sequence of its first fact; `last` is that of its newest, whose id is `cause`. `check_at` is
    the loop time of the next look into the log whether the aggregate is over, None if none is scheduled;
    `check_after_s` is the interval to the one after that.
    """

    aggregate: A
    since: int
    last: int
    cause: UUID
    check_at: float | None = None
    check_after_s: float = CHECK_AFTER_S


class Concluder(Generic[A]):
    """Folds a stream and publishes the facts that follow. `mark` is the name of its low-water mark."""

    def __init__(
        self, bus: Bus, stream: Stream, subjects: Sequence[str], mark: str, rules: Rules[A], watcher: Watcher
    ) -> None:
        self._bus = bus
        self._stream = stream
        self._subjects = tuple(subjects)
        self._mark = mark
        self._rules = rules
        self._watcher = watcher
        self._open: dict[str, _Open[A]] = {}
        self._last = 0

    async def run(self) -> None:
        """Fold for ever."""
        marks = await Bucket.open(self._bus, MARKS)
        mark = int(await marks.get(self._mark) or b"0")
        self._open.clear()
        self._watcher.clear()
        self._last = mark
        # If the mark stops moving the fold must fail, or restarts would take ever longer.
        await run_until_first_ends(self._store_mark(marks), self._follow(mark))

    async def _follow(self, mark: int) -> None:
        async for batch in OrderedLog(self._bus, self._stream.name, mark + 1, subjects=self._subjects).batches():
            await self._fold(batch)

    async def _fold(self, batch: Sequence[StoredMessage]) -> None:
        touched: dict[str, None] = {}
        for recorded in batch:
            try:
                fact = StoredFact(recorded.sequence, decode(recorded.subject, recorded.data))
                touched.update(dict.fromkeys(await self._apply(fact, recorded.time)))
            except (Undecodable, Reject) as error:  # of the fact, or of those that it follows: the others go on
                log.error("undecodable fact skipped", sequence=recorded.sequence, error=str(error))
        self._last = batch[-1].sequence  # only now: what the batch opens is open, so the mark stays before it
        over, ends = self._find_settled(touched)
        await asyncio.gather(
            *(self._close(key) for key in over),
            *(self._publish(end, entry) for end, entry in ends),
        )

    async def _apply(self, fact: StoredFact, at: datetime) -> list[str]:
        """Apply a fact to the aggregates it concerns; return their keys. Raises: Reject: what it follows is no fact."""
        touched = []
        for key, each in await self._rules.route(fact):
            entry = self._open.get(key)
            if entry is not None:
                entry.aggregate.apply(each)
                entry.last, entry.cause = fact.sequence, fact.envelope.id
            elif (opened := await self._rules.open(each)) is not None:
                self._open[key] = _Open(opened, fact.sequence, fact.sequence, fact.envelope.id)
            else:
                continue
            self._watcher.seen(fact.sequence, key, each.event, at)
            touched.append(key)
        if not touched:
            self._watcher.passed(fact.sequence)
        return touched

    def _find_settled(self, touched: Iterable[str]) -> tuple[list[str], list[tuple[Event, _Open[A]]]]:
        """Of the keys that changed, those that are over, and the facts to publish, each with its aggregate."""
        over, ends = [], []
        for key in touched:
            entry = self._open.get(key)
            if entry is None:  # closed meanwhile by _close_repeated
                continue
            if self._rules.is_over(entry.aggregate):
                over.append(key)
            elif (end := self._rules.conclude(entry.aggregate)) is not None:
                ends.append((end, entry))
        return over, ends

    async def _publish(self, end: Event, entry: _Open[A]) -> None:
        with suppress(PublishConflict):  # a replica was faster, or this is a replay
            await self._bus.publish(end, correlation=entry.aggregate.correlation, cause=entry.cause)

    async def _close(self, key: str) -> None:
        entry = self._open.get(key)
        if entry is None:  # both tasks close; the other one was faster
            return
        last = entry.last
        await self._rules.close(key, entry.aggregate)
        if self._open.get(key) is entry and entry.last == last:  # else it goes on, or the other task has closed it
            del self._open[key]
            self._watcher.ended(key)

    async def _close_repeated(self) -> None:
        """Close aggregates that a duplicate fact in the log opened, and publish an end that the log still lacks.

        For neither will more facts come. The log is read rarely for this, and only for aggregates that have been open
        for a while.
        """
        now = asyncio.get_running_loop().time()
        for key, entry in tuple(self._open.items()):
            if entry.check_at is None:
                entry.check_at = now + entry.check_after_s
            if now < entry.check_at:
                continue
            entry.check_at, entry.check_after_s = now + entry.check_after_s, min(entry.check_after_s * 2, CHECK_MAX_S)
            if await self._rules.is_over_in_log(key, entry.aggregate):
                await self._close(key)
            elif (end := self._rules.conclude(entry.aggregate)) is not None:
                await self._publish(end, entry)

    async def _store_mark(self, marks: Bucket) -> None:
        written = None
        while True:
            await asyncio.sleep(MARK_EVERY_S)
            try:
                await self._close_repeated()
                mark = min((entry.since - 1 for entry in self._open.values()), default=self._last)
                if mark != written:
                    await marks.put(self._mark, str(mark).encode())
                    written = mark
            except (BusError, Retry, Reject) as error:
                log.warning("mark not stored, trying again", error=str(error))
