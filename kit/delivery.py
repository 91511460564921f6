"""Delivering messages to handlers: everything between a message's arrival and its acknowledgement.

A message is acknowledged only after every fact its handler yielded is stored. So a crash at any line repeats work and
loses none, and because facts have derived ids, repeated work changes nothing. A worker stops when the broker has not
confirmed a heartbeat within the deadline, because by then another worker may have the message. `failure_policy` decides
what happens to a message that was not handled.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial

import structlog
from faststream import AckPolicy
from faststream.nats import JStream, PullSub
from faststream.nats.subscriber.usecases import LogicSubscriber
from nats.aio.msg import Msg

from contracts.spent import find_purchased_output, must_be_stored_first
from contracts.topology import REDELIVERY, Consumer, stream_of
from contracts.v1 import Envelope, Event
from contracts.v1.parts import TextRef
from kit.blobs import BlobsUnavailable
from kit.bus import Bus
from kit.circuit import StopLimit
from kit.dead_letters import origin_of
from kit.errors import Superseded
from kit.failure_policy import AnyEvent, DeliveredMessage, FailurePolicy, OnExhausted, Outcome, classify
from kit.failures import Failures
from kit.in_progress import InProgress
from kit.lease import Lease
from kit.publisher import REPLY_TO, BusError, Outgoing, PublishConflict, PublishRefused, Receipt
from kit.slots import Slot, stop_slots
from kit.telemetry import Telemetry
from kit.tracing import Spans

AFTER_CONFLICT = 0

log = structlog.get_logger(__name__)


Handler = Callable[[AnyEvent, int], AsyncIterator[Event]]
"""Takes a fact of its consumer and the delivery count (from 1), and yields the facts that follow.

If another worker's fact conflicts with one of them, the handler is called once more with `AFTER_CONFLICT`: that worker
has the same delivery, so an attempt it began is its own. A broker that crashed repeats its last deliveries.
"""

StoreAnswer = Callable[[TextRef], Awaitable[None]]
"""Stores a paid answer of a model where the next worker finds it. Raises: BlobsUnavailable."""

Published = tuple[Outgoing, int]
"""A fact and the sequence it is stored under."""


class Delivery:
    """Feeds messages to handlers and their facts to the log.

    `ack_wait_s` overrides the consumers' own, and must be the one that the topology was applied with. `limit` is when a
    failing consumer pauses. `store_answer` stores answers of a model whose fact could not be stored.
    """

    def __init__(
        self,
        bus: Bus,
        telemetry: Telemetry,
        *,
        ack_wait_s: float | None = None,
        limit: StopLimit | None = None,
        spans: Spans | None = None,
        store_answer: StoreAnswer | None = None,
    ) -> None:
        self._bus = bus
        self._telemetry = telemetry
        self._ack_wait_s = ack_wait_s
        self._limit = limit or StopLimit()
        self._spans = spans
        self._store_answer = store_answer
        self._slots: list[Slot] = []
        self._in_progress: dict[str, InProgress] = {}

    def subscribe(
        self, consumer: Consumer, handler: Handler, *, slots: int | None = None, on_exhausted: OnExhausted | None = None
    ) -> None:
        """Handle a consumer's messages, `slots` at a time; call before `start`.

        `on_exhausted` is called with each message that becomes a dead letter, so that nothing waits for its result
        indefinitely. What an operator redelivers to this consumer is handled beside its facts, one at a time.
        """
        policy = FailurePolicy(self._bus, consumer, self._limit, on_exhausted)
        if consumer.costly:
            self._in_progress[consumer.name] = InProgress(self._bus, consumer)
        work = partial(self._deliver, consumer, handler, policy)
        stream = stream_of(consumer.event).name
        for _ in range(slots or consumer.slots):
            self._slots.append(Slot(consumer.name, self._subscriber(consumer.filter, stream, consumer.name), work))
        self._slots.append(
            Slot(consumer.name, self._subscriber(consumer.redelivery_subject, REDELIVERY.name, consumer.name), work)
        )

    def _subscriber(self, subjects: str, stream: str, durable: str) -> LogicSubscriber[Msg]:
        return self._bus.broker.subscriber(
            subjects,
            stream=JStream(stream, declare=False),
            durable=durable,
            ack_policy=AckPolicy.MANUAL,
            pull_sub=PullSub(batch_size=1),
            inbox_prefix=f"{self._bus.inbox_prefix}.".encode(),
        )

    async def start(self) -> None:
        """Begin to fetch messages."""
        await self._bus.broker.start()
        for each in self._in_progress.values():
            await each.open()
        self._bus.on_close(self.stop)
        for slot in self._slots:
            slot.start()

    async def stop(self) -> None:
        """Fetch no more messages, and wait for those being handled."""
        await stop_slots(self._slots, self._bus.drain_s)

    async def _deliver(self, consumer: Consumer, handler: Handler, policy: FailurePolicy, message: Msg) -> None:
        began = time.perf_counter()
        delivered = DeliveredMessage(
            consumer,
            message,
            origin_of(message),
            Failures(self._bus, consumer, message),
            reply_to=(message.headers or {}).get(REPLY_TO),
            delivery_count=message.metadata.num_delivered,
        )
        lease = Lease(self._bus, message, self._ack_wait_s or consumer.ack_wait_s)
        outcome: Outcome = "ok"
        last: Published | None = None
        try:
            last = await self._handle(handler, delivered, lease)
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        except Exception as error:
            outcome = classify(error, delivered.delivery_count)
            await policy.settle(delivered, error, outcome)
        finally:
            lease.release()
            seconds = time.perf_counter() - began
            self._telemetry.observe_delivery(consumer.name, outcome, seconds)
            if self._spans is not None and delivered.envelope is not None:
                self._spans.record(
                    consumer.name,
                    delivered.envelope.correlation,
                    self._bus.clock.now(),
                    seconds,
                    outcome,
                    sequence=delivered.origin.sequence,
                    delivery_count=delivered.delivery_count,
                )
        if outcome == "ok":
            policy.count_success()
            write = log.debug if last is None else log.info  # a message without a result is of little interest
            write("handled", ms=round((time.perf_counter() - began) * 1e3, 2), **delivered.log_fields)

    async def _handle(self, handler: Handler, delivered: DeliveredMessage, lease: Lease) -> Published | None:
        """Handle a message, reply and acknowledge; return the last fact that was stored."""
        await delivered.require_attempts_left()
        envelope = delivered.decode()
        async with lease, self._claim(delivered):
            try:
                last = await self._run_handler(handler, envelope, delivered.delivery_count, delivered.reply_to)
            except PublishConflict:
                log.info("another worker was faster, looking again", **delivered.log_fields)
                last = await self._run_handler(handler, envelope, AFTER_CONFLICT, delivered.reply_to)
            if delivered.consumer.answers and delivered.reply_to is not None and last is not None:
                await self._bus.send_reply(delivered.reply_to, *last)
            await delivered.message.ack()
        return last

    @asynccontextmanager
    async def _claim(self, delivered: DeliveredMessage) -> AsyncIterator[None]:
        """Claim a message whose handling costs money. Raises: Superseded: another worker has the message."""
        in_progress = self._in_progress.get(delivered.consumer.name)
        if in_progress is None:
            yield
            return
        if await in_progress.is_claimed(delivered.origin, elsewhere=delivered.delivery_count > 1):
            raise Superseded("the worker that had it is alive")
        with in_progress.claim(delivered.origin):
            yield

    async def _run_handler(
        self, handler: Handler, envelope: Envelope, delivery_count: int, reply_to: str | None
    ) -> Published | None:
        """Run the handler, store what it yields, and return the last fact with its sequence.

        Facts that a handler yielded before it failed are stored too. The handler continues while facts are being
        stored, except after once-events and facts that cost money: no answer is bought before the last one is safe.
        """
        in_flight: list[tuple[Outgoing, asyncio.Future[Msg] | None]] = []
        last: Published | None = None
        try:
            async with aclosing(handler(envelope.event, delivery_count)) as events:  # type: ignore[type-var]  # async generators have aclose
                async for event in events:
                    outgoing = self._bus.stamp(
                        event, correlation=envelope.correlation, cause=envelope.id, reply_to=reply_to
                    )
                    self._telemetry.count_published(event.SUBJECT)
                    answer = find_purchased_output(event)
                    if answer is not None:
                        last = outgoing, (await self._store_paid(outgoing, answer)).sequence
                    elif must_be_stored_first(event):
                        last = outgoing, (await self._bus.ensure_stored(outgoing)).sequence
                    else:
                        in_flight.append((outgoing, await self._try_send(outgoing)))
        finally:
            for outgoing, future in in_flight:
                last = outgoing, (await self._bus.ensure_stored(outgoing, future)).sequence
        return last

    async def _try_send(self, outgoing: Outgoing) -> asyncio.Future[Msg] | None:
        """Send a fact; None if the broker is away: the handler goes on, since its work may have cost money."""
        try:
            return await self._bus.send(outgoing)
        except PublishRefused:
            raise
        except BusError:
            return None

    async def _store_paid(self, outgoing: Outgoing, answer: TextRef) -> Receipt:
        """Store a fact that names a model's answer; if that fails, store at least the answer."""
        try:
            return await self._bus.ensure_stored(outgoing)
        except PublishConflict:
            raise
        except (Exception, asyncio.CancelledError):
            if self._store_answer is not None:
                try:
                    await self._store_answer(answer)
                except BlobsUnavailable as error:
                    log.error("an answer that was paid for is lost", fact=outgoing.subject, error=str(error))
            raise
