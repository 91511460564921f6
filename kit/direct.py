"""The short way past the log: a fact handed straight to the service whose consumer handles it.

What the handler tells is stored before it is answered, as if the fact had come out of the log; the fact itself is not
stored. This way succeeds at once or not at all, and has no failure policy: whatever else happens (nobody there, no
place, an error) is declined, and whoever asked stores the fact, so that delivery takes care of it. What both ways tell
has one id, and is told once.
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
from kit.bus import Answer, Bus, Outgoing, Rejected
from kit.cancelling import cancelled
from kit.delivery import Handler
from kit.errors import Reject
from kit.inbox import NoReply
from kit.telemetry import Telemetry
from kit.tracing import Spans

PLACES: Final = 64
"""How many are handled at once by one process; who finds no place goes by the log, where work may wait."""
PATIENCE_S: Final = 2.0
"""How long one waits for an answer, and the other works on it."""
REFUSED: Final = b"refused"
"""The first line of an answer is this, or the subject and the sequence of the fact on the second; empty: declined.
Headers would say the same at three times the price."""
EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_ON: Final = "Nats-Expected-Last-Subject-Sequence-Subject"

log = structlog.get_logger(__name__)


Bar = Callable[[Event], str | None]
"""Names the subject on which nothing may stand where a fact shall be stored; None if nothing can bar it."""


async def hand(
    bus: Bus, consumer: Consumer, event: Event, *, correlation: UUID, timeout_s: float = PATIENCE_S
) -> Answer | None:
    """Hand a fact to a consumer's service; the last fact it told of it, or None if it was not handled.

    Raises: Rejected: it can never be handled, and nobody has to decide about that.
    """
    address, future = bus.inbox.expect(timeout_s)
    try:
        body = event.model_dump_json(exclude_none=True).encode()
        await bus.client.publish(f"{consumer.direct}.{correlation}", body, reply=address)
        message = await future
    except (NoReply, nats.errors.Error):
        return None
    finally:
        bus.inbox.forget(address)
    head, _, rest = message.data.partition(b"\n")
    if head == REFUSED:
        raise Rejected(rest.decode())
    if not head:
        return None
    try:
        subject, _, sequence = head.decode().partition(" ")
        return Answer(decode(subject, rest), int(sequence))
    except ValueError:  # while a new release is rolled out, either side may be the older
        return None


class Direct:
    """Takes what is handed to one consumer.

    The stream looks at the `bar` of a fact when it would store it: the handler need not, and nothing comes between.
    """

    def __init__(
        self,
        bus: Bus,
        telemetry: Telemetry,
        consumer: Consumer,
        handler: Handler,
        *,
        bar: Bar = lambda _: None,
        spans: Spans | None = None,
        places: int = PLACES,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._bus = bus
        self._telemetry = telemetry
        self._consumer = consumer
        self._handler = handler
        self._bar = bar
        self._spans = spans
        self._places = places
        self._patience_s = patience_s
        self._subscription: Subscription | None = None
        self._under_way: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Take facts from now on; each goes to one of the processes that do."""
        self._subscription = await self._bus.client.subscribe(
            f"{self._consumer.direct}.*", queue=self._consumer.service, cb=self._arrived
        )

    async def stop(self) -> None:
        """Take no more, and wait for those under way, but not for ever; what is cut short goes by the log."""
        if self._subscription is not None:
            with suppress(nats.errors.Error):
                await self._subscription.drain()  # type: ignore[no-untyped-call]  # the client has no types here
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=self._bus.drain_s)
            await cancelled(late)

    async def _arrived(self, message: Msg) -> None:
        if len(self._under_way) >= self._places:
            await self._answer(message)
            return
        task = asyncio.create_task(self._take(message))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _take(self, message: Msg) -> None:
        began = time.perf_counter()
        name, correlation = message.subject.rpartition(".")[2], None
        said = {"consumer": self._consumer.name, "direct": True, "correlation": name}
        outcome = "declined"
        answer: tuple[bytes, ...] = ()
        try:
            correlation = UUID(name)
            async with asyncio.timeout(self._patience_s):  # whoever asked is gone then, and the log brings it again
                told = await self._handle(message.data, correlation)
            if told is not None:
                fact, sequence = told
                outcome, answer = "ok", (f"{fact.subject} {sequence}".encode(), fact.data)
        except Reject as refusal:
            if not refusal.letter:
                outcome, answer = "refused", (REFUSED, refusal.reason.encode())
        except Exception as error:  # it comes again by the log, where it is looked at
            log.info("declined", error=type(error).__name__, reason=str(error), **said)
        finally:  # also where it is cut short
            await self._answer(message, *answer)
            seconds = time.perf_counter() - began
            self._telemetry.handled(self._consumer.name, outcome, seconds)
            if self._spans is not None and correlation is not None:
                self._spans.record(self._consumer.name, correlation, self._bus.clock.now(), seconds, outcome)
        if outcome == "ok":
            log.info("handled", ms=round(seconds * 1e3, 2), **said)

    async def _handle(self, body: bytes, correlation: UUID) -> tuple[Outgoing, int] | None:
        """Store what the handler tells; the last of it."""
        event = self._consumer.event.model_validate_json(body)
        sent = []
        async with aclosing(self._handler(event, 1)) as facts:  # type: ignore[type-var]  # async generators have aclose
            async for fact in facts:
                outgoing, barred_by = self._bus.stamp(fact, correlation=correlation), self._bar(fact)
                if barred_by is not None:
                    outgoing.headers.update({EXPECTED_ON: barred_by, EXPECTED: "0"})
                sent.append((outgoing, await self._bus.send(outgoing)))
                self._telemetry.published(fact.SUBJECT)
        receipts = [(outgoing, (await self._bus.receipt(future)).sequence) for outgoing, future in sent]
        return receipts[-1] if receipts else None

    async def _answer(self, message: Msg, *lines: bytes) -> None:
        """Say what became of it; nothing is to decline."""
        with suppress(nats.errors.Error):
            await self._bus.client.publish(message.reply, b"\n".join(lines))
