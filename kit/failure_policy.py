"""The failure policy: what happens to a message that was not handled.

| outcome   | cause                                                     | then                                       |
|-----------|-----------------------------------------------------------|--------------------------------------------|
| `lost`    | the lease expired: another worker has the message         | nothing                                    |
| `stale`   | a later delivery, or another worker's fact, came first    | nothing                                    |
| `refused` | `Reject(dead_letter=False)`                               | terminated, the requester gets the reason  |
| `dead`    | `Reject`, undecodable bytes, or too many failures         | dead letter, failure events, terminated    |
| `outage`  | a server did not answer                                   | redelivered with backoff, nothing counted  |
| `retry`   | `Retry`                                                   | redelivered when the handler asks for it   |
| `error`   | anything else is a bug                                    | counted, redelivered with backoff, or dead |

A delivery that was overtaken is neither acknowledged nor refused: the broker does not distinguish the deliveries of a
message and would apply the acknowledgement to the later one.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import nats.errors
import structlog
from nats.aio.msg import Msg

from contracts.topology import DEAD, Consumer, stream_of
from contracts.v1 import Envelope, Event, Undecodable, decode
from kit.bus import Bus
from kit.circuit import Circuit, StopLimit, pause_failing
from kit.dead_letters import DeadLetter, Origin
from kit.errors import Reject, Retry, Superseded, locate
from kit.failures import Failures
from kit.lease import LeaseLost
from kit.outage import is_outage
from kit.publisher import BusError, Outgoing, PublishConflict

BUG_RETRY_BASE_S = 1.0
BUG_RETRY_MAX_S = 60.0
OUTAGE_RETRY_BASE_S = 1.0
OUTAGE_RETRY_MAX_S = 30.0
MAX_OUTAGE_DELIVERIES = 1_000
"""After this many deliveries (a working day, at the longest delay) an outage counts as the message's own failure."""

log = structlog.get_logger(__name__)

AnyEvent = Any
"""The event that a consumer delivers; the type of `Consumer` does not name its class."""

OnExhausted = Callable[[AnyEvent, str], AsyncIterator[Event]]
"""Takes a fact that can never be handled and the reason; yields the facts that report it."""

Outcome = Literal["ok", "cancelled", "lost", "stale", "refused", "dead", "outage", "retry", "error"]


class AttemptsExhausted(Reject):
    """The message failed as often as its consumer allows."""


@dataclass
class DeliveredMessage:
    """One delivery of a message. `origin` is the place of its fact in the log; `envelope` is None until decoded."""

    consumer: Consumer
    message: Msg
    origin: Origin
    failures: Failures
    reply_to: str | None
    delivery_count: int
    envelope: Envelope | None = None
    log_fields: dict[str, object] = field(init=False)

    def __post_init__(self) -> None:
        self.log_fields = {
            "consumer": self.consumer.name,
            "sequence": self.origin.sequence,
            "delivery_count": self.delivery_count,
        }

    def decode(self) -> Envelope:
        """Decode the fact into `envelope`. Raises: Undecodable."""
        self.envelope = envelope = decode(self.origin.subject, self.message.data)
        self.log_fields["correlation"] = str(envelope.correlation)
        return envelope

    async def require_attempts_left(self) -> None:
        """Count workers that died while handling this message, once it was delivered more often than it may fail.

        Raises: AttemptsExhausted. BusError: the count is unavailable.
        """
        attempts = self.consumer.attempts
        if self.delivery_count > attempts and await self.failures.begin() >= attempts:
            raise AttemptsExhausted(f"gave up after {attempts} attempts")


def classify(error: Exception, delivery_count: int) -> Outcome:
    """The outcome of a delivery that ended with an exception."""
    match error:
        case LeaseLost():
            return "lost"
        case Reject(dead_letter=False):
            return "refused"
        case Reject() | Undecodable():
            return "dead"
        case Superseded() | PublishConflict():
            return "stale"
        case _ if is_outage(error) and delivery_count < MAX_OUTAGE_DELIVERIES:
            return "outage"
        case Retry():
            return "retry"
        case _:
            return "error"


class FailurePolicy:
    """Settles the failed deliveries of one consumer in this process."""

    def __init__(self, bus: Bus, consumer: Consumer, limit: StopLimit, on_exhausted: OnExhausted | None) -> None:
        self._bus = bus
        self._consumer = consumer
        self._limit = limit
        self._on_exhausted = on_exhausted
        self._circuit = Circuit(limit)

    def count_success(self) -> None:
        """Count a message that was handled."""
        self._circuit.count_success(time.monotonic())

    async def settle(self, delivered: DeliveredMessage, error: Exception, outcome: Outcome) -> None:
        """Settle a message as its outcome requires; see the module's table."""
        fields = delivered.log_fields
        match outcome:
            case "lost":
                await delivered.failures.end()
                log.warning("lease lost, leaving the message to another worker", **fields)
            case "stale":
                log.info("another worker has this message, leaving it alone", reason=str(error), **fields)
            case "refused":
                log.info("message refused", reason=str(error), **fields)
                await self._reply(delivered, str(error))
                await delivered.message.term()
            case "dead":
                log.warning("message rejected", reason=str(error), **fields)
                await self._dead_letter(
                    delivered, str(error), is_bug=isinstance(error, Undecodable | AttemptsExhausted)
                )
            case "outage":
                delay_s = outage_delay_s(error, delivered.delivery_count)
                log.warning("a server does not answer as it should", error=str(error), retry_after_s=delay_s, **fields)
                await delivered.failures.end()
                await _nak(delivered.message, delay_s)
            case "retry":
                assert isinstance(error, Retry)
                log.info("will retry", reason=error.reason, after_s=error.after_s, **fields)
                if delivered.delivery_count >= self._consumer.attempts:  # earlier retries cost no write
                    await _count_failure(delivered.failures)
                await _nak(delivered.message, error.after_s)
            case _:
                await self._settle_bug(delivered, error)

    async def _settle_bug(self, delivered: DeliveredMessage, error: Exception) -> None:
        failed = await _count_failure(delivered.failures)
        delay_s = min(BUG_RETRY_MAX_S, BUG_RETRY_BASE_S * 2 ** max(failed - 1, 0))
        confidential = stream_of(self._consumer.event).confidential
        reason = locate(error) if confidential else f"{type(error).__name__}: {error}"
        shown = {"at": reason} if confidential else {"exc_info": error}
        log.error("handler failed", error=type(error).__name__, retry_after_s=delay_s, **shown, **delivered.log_fields)
        if failed >= self._consumer.attempts:
            await self._dead_letter(delivered, reason, is_bug=True)
        else:
            await _nak(delivered.message, delay_s)

    async def _dead_letter(self, delivered: DeliveredMessage, reason: str, *, is_bug: bool) -> None:
        message = delivered.message
        dead_letter = DeadLetter(self._consumer.name, reason, delivered.origin, delivered.delivery_count)
        message_id = f"{self._consumer.name}:{message.metadata.stream}:{message.metadata.sequence.stream}"
        outgoing = Outgoing(self._consumer.dead_letter_subject, message.data, dead_letter.headers(message_id))
        try:
            await self._publish_failure_events(delivered, reason)
            await self._bus.wait_for_receipt(await self._bus.send(outgoing))
        except Exception as error:
            if not (isinstance(error, BusError | Retry) or is_outage(error)):
                raise
            log.error("dead letter not stored, keeping the message", stream=DEAD.name, error=str(error))
            await _nak(message, BUG_RETRY_MAX_S)
            return
        await self._reply(delivered, reason)
        await message.term()
        if is_bug and self._circuit.count_failure(time.monotonic()):
            await pause_failing(self._bus, self._consumer, self._limit)

    async def _publish_failure_events(self, delivered: DeliveredMessage, reason: str) -> None:
        if self._on_exhausted is None:
            return
        try:
            envelope = delivered.envelope or delivered.decode()
        except Undecodable:
            return
        try:
            async for event in self._on_exhausted(envelope.event, reason):
                with suppress(PublishConflict):  # it has meanwhile ended in another way
                    await self._bus.publish(event, correlation=envelope.correlation, cause=envelope.id)
        except Exception as error:
            if isinstance(error, Retry) or is_outage(error):
                raise
            log.error("failure events not published, only a dead letter", at=locate(error), **delivered.log_fields)

    async def _reply(self, delivered: DeliveredMessage, reason: str) -> None:
        if delivered.reply_to is not None:
            await self._bus.reject_request(delivered.reply_to, reason)


def outage_delay_s(error: Exception, delivery_count: int) -> float:
    """Seconds to wait after an outage: the handler's own delay or the default, doubled with each delivery."""
    base_s = error.after_s if isinstance(error, Retry) else OUTAGE_RETRY_BASE_S
    return min(OUTAGE_RETRY_MAX_S, base_s * 2.0 ** min(delivery_count - 1, 10))


async def _count_failure(failures: Failures) -> int:
    """Count a failure; return the new count, or 0 if the broker does not answer."""
    try:
        return await failures.add()
    except BusError:
        return 0


async def _nak(message: Msg, delay_s: float) -> None:
    with suppress(nats.errors.Error):  # without an answer the message is redelivered after its deadline anyway
        await message.nak(delay=delay_s)
