"""Read a stream in order, for folds that store their own position.

Batches form while the reader works: all that arrived meanwhile is the next batch, so there is no polling interval. An
idle reader gets a message at once. A busy one waits a moment, which makes batches larger and each message cheaper, and
waits longer while the batch has nothing urgent. After a gap or a lost consumer, reading restarts after the last
sequence.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

import nats.errors
import nats.js.errors
import structlog
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig, DeliverPolicy, Header
from nats.js.client import JetStreamContext

from kit.bus import Bus

BUFFER = 20_000
BUFFER_BYTES = 32 * 1024 * 1024
"""Facts contain whole texts: a reader that catches up must not hold thousands of them."""
BUSY_BATCH = 4
"""After a batch of this size the reader counts as busy."""
BATCH_DELAY_S = 0.02
URGENT_BATCH_DELAY_S = 0.005
MESSAGES_PER_DELAY = 4
"""The next batch may be delayed once for each MESSAGES_PER_DELAY messages in the last one."""
MAX_BATCH_DELAYS = 10
"""The most delays of a batch; an unhurried reader always takes them all."""
RESTART_S = 0.5
HEARTBEAT_S = 0.5
"""The client notices a lost consumer after two to four missed heartbeats: up to 20 s with its default of 5 s."""

log = structlog.get_logger(__name__)


class StoredMessage(NamedTuple):
    """One stored message. Units: `time` is when the stream stored it, UTC."""

    stream: str
    sequence: int
    subject: str
    data: bytes
    time: datetime


def parse_ack_subject(reply: str) -> tuple[int, datetime]:
    """The sequence of a delivered message and when it was stored (UTC), read from its reply subject.

    The client's own parser also reads five other fields, which is slow: each fact is delivered to several readers.
    Source: NATS ADR-15; servers with a domain put it and an account before the other fields.
    """
    tokens = reply.split(".")
    first = 5 if len(tokens) == 9 else 7
    return int(tokens[first]), datetime.fromtimestamp(int(tokens[first + 2]) / 1e9, UTC)


def batch_delay_s(
    before: int,
    delays: int,
    buffer: Collection[StoredMessage],
    limit: int,
    urgent: tuple[str, ...],
    *,
    unhurried: bool = False,
) -> float:
    """Seconds to wait for more messages after a batch of `before` messages and this many delays; 0: do not wait."""
    is_busy = before >= BUSY_BATCH
    if len(buffer) >= limit or not (is_busy or unhurried):
        return 0.0
    if any(each.subject.startswith(urgent) for each in buffer):
        return 0.0 if delays or not is_busy else URGENT_BATCH_DELAY_S
    most = MAX_BATCH_DELAYS if unhurried else max(1, min(before // MESSAGES_PER_DELAY, MAX_BATCH_DELAYS))
    return BATCH_DELAY_S if delays < most else 0.0


async def _check_heartbeat(sent: JetStreamContext._JSI, heartbeat: Msg) -> bool:
    """Set the consumer up again if messages were lost before this heartbeat; return whether they were.

    The library's own check needs a message to compare with, so it misses the loss of the first one after a (re)start.
    """
    sent._active = True
    newest = int((heartbeat.headers or {}).get(Header.LAST_CONSUMER, 0))
    return newest >= sent._dseq and await sent.reset_ordered_consumer(sent._sseq + 1)


class OrderedLog:
    """An endless reader of a stream, in order from the sequence `start`."""

    def __init__(
        self,
        bus: Bus,
        stream: str,
        start: int,
        *,
        subjects: Sequence[str] = (">",),
        urgent: tuple[str, ...] | None = None,
        unhurried: bool = False,
    ) -> None:
        """`urgent` are the subject prefixes of facts that somebody waits for; None: batches are not delayed.

        `unhurried`: nothing waits for the other facts, so even an idle reader delays a batch.
        """
        self._bus = bus
        self._stream = stream
        self._subjects = list(subjects)
        self._urgent = urgent
        self._unhurried = unhurried
        self._last = max(start, 1) - 1
        self._buffer: deque[StoredMessage] = deque()
        self._buffer_bytes = 0
        self._arrived = asyncio.Event()
        self._drained = asyncio.Event()

    async def batches(self, limit: int = 500) -> AsyncGenerator[Sequence[StoredMessage], None]:
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
                    cb=self._add,
                    pending_msgs_limit=-1,
                    pending_bytes_limit=-1,
                    config=ConsumerConfig(
                        deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
                        opt_start_seq=self._last + 1,
                        filter_subjects=self._subjects,
                    ),
                )
                sent = subscription._sub._jsi
                assert sent is not None, "it is ordered"
                # Without a message yet the library would set up a lost consumer again from the stream's beginning.
                sent._sseq = max(sent._sseq, self._last)
                check = partial(_check_heartbeat, sent)
                sent.check_for_sequence_mismatch = check  # type: ignore[method-assign]  # the library has no setting
                while True:
                    while self._buffer:
                        await self._delay_batch(before, limit)
                        batch = [self._buffer.popleft() for _ in range(min(limit, len(self._buffer)))]
                        self._buffer_bytes -= sum(len(each.data) for each in batch)
                        self._last = batch[-1].sequence
                        self._drained.set()
                        before = len(batch)
                        yield batch
                    self._arrived.clear()
                    await self._arrived.wait()
            except (nats.errors.Error, nats.js.errors.Error, TimeoutError) as error:
                log.warning("stream reader restarts", stream=self._stream, after=self._last, error=str(error))
                self._buffer.clear()
                self._buffer_bytes = 0
                await asyncio.sleep(RESTART_S)
            finally:
                if subscription is not None:
                    with suppress(nats.errors.Error, nats.js.errors.Error, TimeoutError):
                        await subscription.unsubscribe()

    async def _delay_batch(self, before: int, limit: int) -> None:
        delays = 0
        while self._urgent is not None:
            delay_s = batch_delay_s(before, delays, self._buffer, limit, self._urgent, unhurried=self._unhurried)
            if not delay_s:
                break
            await asyncio.sleep(delay_s)
            delays += 1

    async def _add(self, message: Msg) -> None:
        sequence, time = parse_ack_subject(message.reply)
        newest = self._buffer[-1].sequence if self._buffer else self._last
        if sequence <= newest:  # the consumer was set up again and repeats messages
            return
        while len(self._buffer) >= BUFFER or self._buffer_bytes >= BUFFER_BYTES:
            self._drained.clear()
            await self._drained.wait()
        self._buffer_bytes += len(message.data)
        self._buffer.append(StoredMessage(self._stream, sequence, message.subject, message.data, time))
        self._arrived.set()
