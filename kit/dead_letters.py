"""Dead letters: messages that could not be handled, stored with the reason until an operator decides.

An operator redelivers a dead letter to its consumer alone, through that consumer's subject of `ERRATA_REDELIVERY`:
published as a new fact, the message would reach every consumer and be in the log twice.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import nats.js.errors
import orjson
from nats.aio.msg import Msg

from contracts.topology import CONSUMERS, DEAD, REDELIVERY, Consumer
from kit.bus import Bus
from kit.publisher import Outgoing

STREAM: Final = "Errata-Stream"
SEQUENCE: Final = "Errata-Sequence"
SUBJECT: Final = "Errata-Subject"


class DeadLetterNotFound(Exception):
    """No dead letter has this number, or its consumer no longer exists."""


@dataclass(frozen=True)
class Origin:
    """The place of a fact in the log; a redelivered fact keeps it."""

    stream: str
    sequence: int
    subject: str

    def headers(self, message_id: str) -> dict[str, str]:
        """As message headers."""
        return {
            "Nats-Msg-Id": message_id,
            STREAM: self.stream,
            SEQUENCE: str(self.sequence),
            SUBJECT: self.subject,
        }


@dataclass(frozen=True)
class DeadLetter:
    """Why a message could not be handled; the message itself stays in its stream."""

    consumer: str
    reason: str
    origin: Origin
    delivery_count: int

    def headers(self, message_id: str) -> dict[str, str]:
        """As message headers; the body is the original message's."""
        return {
            "Errata-Consumer": self.consumer,
            "Errata-Reason": " ".join(self.reason.split())[:500],
            "Errata-Delivery-Count": str(self.delivery_count),
            **self.origin.headers(message_id),
        }


@dataclass(frozen=True)
class StoredDeadLetter:
    """A dead letter as stored. Units: `stored_at` in UTC."""

    number: int
    stored_at: datetime
    dead_letter: DeadLetter
    body: bytes


def origin_of(message: Msg) -> Origin:
    """The place in the log of a delivered message, also of a redelivered one."""
    if message.metadata.stream == REDELIVERY.name:
        headers = message.headers or {}
        return Origin(headers[STREAM], int(headers[SEQUENCE]), headers[SUBJECT])
    return Origin(message.metadata.stream, message.metadata.sequence.stream, message.subject)


async def read_all(bus: Bus, consumer: str | None = None) -> AsyncIterator[StoredDeadLetter]:
    """All dead letters, or one consumer's, oldest first."""
    number = 1
    while True:
        try:
            stored = await _read(bus, seq=number, next_by_subj=f"errata.dead.{consumer or '*'}")
        except nats.js.errors.NotFoundError:
            return
        yield stored
        number = stored.number + 1


async def read(bus: Bus, number: int) -> StoredDeadLetter:
    """One dead letter. Raises: DeadLetterNotFound."""
    try:
        return await _read(bus, seq=number)
    except nats.js.errors.NotFoundError:
        raise DeadLetterNotFound(f"there is no dead letter {number}") from None


async def requeue(bus: Bus, stored: StoredDeadLetter) -> None:
    """Redeliver a dead letter to its consumer and delete it; repeating this is harmless.

    Raises: DeadLetterNotFound: this version has no such consumer. BusError: not stored, and the dead letter stays.
    """
    consumer = next((each for each in CONSUMERS if each.name == stored.dead_letter.consumer), None)
    if consumer is None:
        raise DeadLetterNotFound(f"{stored.number}: there is no consumer {stored.dead_letter.consumer} any more")
    await redeliver(bus, consumer, stored.dead_letter.origin, stored.body, f"dead:{stored.number}")
    await delete(bus, stored)


async def redeliver(bus: Bus, consumer: Consumer, origin: Origin, body: bytes, message_id: str) -> None:
    """Deliver a fact to one consumer once more. Raises: BusError."""
    outgoing = Outgoing(consumer.redelivery_subject, body, origin.headers(message_id))
    await bus.wait_for_receipt(await bus.send(outgoing))


async def delete(bus: Bus, stored: StoredDeadLetter) -> None:
    """Delete a dead letter; the fact it is about stays in the log."""
    await bus.jetstream.delete_msg(DEAD.name, stored.number)


async def count_by_consumer(bus: Bus) -> dict[str, int]:
    """The number of dead letters of each consumer."""
    info = await bus.jetstream.stream_info(DEAD.name, subjects_filter=DEAD.subjects[0])
    counts = {subject.removeprefix("errata.dead."): number for subject, number in (info.state.subjects or {}).items()}
    return {consumer.name: 0 for consumer in CONSUMERS} | counts


async def _read(bus: Bus, **request: int | str) -> StoredDeadLetter:
    """Ask the server directly, since the client library drops a message's time."""
    answer = await bus.client.request(f"$JS.API.STREAM.MSG.GET.{DEAD.name}", orjson.dumps(request), timeout=5)
    found = orjson.loads(answer.data)
    if "error" in found:
        raise nats.js.errors.APIError.from_error(found["error"])  # raised as NotFoundError where nothing is found
    message = found["message"]
    headers = _parse_headers(b64decode(message.get("hdrs", "")))
    return StoredDeadLetter(
        number=message["seq"],
        stored_at=datetime.fromisoformat(message["time"]),
        dead_letter=DeadLetter(
            consumer=headers.get("Errata-Consumer", message["subject"].removeprefix("errata.dead.")),
            reason=headers.get("Errata-Reason", ""),
            origin=Origin(headers.get(STREAM, ""), int(headers.get(SEQUENCE, 0)), headers.get(SUBJECT, "")),
            delivery_count=int(headers.get("Errata-Delivery-Count", 0)),
        ),
        body=b64decode(message.get("data", "")),
    )


def _parse_headers(block: bytes) -> dict[str, str]:
    lines = block.decode().split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if line)
    return {name.strip(): value.strip() for name, _, value in pairs}
