"""The whole failure policy: what happens between a message's arrival and its acknowledgement.

A message is acknowledged only after every fact its handler yielded is stored. So a crash at any line repeats work and
loses none, and because facts have derived ids, repeated work changes nothing. A message is given up after so many
failures of its own; what a server did to it counts for nothing. A worker that the broker has not heard
from for as long as its deadline stops, because by then another one does the same work; and a delivery that another one
has overtaken is not said a word about, because the broker would take it as said about the other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from typing import Any
from uuid import UUID

import nats.errors
import structlog
from faststream import AckPolicy
from faststream.nats import JStream, PullSub
from faststream.nats.subscriber.usecases import LogicSubscriber
from nats.aio.msg import Msg

from contracts.spent import bought
from contracts.topology import AGAIN, DEAD, Consumer, stream_of
from contracts.v1 import Envelope, Event, OnceEvent, Undecodable, decode
from contracts.v1.parts import TextRef
from kit.blobs import BlobsUnavailable
from kit.bus import REPLY_TO, AlreadyThere, Bus, BusError, Outgoing, Receipt, Refused
from kit.circuit import Circuit, StopLimit, stop
from kit.dead import DeadLetter, Origin, origin_of
from kit.errors import Reject, Retry, Superseded
from kit.failures import Failures
from kit.in_hand import InHand
from kit.lease import Lease, LeaseLost
from kit.outage import is_outage
from kit.slots import Slot, end
from kit.telemetry import Telemetry
from kit.tracing import Spans

BUG_RETRY_BASE_S = 1.0
BUG_RETRY_MAX_S = 60.0
OUTAGE_RETRY_BASE_S = 1.0
OUTAGE_RETRY_MAX_S = 30.0
CONTESTED = 0
OUTAGES = 1_000
"""A message that was delivered so often is suspected of the outages it met; a working day, at the longest delay."""

log = structlog.get_logger(__name__)


Handler = Callable[[Any, int], AsyncIterator[Event]]
"""Takes the fact that its consumer delivers and the number of this delivery (from 1); yields the facts that follow.

Where another worker's fact stands in the way of one of these, it is asked once more, with the number 0: that worker has
this delivery too, so what it has begun is its own. A broker that crashes forgets its last deliveries and repeats them.
"""

GivenUp = Callable[[Any, str], AsyncIterator[Event]]
"""Takes a fact that can never be handled and the reason; yields what the rest of the system must know about it."""

Keep = Callable[[TextRef], Awaitable[None]]
"""Puts what a model was paid for where the next worker finds it. Raises: BlobsUnavailable."""


class Delivery:
    """Feeds messages to handlers and their facts to the log.

    `ack_wait_s` replaces the consumers' own; it must be what the topology was applied with. `limit` is when a consumer
    that gives up too much pauses. `keep` is for answers of a model whose fact no stream takes.
    """

    def __init__(
        self,
        bus: Bus,
        telemetry: Telemetry,
        *,
        ack_wait_s: float | None = None,
        limit: StopLimit | None = None,
        spans: Spans | None = None,
        keep: Keep | None = None,
    ) -> None:
        self._bus = bus
        self._telemetry = telemetry
        self._ack_wait_s = ack_wait_s
        self._limit = limit or StopLimit()
        self._spans = spans
        self._keep = keep
        self._circuits: dict[str, Circuit] = {}
        self._slots: list[Slot] = []
        self._in_hand: dict[str, InHand] = {}

    def subscribe(
        self, consumer: Consumer, handler: Handler, *, slots: int | None = None, given_up: GivenUp | None = None
    ) -> None:
        """Handle a consumer's messages, `slots` at a time; call before `start`.

        `given_up` is told of each message that becomes a dead letter, so that nobody waits for its outcome for ever.
        What an operator delivers again to this consumer alone is handled beside its facts, one at a time.
        """
        self._circuits[consumer.name] = Circuit(self._limit)
        if consumer.costly:
            self._in_hand[consumer.name] = InHand(self._bus, consumer)
        work = partial(self._deliver, consumer, handler, given_up)
        stream = stream_of(consumer.event).name
        for _ in range(slots or consumer.slots):
            self._slots.append(Slot(consumer.name, self._subscriber(consumer.filter, stream, consumer.name), work))
        self._slots.append(Slot(consumer.name, self._subscriber(consumer.again, AGAIN.name, consumer.name), work))

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
        """Begin to take messages."""
        await self._bus.broker.start()
        for each in self._in_hand.values():
            await each.open()
        self._bus.before_closing(self.stop)
        for slot in self._slots:
            slot.start()

    async def stop(self) -> None:
        """Take no more messages, and wait for those being handled."""
        await end(self._slots, self._bus.drain_s)

    async def _deliver(self, consumer: Consumer, handler: Handler, given_up: GivenUp | None, message: Msg) -> None:
        attempt = message.metadata.num_delivered
        origin = origin_of(message)
        reply_to = (message.headers or {}).get(REPLY_TO)
        began = time.perf_counter()
        outcome = "ok"
        correlation: UUID | None = None
        last: tuple[Outgoing, int] | None = None
        said = {"consumer": consumer.name, "sequence": origin.sequence, "attempt": attempt}
        lease = Lease(self._bus, message, self._ack_wait_s or consumer.ack_wait_s)
        failures = Failures(self._bus, consumer, message)
        given_up_for = ""
        try:
            if attempt > consumer.attempts and await failures.begin() >= consumer.attempts:
                given_up_for = f"gave up after {consumer.attempts} attempts"
                raise Reject(given_up_for)
            envelope = decode(origin.subject, message.data)
            correlation = envelope.correlation
            said["correlation"] = str(correlation)
            async with lease, self._alone(consumer, origin, attempt):
                try:
                    last = await self._run(handler, envelope, attempt, reply_to)
                except AlreadyThere:
                    log.info("another worker was faster, looking again", **said)
                    last = await self._run(handler, envelope, CONTESTED, reply_to)
                if consumer.answers and reply_to is not None and last is not None:
                    await self._bus.answer(reply_to, *last)
                await message.ack()
        except LeaseLost:
            outcome = "lost"
            await failures.end()
            log.warning("the broker has not heard from this worker, leaving the work to another", **said)
        except (Reject, Undecodable) as error:
            if isinstance(error, Reject) and not error.letter:
                outcome = "refused"
                log.info("message refused", reason=str(error), **said)
                if reply_to is not None:
                    await self._bus.refuse(reply_to, str(error))
                await message.term()
                return
            outcome = "dead"
            log.warning("message rejected", reason=str(error), **said)
            bug = isinstance(error, Undecodable) or bool(given_up_for)
            await self._bury(consumer, given_up, message, origin, str(error), attempt, reply_to, bug=bug)
        except (Superseded, AlreadyThere) as error:
            outcome = "stale"
            log.info("another worker has this, leaving it alone", reason=str(error), **said)
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        except Exception as error:
            if is_outage(error) and attempt < OUTAGES:
                outcome = "outage"
                delay_s = outage_delay_s(error, attempt)
                log.warning("a server does not answer as it should", error=str(error), retry_after_s=delay_s, **said)
                await failures.end()
                await _nak(message, delay_s)
            elif isinstance(error, Retry):
                outcome = "retry"
                log.info("will retry", reason=error.reason, after_s=error.after_s, **said)
                if attempt >= consumer.attempts:  # until then it is asked for on purpose, and costs no write
                    await _count(failures)
                await _nak(message, error.after_s)
            else:
                outcome = "error"
                failed = await _count(failures)
                delay_s = min(BUG_RETRY_MAX_S, BUG_RETRY_BASE_S * 2 ** max(failed - 1, 0))
                log.exception("handler failed", error=type(error).__name__, retry_after_s=delay_s, **said)
                if failed >= consumer.attempts:
                    reason = f"{type(error).__name__}: {error}"
                    await self._bury(consumer, given_up, message, origin, reason, attempt, reply_to, bug=True)
                else:
                    await _nak(message, delay_s)
        finally:
            lease.let_go()
            seconds = time.perf_counter() - began
            self._telemetry.handled(consumer.name, outcome, seconds)
            if self._spans is not None and correlation is not None:
                now = self._bus.clock.now()
                self._spans.record(
                    consumer.name, correlation, now, seconds, outcome, sequence=origin.sequence, attempt=attempt
                )
        if outcome == "ok":
            self._circuits[consumer.name].done(time.monotonic())
            # What was another's to do, or done before, is of interest to nobody.
            tell = log.debug if last is None else log.info
            tell("handled", ms=round((time.perf_counter() - began) * 1e3, 2), **said)

    @asynccontextmanager
    async def _alone(self, consumer: Consumer, origin: Origin, attempt: int) -> AsyncIterator[None]:
        """Work on a message that costs money, unless somebody is at it. Raises: Superseded."""
        in_hand = self._in_hand.get(consumer.name)
        if in_hand is None:
            yield
            return
        if await in_hand.held(origin, elsewhere=attempt > 1):
            raise Superseded("the worker that had it is alive")
        with in_hand.holding(origin):
            yield

    async def _run(
        self, handler: Handler, envelope: Envelope, attempt: int, reply_to: str | None
    ) -> tuple[Outgoing, int] | None:
        """Run the handler, store what it yields, and return the last fact with its sequence.

        Whatever a handler yielded before it gave up has happened and is stored. It goes on beside the storing, but for
        facts that must be first and those that cost money: no answer is bought before the last one is safe.
        """
        under_way: list[tuple[Outgoing, asyncio.Future[Msg] | None]] = []
        last: tuple[Outgoing, int] | None = None
        try:
            async with aclosing(handler(envelope.event, attempt)) as events:  # type: ignore[type-var]  # async generators have aclose
                async for event in events:
                    outgoing = self._bus.stamp(
                        event, correlation=envelope.correlation, cause=envelope.id, reply_to=reply_to
                    )
                    self._telemetry.published(event.SUBJECT)
                    answer = bought(event)
                    if answer is not None:
                        last = outgoing, (await self._paid(outgoing, answer)).sequence
                    elif isinstance(event, OnceEvent):
                        last = outgoing, (await self._bus.confirmed(outgoing)).sequence
                    else:
                        under_way.append((outgoing, await self._begun(outgoing)))
        finally:
            for outgoing, future in under_way:
                last = outgoing, (await self._bus.confirmed(outgoing, future)).sequence
        return last

    async def _begun(self, outgoing: Outgoing) -> asyncio.Future[Msg] | None:
        """Send a fact; None if the broker does not hear us now: what the handler has in hand may have cost money."""
        try:
            return await self._bus.send(outgoing)
        except Refused:
            raise
        except BusError:
            return None

    async def _paid(self, outgoing: Outgoing, answer: TextRef) -> Receipt:
        """Store a fact that names a model's answer; the answer is kept where the fact cannot be."""
        try:
            return await self._bus.confirmed(outgoing)
        except AlreadyThere:
            raise
        except (Exception, asyncio.CancelledError):
            if self._keep is not None:
                try:
                    await self._keep(answer)
                except BlobsUnavailable as error:
                    log.error("an answer that was paid for is kept nowhere", fact=outgoing.subject, error=str(error))
            raise

    async def _bury(
        self,
        consumer: Consumer,
        given_up: GivenUp | None,
        message: Msg,
        origin: Origin,
        reason: str,
        attempt: int,
        reply_to: str | None,
        *,
        bug: bool,
    ) -> None:
        metadata = message.metadata
        letter = DeadLetter(consumer.name, reason, origin.stream, origin.sequence, origin.subject, attempt)
        message_id = f"{consumer.name}:{metadata.stream}:{metadata.sequence.stream}"
        outgoing = Outgoing(consumer.dead, message.data, letter.headers(message_id))
        try:
            if given_up is not None:
                await self._tell(given_up, message, origin, reason)
            await self._bus.receipt(await self._bus.send(outgoing))
        except (BusError, Retry) as error:
            log.error("dead letter not stored, keeping the message", stream=DEAD.name, error=str(error))
            await _nak(message, BUG_RETRY_MAX_S)
            return
        if reply_to is not None:
            await self._bus.refuse(reply_to, reason)
        await message.term()
        if bug and self._circuits[consumer.name].given_up(time.monotonic()):
            await stop(self._bus, consumer, self._limit)

    async def _tell(self, given_up: GivenUp, message: Msg, origin: Origin, reason: str) -> None:
        try:
            envelope = decode(origin.subject, message.data)
        except Undecodable:
            return
        async for event in given_up(envelope.event, reason):
            with suppress(AlreadyThere):  # it has ended in another way meanwhile
                await self._bus.publish(event, correlation=envelope.correlation, cause=envelope.id)


def outage_delay_s(error: Exception, delivery: int) -> float:
    """How long to wait for a server that did not answer: from what the handler asked for, twice as long each time."""
    base_s = error.after_s if isinstance(error, Retry) else OUTAGE_RETRY_BASE_S
    return min(OUTAGE_RETRY_MAX_S, base_s * 2.0 ** min(delivery - 1, 10))


async def _count(failures: Failures) -> int:
    """Count a failure; how many there are, 0 if that cannot be known now."""
    try:
        return await failures.add()
    except BusError:
        return 0


async def _nak(message: Msg, delay_s: float) -> None:
    with suppress(nats.errors.Error):  # without an answer the message comes back after its deadline anyway
        await message.nak(delay=delay_s)
