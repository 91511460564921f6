"""Reading one aggregate's own facts from the log, which is the truth; nothing here is cached."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import nats.errors
import nats.js.errors
from nats.aio.msg import Msg

from contracts.topology import ERRATA, Stream
from contracts.v1 import PREFIX, Envelope, Event, Undecodable, decode
from kit.bus import Bus
from kit.errors import Outage, Reject
from kit.inbox import NoReply
from kit.ordered import Recorded
from kit.pages import direct_get, refused

BATCH = 512
TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Past:
    """One fact as the log holds it."""

    sequence: int
    envelope: Envelope

    @property
    def event(self) -> Event:
        """The fact itself."""
        return self.envelope.event


async def history(bus: Bus, key: str, *, stream: Stream = ERRATA) -> list[Past]:
    """All facts of one aggregate, in the order of the log.

    Raises: Outage: the log could not be read now. Reject: it holds something that is no fact.
    """
    pattern = f"{PREFIX}*.*.{key}"
    found: list[Past] = []
    start = 1
    while True:
        question: dict[str, object] = {"batch": BATCH, "seq": start, "next_by_subj": pattern}
        messages, pending = await direct_get(bus, stream.name, question)
        found.extend(_past(message) for message in messages)
        if not pending or not messages:
            return found
        start = found[-1].sequence + 1


async def latest(bus: Bus, *subjects: str, stream: Stream = ERRATA) -> list[Past]:
    """The newest fact on each of the given subjects, in the order of the log.

    One request a subject: the server keeps the last message of each at hand, while its request for many subjects
    searches the log backwards, which costs more the more is under way.

    Raises: Outage: the log could not be read now. Reject: it holds something that is no fact.
    """
    asked = [(subject, await _ask(bus, stream, subject)) for subject in subjects]
    found = [await _answer(subject, answer) for subject, answer in asked]
    return sorted((past for past in found if past is not None), key=lambda past: past.sequence)


async def standing(bus: Bus, *subjects: str, stream: Stream = ERRATA) -> list[Past]:
    """The same from the stream's leader, which lags behind nothing: for whoever acts on what is not there.

    Raises: see `latest`.
    """
    found: list[Past] = []
    for subject in subjects:
        try:
            message = await bus.jetstream.get_last_msg(stream.name, subject)
            found.append(Past(message.seq or 0, decode(message.subject or subject, message.data or b"")))
        except nats.js.errors.NotFoundError:
            continue
        except (nats.errors.Error, TimeoutError) as error:
            raise Outage(1.0, f"the log could not be read: {error or 'timeout'}") from error
        except Undecodable as error:
            raise Reject(f"the newest fact on {subject} cannot be read: {error}") from error
    return sorted(found, key=lambda past: past.sequence)


async def _ask(bus: Bus, stream: Stream, subject: str) -> asyncio.Future[Msg]:
    address, answer = bus.inbox.expect(TIMEOUT_S)
    try:
        await bus.client.publish(f"$JS.API.DIRECT.GET.{stream.name}.{subject}", reply=address)
    except nats.errors.Error as error:
        bus.inbox.forget(address)
        raise Outage(1.0, f"the log could not be read: {error}") from error
    return answer


async def _answer(subject: str, answer: asyncio.Future[Msg]) -> Past | None:
    try:
        message = await answer
    except NoReply as error:
        raise Outage(1.0, f"the log could not be read: {error}") from error
    headers = message.headers or {}
    status = headers.get("Status")
    if status == "404":
        return None
    if status is not None:
        raise refused(status, headers)
    try:
        return Past(int(headers["Nats-Sequence"]), decode(headers["Nats-Subject"], message.data))
    except Undecodable as error:
        raise Reject(f"the newest fact on {subject} cannot be read: {error}") from error


def _past(message: Recorded) -> Past:
    try:
        return Past(message.sequence, decode(message.subject, message.data))
    except Undecodable as error:
        raise Reject(f"the history cannot be read: {error}") from error
