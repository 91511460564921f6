"""Requests past the log: a fact is sent directly to the service whose consumer handles it, without being stored.

The facts that the handler yields are stored before the reply, as if the fact had come out of the log. A direct request
succeeds at once or is declined: it has no failure policy. The sender of a declined request stores the fact, and
delivery handles it. Facts have derived ids, so both ways together store them once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Final
from uuid import UUID

import nats.errors
import structlog
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from contracts.topology import Consumer
from contracts.v1 import Event, decode
from kit.bus import Bus, Reply, RequestRejected
from kit.cancelling import cancel_and_wait
from kit.delivery import Handler
from kit.errors import Reject
from kit.inbox import NoReply
from kit.publisher import Outgoing
from kit.telemetry import Telemetry
from kit.tracing import Spans

MAX_CONCURRENCY: Final = 64
"""Requests handled at once by one process; further ones are declined, and so go through the log."""
TIMEOUT_S: Final = 2.0
"""Limit for the handler, and for the sender's wait for the reply."""
REFUSED: Final = b"refused"
"""The first line of a reply that refuses; otherwise that line has the subject and the sequence of the fact on the
second line, or is empty if the request was declined.
Headers would cost three times as much."""
EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_ON: Final = "Nats-Expected-Last-Subject-Sequence-Subject"

log = structlog.get_logger(__name__)


ConflictSubject = Callable[[Event], str | None]
"""The subject that must be empty for a fact to be stored; None if there is none."""


async def request_directly(
    bus: Bus, consumer: Consumer, event: Event, *, correlation: UUID, timeout_s: float = TIMEOUT_S
) -> Reply | None:
    """Send a fact to a consumer's service; return the last fact that its handler stored, None if it was declined.

    Raises: RequestRejected: the fact can never be handled.
    """
    address, future = bus.inbox.expect(timeout_s)
    try:
        body = event.model_dump_json(exclude_none=True).encode()
        await bus.client.publish(f"{consumer.direct_subject}.{correlation}", body, reply=address)
        message = await future
    except (NoReply, nats.errors.Error):
        return None
    finally:
        bus.inbox.discard(address)
    head, _, rest = message.data.partition(b"\n")
    if head == REFUSED:
        raise RequestRejected(rest.decode())
    if not head:
        return None
    try:
        subject, _, sequence = head.decode().partition(" ")
        return Reply(decode(subject, rest), int(sequence))
    except ValueError:  # while a new release is rolled out, either side may be the older
        return None


class DirectResponder:
    """Serves direct requests to one consumer.

    The stream checks a fact's conflict subject when it stores the fact, so the handler need not.
    """

    def __init__(
        self,
        bus: Bus,
        telemetry: Telemetry,
        consumer: Consumer,
        handler: Handler,
        *,
        conflict_subject: ConflictSubject = lambda _: None,
        spans: Spans | None = None,
        max_concurrency: int = MAX_CONCURRENCY,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._bus = bus
        self._telemetry = telemetry
        self._consumer = consumer
        self._handler = handler
        self._conflict_subject = conflict_subject
        self._spans = spans
        self._max_concurrency = max_concurrency
        self._timeout_s = timeout_s
        self._subscription: Subscription | None = None
        self._under_way: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Start serving; each request goes to one of the serving processes."""
        self._subscription = await self._bus.client.subscribe(
            f"{self._consumer.direct_subject}.*", queue=self._consumer.service, cb=self._arrived
        )

    async def stop(self) -> None:
        """Stop serving, and wait a limited time for requests in progress; those that take longer are declined."""
        if self._subscription is not None:
            with suppress(nats.errors.Error):
                await self._subscription.drain()  # type: ignore[no-untyped-call]  # the client has no types here
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=self._bus.drain_s)
            await cancel_and_wait(late)

    async def _arrived(self, message: Msg) -> None:
        if len(self._under_way) >= self._max_concurrency:
            await self._answer(message)
            return
        task = asyncio.create_task(self._take(message))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _take(self, message: Msg) -> None:
        began = time.perf_counter()
        name, correlation = message.subject.rpartition(".")[2], None
        fields = {"consumer": self._consumer.name, "direct": True, "correlation": name}
        outcome = "declined"
        answer: tuple[bytes, ...] = ()
        try:
            correlation = UUID(name)
            async with asyncio.timeout(self._timeout_s):  # the sender waits no longer
                stored = await self._handle(message.data, correlation)
            if stored is not None:
                fact, sequence = stored
                outcome, answer = "ok", (f"{fact.subject} {sequence}".encode(), fact.data)
        except Reject as refusal:
            if not refusal.dead_letter:
                outcome, answer = "refused", (REFUSED, refusal.reason.encode())
        except Exception as error:  # the log delivers it again, under the failure policy
            log.info("declined", error=type(error).__name__, reason=str(error), **fields)
        finally:  # also when it is cancelled
            await self._answer(message, *answer)
            seconds = time.perf_counter() - began
            self._telemetry.observe_delivery(self._consumer.name, outcome, seconds)
            if self._spans is not None and correlation is not None:
                self._spans.record(self._consumer.name, correlation, self._bus.clock.now(), seconds, outcome)
        if outcome == "ok":
            log.info("handled", ms=round(seconds * 1e3, 2), **fields)

    async def _handle(self, body: bytes, correlation: UUID) -> tuple[Outgoing, int] | None:
        """Store the facts that the handler yields, and return the last one."""
        event = self._consumer.event.model_validate_json(body)
        sent = []
        async with aclosing(self._handler(event, 1)) as facts:  # type: ignore[type-var]  # async generators have aclose
            async for fact in facts:
                outgoing, conflict_subject = (
                    self._bus.stamp(fact, correlation=correlation),
                    self._conflict_subject(fact),
                )
                if conflict_subject is not None:
                    outgoing.headers.update({EXPECTED_ON: conflict_subject, EXPECTED: "0"})
                sent.append((outgoing, await self._bus.send(outgoing)))
                self._telemetry.count_published(fact.SUBJECT)
        receipts = [(outgoing, (await self._bus.wait_for_receipt(future)).sequence) for outgoing, future in sent]
        return receipts[-1] if receipts else None

    async def _answer(self, message: Msg, *lines: bytes) -> None:
        """Send the outcome; no lines: declined."""
        with suppress(nats.errors.Error):
            await self._bus.client.publish(message.reply, b"\n".join(lines))
