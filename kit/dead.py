"""Dead letters: what nobody could handle, kept with its reason until somebody decides.

A letter is handed back to the consumer that gave it up and to nobody else, through that consumer's subject of
`ERRATA_AGAIN`: published anew as a fact it would reach everybody and stand twice in the log, which is the truth.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import nats.js.errors
import orjson
from nats.aio.msg import Msg

from contracts.topology import AGAIN, CONSUMERS, DEAD, Consumer
from kit.bus import Bus, Outgoing

STREAM: Final = "Errata-Stream"
SEQUENCE: Final = "Errata-Sequence"
SUBJECT: Final = "Errata-Subject"


class NoSuchLetter(Exception):
    """No dead letter has this number, or its consumer is no more."""


@dataclass(frozen=True)
class Origin:
    """Where a fact stands in the log, also when it is delivered again."""

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
    """What is kept of a message that nobody can handle; the message itself stays in its stream."""

    consumer: str
    reason: str
    stream: str
    sequence: int
    subject: str
    attempt: int

    def headers(self, message_id: str) -> dict[str, str]:
        """As message headers; the body is the original message's."""
        return {
            "Errata-Consumer": self.consumer,
            "Errata-Reason": " ".join(self.reason.split())[:500],
            "Errata-Attempt": str(self.attempt),
            **Origin(self.stream, self.sequence, self.subject).headers(message_id),
        }


@dataclass(frozen=True)
class Kept:
    """A dead letter as it lies. Units: `at` is when it was written, UTC."""

    number: int
    at: datetime
    letter: DeadLetter
    body: bytes


def origin_of(message: Msg) -> Origin:
    """Which fact a delivered message is."""
    if message.metadata.stream == AGAIN.name:
        headers = message.headers or {}
        return Origin(headers[STREAM], int(headers[SEQUENCE]), headers[SUBJECT])
    return Origin(message.metadata.stream, message.metadata.sequence.stream, message.subject)


async def letters(bus: Bus, consumer: str | None = None) -> AsyncIterator[Kept]:
    """All dead letters, or one consumer's, oldest first."""
    number = 1
    while True:
        try:
            kept = await _read(bus, seq=number, next_by_subj=f"errata.dead.{consumer or '*'}")
        except nats.js.errors.NotFoundError:
            return
        yield kept
        number = kept.number + 1


async def letter(bus: Bus, number: int) -> Kept:
    """One dead letter. Raises: NoSuchLetter."""
    try:
        return await _read(bus, seq=number)
    except nats.js.errors.NotFoundError:
        raise NoSuchLetter(f"there is no dead letter {number}") from None


async def requeue(bus: Bus, kept: Kept) -> None:
    """Give a dead letter to its consumer once more; repeating this is harmless.

    Raises: NoSuchLetter: this version has no such consumer. BusError: not stored, and the letter stays.
    """
    consumer = next((each for each in CONSUMERS if each.name == kept.letter.consumer), None)
    if consumer is None:
        raise NoSuchLetter(f"{kept.number}: there is no consumer {kept.letter.consumer} any more")
    origin = Origin(kept.letter.stream, kept.letter.sequence, kept.letter.subject)
    await again(bus, consumer, origin, kept.body, f"dead:{kept.number}")
    await drop(bus, kept)


async def again(bus: Bus, consumer: Consumer, origin: Origin, body: bytes, message_id: str) -> None:
    """Deliver a fact to one consumer once more. Raises: BusError."""
    outgoing = Outgoing(consumer.again, body, origin.headers(message_id))
    await bus.receipt(await bus.send(outgoing))


async def drop(bus: Bus, kept: Kept) -> None:
    """Remove a dead letter; the fact it is about stays in the log."""
    await bus.jetstream.delete_msg(DEAD.name, kept.number)


async def count(bus: Bus) -> dict[str, int]:
    """How many dead letters lie, by consumer; those without any too."""
    info = await bus.jetstream.stream_info(DEAD.name, subjects_filter=DEAD.subjects[0])
    lying = {subject.removeprefix("errata.dead."): number for subject, number in (info.state.subjects or {}).items()}
    return {consumer.name: 0 for consumer in CONSUMERS} | lying


async def _read(bus: Bus, **request: Any) -> Kept:
    """The client library loses the time of a message, so the server is asked by its own protocol."""
    answer = await bus.client.request(f"$JS.API.STREAM.MSG.GET.{DEAD.name}", orjson.dumps(request), timeout=5)
    found = orjson.loads(answer.data)
    if "error" in found:
        raise nats.js.errors.APIError.from_error(found["error"])  # raised as NotFoundError where nothing is found
    message = found["message"]
    headers = _headers(b64decode(message.get("hdrs", "")))
    return Kept(
        number=message["seq"],
        at=datetime.fromisoformat(message["time"]),
        letter=DeadLetter(
            consumer=headers.get("Errata-Consumer", message["subject"].removeprefix("errata.dead.")),
            reason=headers.get("Errata-Reason", ""),
            stream=headers.get(STREAM, ""),
            sequence=int(headers.get(SEQUENCE, 0)),
            subject=headers.get(SUBJECT, ""),
            attempt=int(headers.get("Errata-Attempt", 0)),
        ),
        body=b64decode(message.get("data", "")),
    )


def _headers(block: bytes) -> dict[str, str]:
    lines = block.decode().split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if line)
    return {name.strip(): value.strip() for name, _, value in pairs}
