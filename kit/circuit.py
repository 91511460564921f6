"""When a consumer stops by itself: a bad deploy must not pour everything it is given into the dead letters.

What counts is giving up because of a bug or of bytes that cannot be read, and only while it outweighs success. A
handler that refuses an input on purpose counts for nothing; otherwise anybody who sends nonsense could stop everybody.
The pause is the broker's, so it holds for all processes at once, survives their restart and ends by itself.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, timedelta

import nats.errors
import nats.js.errors
import structlog

from contracts.topology import AGAIN, Consumer, stream_of
from kit.bus import Bus

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class StopLimit:
    """How many messages one process gives up before the consumer pauses; 0 letters: never.

    Units: `within_s` is the window; `share` of the messages that ended in it; `pause_s` until it goes on by itself.
    """

    letters: int = 20
    within_s: float = 300.0
    share: float = 0.5
    pause_s: float = 900.0


class Circuit:
    """What became of one consumer's messages lately, in this process."""

    def __init__(self, limit: StopLimit) -> None:
        self._limit = limit
        self._given_up: deque[float] = deque()
        self._done: deque[float] = deque()

    def done(self, now_s: float) -> None:
        """A message was handled; it matters only while others are given up."""
        if self._given_up:
            self._forget(now_s)
            self._done.append(now_s)

    def given_up(self, now_s: float) -> bool:
        """A message was given up; whether the consumer must pause now. After that, counting starts anew."""
        self._given_up.append(now_s)
        self._forget(now_s)
        failed = len(self._given_up)
        if not self._limit.letters or failed < self._limit.letters:
            return False
        if failed < self._limit.share * (failed + len(self._done)):
            return False
        self._given_up.clear()
        self._done.clear()
        return True

    def _forget(self, now_s: float) -> None:
        for times in (self._given_up, self._done):
            while times and times[0] < now_s - self._limit.within_s:
                times.popleft()


async def pause(bus: Bus, consumer: Consumer, for_s: float) -> None:
    """Let the broker deliver nothing to a consumer for a while, in no process.

    Raises: nats.js.errors.Error, nats.errors.Error: the broker did not do it.
    """
    until = (bus.clock.now().astimezone(UTC) + timedelta(seconds=for_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for stream in (stream_of(consumer.event), AGAIN):
        await bus.jetstream.pause_consumer(stream.name, consumer.name, until)


async def resume(bus: Bus, consumer: Consumer) -> None:
    """Let a consumer go on at once. Raises: see `pause`."""
    for stream in (stream_of(consumer.event), AGAIN):
        await bus.jetstream.resume_consumer(stream.name, consumer.name)


async def stop(bus: Bus, consumer: Consumer, limit: StopLimit) -> None:
    """Pause a consumer that has reached its limit, and say so; without an answer work goes on."""
    log.error("too many dead letters: consumer pauses", consumer=consumer.name, for_s=limit.pause_s)
    with suppress(nats.errors.Error, nats.js.errors.Error, TimeoutError):
        await pause(bus, consumer, limit.pause_s)
