"""Publishing facts: a fact is published when the stream has confirmed that it is stored, not before.

Receipts are awaited through one reply inbox of our own, so many facts can be under way at once; the client library's
asynchronous publish never resolves when the server refuses.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import nats.errors
import orjson
import structlog
from faststream.nats import NatsBroker
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.client import JetStreamContext

from contracts.access import POSITION
from contracts.cloudevents import cloud_headers
from contracts.topology import Stream, stream_of
from contracts.v1 import Envelope, Event, OnceEvent, decode, written
from kit.cancelling import cancelled
from kit.clock import Clock, SystemClock
from kit.health import WriteCheck
from kit.inbox import Inbox, NoReply
from kit.link import Link
from kit.servers import listed, shown
from kit.settings import SettingsError

REPLY_TO = "Errata-Reply-To"
SUBJECT = "Errata-Subject"
SEQUENCE = "Errata-Sequence"
REJECTED = "Errata-Rejected"

FIRST_ANSWER_S = 10.0
INBOX = "_INBOX"
CONNECT_TIMEOUT_S = 2
DRAIN_S = 25.0
RECEIPT_TIMEOUT_S = 5.0
PUBLISH_WITHIN_S = 15.0
"""A cluster that lost the leader of a stream has another one within ten seconds, mostly within five."""
PUBLISH_AGAIN_S = 0.25
WRONG_LAST_SEQUENCE = 10071
NO_SUITABLE_PEERS = 10005
CONFLICT = 409

log = structlog.get_logger(__name__)


class BusError(Exception):
    """The broker did not confirm; the fact may or may not be stored, and publishing it again is harmless."""


class AlreadyThere(BusError):
    """Somebody else's fact stands where this once-event wanted to stand."""


class Refused(BusError):
    """The broker will never take this fact; publishing it again is useless."""


class NoAnswer(BusError):
    """No service answered in time."""


class Rejected(BusError):
    """A service refused the request for good."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Receipt:
    """Where a fact is stored; `duplicate` if the stream knew it already."""

    sequence: int
    duplicate: bool = False


@dataclass(frozen=True)
class Answer:
    """The fact that answers a request, and the sequence it is stored under."""

    envelope: Envelope
    sequence: int


@dataclass(frozen=True)
class Outgoing:
    """A fact ready for the wire."""

    subject: str
    data: bytes
    headers: dict[str, str]


class Bus:
    """One connection to the broker, shared by everything in this process.

    Units: `drain_s` is how long whoever works on messages may take to end when the process does.
    """

    def __init__(
        self,
        broker: NatsBroker,
        client: Client,
        clock: Clock,
        *,
        drain_s: float = DRAIN_S,
        inbox_prefix: str = INBOX,
    ) -> None:
        self.broker = broker
        self.drain_s = drain_s
        self.inbox_prefix = inbox_prefix
        self.client = client
        self.jetstream: JetStreamContext = client.jetstream(timeout=RECEIPT_TIMEOUT_S)
        self.clock = clock
        self.inbox = Inbox(client)
        self.link = Link(client, self.inbox)
        self.writes = WriteCheck(client, self.inbox, self.link)
        self._watching: asyncio.Task[None] | None = None
        self._streams: dict[type[Event], Stream] = {}
        self._closers: list[Callable[[], Awaitable[None]]] = []

    async def open(self) -> None:
        """Start listening for receipts and answers, and watching the connection."""
        await self.inbox.open()
        self._watching = asyncio.create_task(self.link.watch(), name="broker link")

    def stamp(
        self, event: Event, *, correlation: UUID, cause: UUID | None = None, reply_to: str | None = None
    ) -> Outgoing:
        """Give a fact its envelope, id and headers."""
        event_id = event.event_id()
        stream = self._streams.get(type(event))
        if stream is None:
            stream = self._streams[type(event)] = stream_of(type(event))
        moment, name, subject = self.clock.now(), str(event_id), event.subject()
        headers = cloud_headers(event, subject, name, moment)
        headers["Nats-Msg-Id"] = name
        headers["Nats-Expected-Stream"] = stream.name
        if isinstance(event, OnceEvent):
            headers["Nats-Expected-Last-Subject-Sequence"] = str(event.follows)
        if reply_to is not None:
            headers[REPLY_TO] = reply_to
        data = written(event, event_id, moment, correlation, cause, self.clock.new_salt())
        return Outgoing(subject, data, headers)

    async def send(self, outgoing: Outgoing) -> asyncio.Future[Msg]:
        """Put a fact on the wire and return the future of its receipt; see `receipt`."""
        if not self.link.reachable:
            raise BusError(f"{outgoing.subject} could not be sent: the broker does not answer")
        address, future = self.inbox.expect(RECEIPT_TIMEOUT_S)
        try:
            await self.client.publish(outgoing.subject, outgoing.data, reply=address, headers=outgoing.headers)
        except nats.errors.Error as error:
            self.inbox.forget(address)
            kind = Refused if isinstance(error, nats.errors.MaxPayloadError) else BusError
            raise kind(f"{outgoing.subject} could not be sent: {error}") from error
        return future

    async def receipt(self, future: asyncio.Future[Msg]) -> Receipt:
        """Wait until the stream confirms.

        Raises: AlreadyThere: a once-event came too late. Refused: it can never be stored. BusError: not now, or no
        confirmation in time.
        """
        try:
            message = await future
        except NoReply as error:
            raise BusError(f"the stream did not confirm: {error}") from None
        if (message.headers or {}).get("Status") == "503":
            raise BusError("no stream takes this subject; run `openerrata topology apply`")
        answer = orjson.loads(message.data)
        if "error" in answer:
            description = answer["error"].get("description", "refused")
            if answer["error"].get("err_code") == WRONG_LAST_SEQUENCE:
                raise AlreadyThere(description)
            raise _refusal(answer["error"])(description)
        return Receipt(answer["seq"], bool(answer.get("duplicate")))

    async def publish(
        self, event: Event, *, correlation: UUID, cause: UUID | None = None, reply_to: str | None = None
    ) -> Receipt:
        """Store one fact. Raises: AlreadyThere, Refused, BusError: see `confirmed`."""
        return await self.confirmed(self.stamp(event, correlation=correlation, cause=cause, reply_to=reply_to))

    async def confirmed(self, outgoing: Outgoing, sent: asyncio.Future[Msg] | None = None) -> Receipt:
        """Wait until a fact is stored; what is not confirmed is sent again while a cluster may be choosing a leader.

        The fact's id makes that harmless. `sent` is what `send` returned for it, if it was sent before.

        Raises: AlreadyThere, Refused, BusError: see `receipt`.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + PUBLISH_WITHIN_S
        while True:
            try:
                return await self.receipt(sent or await self.send(outgoing))
            except (AlreadyThere, Refused):
                raise
            except BusError:
                alone = len(self.client.server_pool) == 1  # else the next node answers within seconds
                if (alone and not self.link.reachable) or loop.time() + PUBLISH_AGAIN_S >= until:
                    raise
            sent = None
            await asyncio.sleep(PUBLISH_AGAIN_S)

    async def request(self, event: Event, *, correlation: UUID, timeout_s: float) -> Answer:
        """Store a fact and wait for the fact that answers it.

        Raises: Rejected: a service refused it for good. NoAnswer: nobody answered in time. BusError: see `publish`.
        """
        address, future = self.inbox.expect(timeout_s, outlives_connection=True)
        try:
            await self.publish(event, correlation=correlation, reply_to=address)
            message = await future
        except NoReply:
            raise NoAnswer(f"no answer within {timeout_s:g} s") from None
        finally:
            self.inbox.forget(address)
        headers = message.headers or {}
        if REJECTED in headers:
            raise Rejected(headers[REJECTED])
        return Answer(decode(headers[SUBJECT], message.data), int(headers[SEQUENCE]))

    async def answer(self, reply_to: str, outgoing: Outgoing, sequence: int) -> None:
        """Tell whoever waits at `reply_to` which fact came of the request."""
        headers = {SUBJECT: outgoing.subject, SEQUENCE: str(sequence)}
        await self.client.publish(reply_to, outgoing.data, headers=headers)

    async def refuse(self, reply_to: str, reason: str) -> None:
        """Tell whoever waits at `reply_to` that the request can never succeed."""
        await self.client.publish(reply_to, b"", headers={REJECTED: " ".join(reason.split())[:500]})

    async def announce_position(self, stream: str, sequence: int) -> None:
        """Tell everybody how far the read model is; only a hint, it may get lost."""
        await self.client.publish(position_subject(stream), str(sequence).encode())

    def before_closing(self, stop: Callable[[], Awaitable[None]]) -> None:
        """Call this while the connection still stands, last registered first."""
        self._closers.append(stop)

    async def close(self) -> None:
        """End what uses the connection, flush what is under way and close."""
        for stop in reversed(self._closers):
            await stop()
        with suppress(nats.errors.Error, TimeoutError):
            await self.client.flush(timeout=2)
        if self._watching is not None:
            await cancelled([self._watching])
        self.link.close()
        with suppress(nats.errors.Error, OSError):  # the broker may be gone; whatever was not confirmed comes back
            await self.broker.stop()


def _refusal(error: dict[str, Any]) -> type[BusError]:
    """What a stream's answer means: servers in trouble answer 5xx, that too few of them are there, or that the same
    message is on its way already.
    """
    passes = error.get("code", 503) >= CONFLICT or error.get("err_code") == NO_SUITABLE_PEERS
    return BusError if passes else Refused


def position_subject(stream: str) -> str:
    """The core subject on which the projector announces its position in a stream."""
    return f"{POSITION}.{stream}"


@asynccontextmanager
async def connect(
    url: str,
    *,
    name: str,
    clock: Clock | None = None,
    drain_s: float = DRAIN_S,
    first_answer_s: float = FIRST_ANSWER_S,
    inbox: str = INBOX,
) -> AsyncIterator[Bus]:
    """Connect to the broker for as long as the context lasts; of several addresses after commas, to any that answers.

    A broker that was there is waited for without an end; one that never was is more likely a wrong address. `inbox` is
    how the subjects begin under which answers come.

    Raises: SettingsError: no broker answers there within `first_answer_s`, or it does not let us in.
    """
    servers = listed(url)
    where = shown(servers)
    last: Exception | None = None
    options: dict[str, Any] = {
        "apply_types": False,
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": 0.25,
        "connect_timeout": CONNECT_TIMEOUT_S,
        "name": name,
        "logger": None,
        "pending_size": 64 * 1024 * 1024,
        "allow_reconnect": True,
        "inbox_prefix": inbox,
    }
    bus: Bus | None = None

    async def disconnected() -> None:
        if bus is not None:
            bus.inbox.connection_lost()
            bus.link.connection_lost()

    async def failed(error: Exception) -> None:
        nonlocal last
        if bus is None and last is None:
            log.warning("no broker yet, trying again", broker=where, error=_reason(error))
        if "permissions violation" in str(error).lower():
            log.error("the broker refuses this user something", broker=where, error=_reason(error))
        last = error

    broker = NatsBroker(servers, disconnected_cb=disconnected, error_cb=failed, **options)
    try:
        async with asyncio.timeout(first_answer_s):
            client = await broker.connect()
    except TimeoutError:
        why = _reason(last) if last else "it is silent"
        raise SettingsError(f"OPENERRATA_NATS_URL: no broker answers at {where}: {why}; is it running?") from last
    except nats.errors.Error as error:
        raise SettingsError(
            f"OPENERRATA_NATS_URL: the broker at {where} refuses the connection: {_reason(error)}"
        ) from error
    bus = Bus(broker, client, clock or SystemClock(), drain_s=drain_s, inbox_prefix=inbox)
    await bus.open()
    try:
        yield bus
    finally:
        await bus.close()


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).removeprefix("nats: ") or type(error).__name__
