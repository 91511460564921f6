"""Reading a stream in its order, for folds that own their position.

Batches form while the reader works: whatever has arrived meanwhile is the next batch, so there is no polling interval.
A reader with nothing to do gets a message at once; a crowded one lingers a moment, which makes batches larger and each
message cheaper, and for longer while there is only what nobody waits for. A gap or a lost consumer is healed by
starting again after the last sequence read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

import nats.errors
import nats.js.errors
import structlog
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig, DeliverPolicy

from kit.bus import Bus

BUFFER = 20_000
BUFFER_BYTES = 32 * 1024 * 1024
"""Facts carry whole texts: a reader that catches up must not hold thousands of them."""
CROWDED = 4
LINGER_S = 0.02
AWAITED_LINGER_S = 0.005
PATIENT = 8
"""So many messages in a batch for each time that the next one may be lingered for."""
LINGERS = 4
"""At most so many times."""
RESTART_S = 0.5
HEARTBEAT_S = 0.5
"""The client notices a lost consumer by two to four missing heartbeats; its default of 5 s means 20 s of silence."""

log = structlog.get_logger(__name__)


class Recorded(NamedTuple):
    """One stored message. Units: `time` is when the stream stored it, UTC."""

    stream: str
    sequence: int
    subject: str
    data: bytes
    time: datetime


def place(reply: str) -> tuple[int, datetime]:
    """Where a delivered message is stored, and since when (UTC), by the address of its acknowledgement.

    Each fact is delivered to several readers, and the client's own parser reads five things more.
    Source: NATS ADR-15; servers put a domain and an account before the rest where they have any.
    """
    tokens = reply.split(".")
    first = 5 if len(tokens) == 9 else 7
    return int(tokens[first]), datetime.fromtimestamp(int(tokens[first + 2]) / 1e9, UTC)


def linger_s(before: int, lingered: int, held: Collection[Recorded], limit: int, awaited: tuple[str, ...]) -> float:
    """How long to wait once more for messages that join those held, after a batch of `before`; 0: not at all."""
    if before < CROWDED or len(held) >= limit:
        return 0.0
    if any(each.subject.startswith(awaited) for each in held):
        return 0.0 if lingered else AWAITED_LINGER_S
    return LINGER_S if lingered < max(1, min(before // PATIENT, LINGERS)) else 0.0


class OrderedLog:
    """A stream from the sequence `start` on, in order, without an end."""

    def __init__(
        self,
        bus: Bus,
        stream: str,
        start: int,
        *,
        subjects: Sequence[str] = (">",),
        awaited: tuple[str, ...] | None = None,
    ) -> None:
        """`awaited`: how the subjects begin of what somebody waits for to be read; None: of everything, at once."""
        self._bus = bus
        self._stream = stream
        self._subjects = list(subjects)
        self._awaited = awaited
        self._last = max(start, 1) - 1
        self._buffer: deque[Recorded] = deque()
        self._held_bytes = 0
        self._arrived = asyncio.Event()
        self._drained = asyncio.Event()

    async def batches(self, limit: int = 500) -> AsyncGenerator[Sequence[Recorded], None]:
        """Yield what has arrived, at most `limit` at once, in strictly rising sequence."""
        before = 0
        while True:
            subscription = None
            try:
                subscription = await self._bus.jetstream.subscribe(
                    self._subjects[0],
                    stream=self._stream,
                    ordered_consumer=True,
                    idle_heartbeat=HEARTBEAT_S,
                    cb=self._take,
                    pending_msgs_limit=-1,
                    pending_bytes_limit=-1,
                    config=ConsumerConfig(
                        deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
                        opt_start_seq=self._last + 1,
                        filter_subjects=self._subjects,
                    ),
                )
                while True:
                    while self._buffer:
                        await self._linger(before, limit)
                        batch = [self._buffer.popleft() for _ in range(min(limit, len(self._buffer)))]
                        self._held_bytes -= sum(len(each.data) for each in batch)
                        self._last = batch[-1].sequence
                        self._drained.set()
                        before = len(batch)
                        yield batch
                    self._arrived.clear()
                    await self._arrived.wait()
            except (nats.errors.Error, nats.js.errors.Error, TimeoutError) as error:
                log.warning("stream reader restarts", stream=self._stream, after=self._last, error=str(error))
                self._buffer.clear()
                self._held_bytes = 0
                await asyncio.sleep(RESTART_S)
            finally:
                if subscription is not None:
                    with suppress(nats.errors.Error, nats.js.errors.Error, TimeoutError):
                        await subscription.unsubscribe()

    async def _linger(self, before: int, limit: int) -> None:
        lingered = 0
        while self._awaited is not None:
            delay_s = linger_s(before, lingered, self._buffer, limit, self._awaited)
            if not delay_s:
                break
            await asyncio.sleep(delay_s)
            lingered += 1

    async def _take(self, message: Msg) -> None:
        sequence, time = place(message.reply)
        newest = self._buffer[-1].sequence if self._buffer else self._last
        if sequence <= newest:  # the consumer was set up again and repeats
            return
        while len(self._buffer) >= BUFFER or self._held_bytes >= BUFFER_BYTES:
            self._drained.clear()
            await self._drained.wait()
        self._held_bytes += len(message.data)
        self._buffer.append(Recorded(self._stream, sequence, message.subject, message.data, time))
        self._arrived.set()
