"""Reading one aggregate's facts from the log, uncached."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

import nats.errors
import nats.js.errors
from nats.aio.msg import Msg

from contracts.topology import ERRATA, Stream
from contracts.v1 import PREFIX, Envelope, Event, OnceEvent, Undecodable, UnknownEvent, decode
from kit.bus import Bus
from kit.errors import Outage, Reject
from kit.inbox import NoReply
from kit.ordered import StoredMessage
from kit.pages import direct_get, outage_of_status

BATCH = 512
TIMEOUT_S = 5.0


@dataclass(frozen=True)
class StoredFact:
    """One fact and its place in the log."""

    sequence: int
    envelope: Envelope

    @property
    def event(self) -> Event:
        """The fact itself."""
        return self.envelope.event


async def read_history(bus: Bus, key: str, *, stream: Stream = ERRATA) -> list[StoredFact]:
    """All facts of one aggregate that are of known kinds, in the order of the log.

    The server indexes only the newest message of each subject. For all messages of many subjects it would search the
    log to its end, so each subject that may have earlier ones is read by a request of its own.

    Raises: Outage: the log could not be read now. Reject: one of its messages is no fact.
    """
    found, _ = await direct_get(bus, stream.name, {"multi_last": [f"{PREFIX}*.*.{key}"]})
    newest = _decode(found)
    earlier = await asyncio.gather(*(_read_earlier(bus, stream, fact) for fact in newest if not _is_first(fact)))
    return sorted((fact for facts in (newest, *earlier) for fact in facts), key=lambda fact: fact.sequence)


def _is_first(fact: StoredFact) -> bool:
    """Whether this must be the first fact on its subject."""
    return isinstance(fact.event, OnceEvent) and not fact.event.follows


async def _read_earlier(bus: Bus, stream: Stream, newest: StoredFact) -> list[StoredFact]:
    """The facts on the subject of `newest` before it."""
    subject, found, start = newest.event.subject(), list[StoredFact](), 1
    while True:
        question: dict[str, object] = {"batch": BATCH, "seq": start, "next_by_subj": subject}
        messages, pending = await direct_get(bus, stream.name, question)
        found += _decode(message for message in messages if message.sequence < newest.sequence)
        if not pending or not messages or messages[-1].sequence >= newest.sequence:
            return found
        start = messages[-1].sequence + 1


async def read_latest(bus: Bus, *subjects: str, stream: Stream = ERRATA) -> list[StoredFact]:
    """The newest fact on each of the given subjects, in the order of the log.

    One request is sent per subject, as the server indexes the last message of each; its request for many subjects
    searches the log backwards, which is slower the more is in flight.

    Raises: Outage: the log could not be read now. Reject: one of its messages is no fact.
    """
    requests = [(subject, await _request_latest(bus, stream, subject)) for subject in subjects]
    found = [await _parse_latest(subject, reply) for subject, reply in requests]
    return sorted((fact for fact in found if fact is not None), key=lambda fact: fact.sequence)


async def read_latest_from_leader(bus: Bus, *subjects: str, stream: Stream = ERRATA) -> list[StoredFact]:
    """The same as `read_latest` from the stream's leader, which never lags: for callers that act on a missing fact.

    Raises: see `read_latest`.
    """
    found = await asyncio.gather(*(_read_latest_from_leader(bus, stream, subject) for subject in subjects))
    return sorted((fact for fact in found if fact is not None), key=lambda fact: fact.sequence)


async def _read_latest_from_leader(bus: Bus, stream: Stream, subject: str) -> StoredFact | None:
    try:
        message = await bus.jetstream.get_last_msg(stream.name, subject)
        return StoredFact(message.seq or 0, decode(message.subject or subject, message.data or b""))
    except nats.js.errors.NotFoundError:
        return None
    except (nats.errors.Error, TimeoutError) as error:
        raise Outage(1.0, f"the log could not be read: {error}") from error
    except Undecodable as error:
        raise Reject(f"the newest fact on {subject} cannot be read: {error}") from error


async def _request_latest(bus: Bus, stream: Stream, subject: str) -> asyncio.Future[Msg]:
    address, reply = bus.inbox.expect(TIMEOUT_S)
    try:
        await bus.client.publish(f"$JS.API.DIRECT.GET.{stream.name}.{subject}", reply=address)
    except nats.errors.Error as error:
        bus.inbox.discard(address)
        raise Outage(1.0, f"the log could not be read: {error}") from error
    return reply


async def _parse_latest(subject: str, reply: asyncio.Future[Msg]) -> StoredFact | None:
    try:
        message = await reply
    except NoReply as error:
        raise Outage(1.0, f"the log could not be read: {error}") from error
    headers = message.headers or {}
    status = headers.get("Status")
    if status == "404":
        return None
    if status is not None:
        raise outage_of_status(status, headers)
    try:
        return StoredFact(int(headers["Nats-Sequence"]), decode(headers["Nats-Subject"], message.data))
    except Undecodable as error:
        raise Reject(f"the newest fact on {subject} cannot be read: {error}") from error


def _decode(messages: Iterable[StoredMessage]) -> list[StoredFact]:
    """The facts of known kinds: a newer version that runs beside this one may publish others."""
    facts: list[StoredFact] = []
    for message in messages:
        try:
            facts.append(StoredFact(message.sequence, decode(message.subject, message.data)))
        except UnknownEvent:
            continue
        except Undecodable as error:
            raise Reject(f"the history cannot be read: {error}") from error
    return facts
