"""A fold of a stream that publishes what follows from its facts, and keeps a low-water mark, so a restart is short.

What is folded, when it is over and what follows from it is a `Rules`; whoever folds the same facts concludes the same,
so replicas and replays are harmless.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar
from uuid import UUID

import structlog

from contracts.topology import MARKS, Stream
from contracts.v1 import Event, Undecodable, decode
from kit.bus import AlreadyThere, Bus, BusError
from kit.cancelling import together
from kit.errors import Reject, Retry
from kit.history import Past
from kit.kv import Bucket
from kit.ordered import OrderedLog, Recorded

MARK_EVERY_S = 0.5
LOOK_AFTER_S = 5.0
LOOK_AGAIN_MAX_S = 600.0

log = structlog.get_logger(__name__)


class Aggregate(Protocol):
    """What is folded by key."""

    @property
    def correlation(self) -> UUID:
        """What all facts about it have in common."""

    def apply(self, fact: Past) -> None:
        """Take the next fact of the log; facts of other things change nothing."""


A = TypeVar("A", bound=Aggregate)


class Rules(Protocol[A]):
    """What one fold is about."""

    async def open(self, fact: Past) -> A | None:
        """The aggregate that begins with this fact; None if it begins nothing: a straggler of one that is over."""

    def is_over(self, aggregate: A) -> bool:
        """Whether nothing more will follow."""

    def conclude(self, aggregate: A) -> Event | None:
        """The fact that follows, once everything it needs is there."""

    async def is_over_in_log(self, key: str, aggregate: A) -> bool:
        """Whether it is over, asked of the log."""

    async def close(self, key: str, aggregate: A) -> None:
        """Do what remains when it is over, before the mark passes it. May come again."""


class Watcher(Protocol):
    """Whoever has to see that the fold stands still."""

    def seen(self, sequence: int, key: str, event: Event, at: datetime) -> None: ...

    def passed(self, sequence: int) -> None: ...

    def ended(self, key: str) -> None: ...

    def clear(self) -> None: ...


@dataclass(slots=True)
class _Open(Generic[A]):
    """An aggregate that is not over.

    Units: `since` is the place in the log from which it is folded. `look_at` is the loop's time at which the log is
    asked whether it is over, None before it is scheduled; it is asked again after `look_after_s`.
    """

    aggregate: A
    since: int
    look_at: float | None = None
    look_after_s: float = LOOK_AFTER_S


class Concluder(Generic[A]):
    """Folds a stream and publishes what follows. `mark` is the name of its low-water mark."""

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
        # Without its mark a restart would begin ever further back.
        await together(self._keep_mark(marks), self._follow(mark))

    async def _follow(self, mark: int) -> None:
        async for batch in OrderedLog(self._bus, self._stream.name, mark + 1, subjects=self._subjects).batches():
            await self._fold(batch)

    async def _fold(self, batch: Sequence[Recorded]) -> None:
        touched: dict[str, UUID] = {}
        for recorded in batch:
            self._last = recorded.sequence
            try:
                fact = Past(recorded.sequence, decode(recorded.subject, recorded.data))
            except Undecodable as error:
                log.warning("undecodable fact passed over", sequence=recorded.sequence, error=str(error))
                continue
            key = fact.event.key()
            known = self._open.get(key)
            if known is not None:
                known.aggregate.apply(fact)
            elif (opened := await self._rules.open(fact)) is not None:
                self._open[key] = _Open(opened, recorded.sequence)
            else:
                self._watcher.passed(recorded.sequence)
                continue
            self._watcher.seen(recorded.sequence, key, fact.event, recorded.time)
            touched[key] = fact.envelope.id
        over, ends = self._settled(touched)
        await asyncio.gather(
            *(self._close(key) for key in over),
            *(self._publish(end, self._open[key].aggregate.correlation, cause) for key, end, cause in ends),
        )

    def _settled(self, touched: Mapping[str, UUID]) -> tuple[list[str], list[tuple[str, Event, UUID]]]:
        """Of what was touched, what is over, and the facts that are to be published, each with its cause."""
        over, ends = [], []
        for key, cause in touched.items():
            known = self._open.get(key)
            if known is None:  # closed meanwhile as a repetition
                continue
            if self._rules.is_over(known.aggregate):
                over.append(key)
            elif (end := self._rules.conclude(known.aggregate)) is not None:
                ends.append((key, end, cause))
        return over, ends

    async def _publish(self, end: Event, correlation: UUID, cause: UUID) -> None:
        with suppress(AlreadyThere):  # a replica was faster, or this is a replay: its fact is on its way to us
            await self._bus.publish(end, correlation=correlation, cause=cause)

    async def _close(self, key: str) -> None:
        await self._rules.close(key, self._open[key].aggregate)
        self._open.pop(key, None)
        self._watcher.ended(key)

    async def _close_repeated(self) -> None:
        """Close what was opened by a fact that the log holds twice: it is over, and nothing more will come.

        Whether it is over is asked of the log, seldom, and only about what has been open for a while.
        """
        now = asyncio.get_running_loop().time()
        for key, known in tuple(self._open.items()):
            if known.look_at is None:
                known.look_at = now + known.look_after_s
            if now < known.look_at:
                continue
            known.look_at, known.look_after_s = now + known.look_after_s, min(known.look_after_s * 2, LOOK_AGAIN_MAX_S)
            if await self._rules.is_over_in_log(key, known.aggregate):
                await self._close(key)

    async def _keep_mark(self, marks: Bucket) -> None:
        written = None
        while True:
            await asyncio.sleep(MARK_EVERY_S)
            try:
                await self._close_repeated()
                mark = min((known.since - 1 for known in self._open.values()), default=self._last)
                if mark != written:
                    await marks.put(self._mark, str(mark).encode())
                    written = mark
            except (BusError, Retry, Reject) as error:
                log.warning("mark not kept, trying again", error=str(error))
