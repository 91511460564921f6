"""Circuit breaker of a consumer: a faulty release must not turn all of its messages into dead letters.

Only bugs and undecodable bytes count, and only while they outweigh successes. A handler that rejects its input does
not count; otherwise one client that sends nonsense could stop the service for all. The broker pauses the consumer, so
the pause holds for all processes, survives their restart and ends by itself.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, timedelta

import nats.errors
import nats.js.errors
import structlog

from contracts.topology import REDELIVERY, Consumer, stream_of
from kit.bus import Bus

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class StopLimit:
    """When to pause a consumer: at `dead_letters` in one process, never if that is 0.

    Units: `within_s` is the window; dead letters must be at least `share` of the messages that ended in it; the
    consumer resumes by itself after `pause_s`.
    """

    dead_letters: int = 20
    within_s: float = 300.0
    share: float = 0.5
    pause_s: float = 900.0


class Circuit:
    """Recent successes and failures of one consumer in this process."""

    def __init__(self, limit: StopLimit) -> None:
        self._limit = limit
        self._failures: deque[float] = deque()
        self._successes: deque[float] = deque()

    def count_success(self, now_s: float) -> None:
        """Count a handled message, if there are recent failures to compare it with."""
        if self._failures:
            self._evict(now_s)
            self._successes.append(now_s)

    def count_failure(self, now_s: float) -> bool:
        """Count a dead letter and return whether the consumer must pause now; if so, counting starts anew."""
        self._failures.append(now_s)
        self._evict(now_s)
        failed = len(self._failures)
        if not self._limit.dead_letters or failed < self._limit.dead_letters:
            return False
        if failed < self._limit.share * (failed + len(self._successes)):
            return False
        self._failures.clear()
        self._successes.clear()
        return True

    def _evict(self, now_s: float) -> None:
        for times in (self._failures, self._successes):
            while times and times[0] < now_s - self._limit.within_s:
                times.popleft()


async def pause(bus: Bus, consumer: Consumer, for_s: float) -> None:
    """Pause a consumer in all processes.

    Raises: nats.js.errors.Error, nats.errors.Error: the broker refused or did not answer.
    """
    until = (bus.clock.now().astimezone(UTC) + timedelta(seconds=for_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for stream in (stream_of(consumer.event), REDELIVERY):
        await bus.jetstream.pause_consumer(stream.name, consumer.name, until)


async def resume(bus: Bus, consumer: Consumer) -> None:
    """Resume a consumer at once. Raises: see `pause`."""
    for stream in (stream_of(consumer.event), REDELIVERY):
        await bus.jetstream.resume_consumer(stream.name, consumer.name)


async def pause_failing(bus: Bus, consumer: Consumer, limit: StopLimit) -> None:
    """Pause a consumer that reached its limit, and log it; if the broker does not answer, work continues."""
    log.error("too many dead letters: consumer pauses", consumer=consumer.name, for_s=limit.pause_s)
    with suppress(nats.errors.Error, nats.js.errors.Error, TimeoutError):
        await pause(bus, consumer, limit.pause_s)
