"""The process's connection to the broker: publishing, requests over the log, and its lifetime."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

import nats.errors
import structlog
from faststream.nats import NatsBroker
from nats.aio.client import Client
from nats.js.client import JetStreamContext
from nats.js.kv import KeyValue

from contracts.access import POSITION
from contracts.topology import stream_of
from contracts.v1 import Envelope, Event, OnceEvent, decode
from kit import message_headers
from kit.batches import Batches
from kit.cancelling import cancel_and_wait
from kit.clock import Clock, SystemClock
from kit.health import WriteCheck
from kit.inbox import Inbox, NoReply
from kit.link import Link
from kit.publisher import BusError, Outgoing, Publisher, Receipt
from kit.servers import redact_addresses, split_addresses
from kit.settings import SettingsError

SUBJECT = "Errata-Subject"
SEQUENCE = "Errata-Sequence"
REJECTED = "Errata-RequestRejected"

STARTUP_TIMEOUT_S = 10.0
INBOX = "_INBOX"
CONNECT_TIMEOUT_S = 2
API_TIMEOUT_S = 5.0
"""Limit for a reply of the broker about its streams and consumers."""
DRAIN_S = 25.0
PENDING_BYTES = 64 * 1024 * 1024

log = structlog.get_logger(__name__)


class RequestTimeout(BusError):
    """No service replied in time."""


class RequestRejected(BusError):
    """A service rejected the request; trying again is useless."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Reply:
    """The fact that resulted from a request, and the sequence it is stored under."""

    envelope: Envelope
    sequence: int


class Bus(Publisher):
    """One connection to the broker, shared by everything in this process.

    Units: `drain_s` is the limit for finishing messages in progress when the process stops.
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
        message_headers.install(client)
        inbox = Inbox(client)
        super().__init__(client, inbox, Link(client, inbox), clock)
        self.broker = broker
        self.drain_s = drain_s
        self.inbox_prefix = inbox_prefix
        self.jetstream: JetStreamContext = client.jetstream(timeout=API_TIMEOUT_S)
        self.writes = WriteCheck(client, inbox, self.link)
        self.key_values: dict[str, KeyValue] = {}
        """Buckets that the broker was found to have, for `kit.kv`."""
        self._watching: asyncio.Task[None] | None = None
        self._batches: defaultdict[str, Batches] = defaultdict(partial(Batches, self))
        self._closers: list[Callable[[], Awaitable[None]]] = []

    async def open(self) -> None:
        """Start listening for receipts and replies, and watching the connection."""
        await self.inbox.open()
        self._watching = asyncio.create_task(self.link.watch(), name="broker link")

    async def request(self, event: Event, *, correlation: UUID, timeout_s: float) -> Reply:
        """Store a fact and wait for the fact that results from it.

        Raises: RequestRejected: a service rejected it. RequestTimeout: no reply in time. BusError: see `publish`.
        """
        address, future = self.inbox.expect(timeout_s, outlives_connection=True)
        try:
            await self.publish(event, correlation=correlation, reply_to=address)
            message = await future
        except NoReply:
            raise RequestTimeout(f"no answer within {timeout_s:g} s") from None
        finally:
            self.inbox.discard(address)
        headers = message.headers or {}
        if REJECTED in headers:
            raise RequestRejected(headers[REJECTED])
        return Reply(decode(headers[SUBJECT], message.data), int(headers[SEQUENCE]))

    async def publish_together(
        self, facts: Sequence[OnceEvent], *, correlation: UUID, cause: UUID | None = None, at: datetime | None = None
    ) -> tuple[Receipt, ...]:
        """Store all of these once-events or none; all are of one stream that takes batches, each of another subject.

        The batch is sent once. Without a confirmation it may or may not be stored, and a broker that lost its leader
        drops an unfinished batch after ten seconds. So after any error, read the log before sending anything again.

        Raises: PublishConflict: nothing was stored now; an event came too late, or all were stored before.
        PublishRefused: they can never be stored. BusError: there was no confirmation in time, or too many batches.
        Source: NATS ADR-50. Conditions name no other subject: nats-server issue 8376.
        """
        if not facts:
            raise ValueError("a batch has at least one fact")
        stamped = [self.stamp(fact, correlation=correlation, cause=cause, at=at) for fact in facts]
        return await self._batches[stream_of(type(facts[0])).name].store(stamped)

    async def send_reply(self, reply_to: str, outgoing: Outgoing, sequence: int) -> None:
        """Send the fact that resulted from a request to its reply address."""
        headers = {SUBJECT: outgoing.subject, SEQUENCE: str(sequence)}
        await self.client.publish(reply_to, outgoing.data, headers=headers)

    async def reject_request(self, reply_to: str, reason: str) -> None:
        """Reply that the request can never succeed."""
        await self.client.publish(reply_to, b"", headers={REJECTED: " ".join(reason.split())[:500]})

    async def announce_position(self, stream: str, sequence: int) -> None:
        """Broadcast the read model's position; only a hint, it may get lost."""
        await self.client.publish(position_subject(stream), str(sequence).encode())

    def on_close(self, stop: Callable[[], Awaitable[None]]) -> None:
        """Register a function to call before the connection closes; the last one registered is called first."""
        self._closers.append(stop)

    async def close(self) -> None:
        """Stop the connection's users, flush what is in flight and close."""
        for stop in reversed(self._closers):
            await stop()
        with suppress(nats.errors.Error, TimeoutError):
            await self.client.flush(timeout=2)
        if self._watching is not None:
            await cancel_and_wait([self._watching])
        self.link.close()
        with suppress(nats.errors.Error, OSError):  # the broker may be gone; unconfirmed messages are redelivered
            await self.broker.stop()
        await self.link.stop()


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
    startup_timeout_s: float = STARTUP_TIMEOUT_S,
    inbox: str = INBOX,
) -> AsyncIterator[Bus]:
    """Connect to the broker while the context lasts; of several comma-separated addresses, to any that answers.

    A lost connection is re-established however long it takes; one that never succeeded is more likely a wrong address.
    `inbox` is the prefix of the reply subjects.

    Raises: SettingsError: no broker answers there within `startup_timeout_s`, or it refuses the connection.
    """
    servers = split_addresses(url)
    where = redact_addresses(servers)
    last: Exception | None = None
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

    broker = NatsBroker(
        servers,
        disconnected_cb=disconnected,
        error_cb=failed,
        apply_types=False,
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.25,  # type: ignore[arg-type]  # the library declares an int and sleeps for any number
        connect_timeout=CONNECT_TIMEOUT_S,
        name=name,
        logger=None,
        pending_size=PENDING_BYTES,
        allow_reconnect=True,
        inbox_prefix=inbox,
    )
    try:
        async with asyncio.timeout(startup_timeout_s):
            client = await broker.connect()
    except TimeoutError:
        why = _reason(last) if last else "it is silent"
        raise SettingsError(f"OPENERRATA_NATS_URL: no broker answers at {where}: {why}; is it running?") from last
    except nats.errors.Error as error:
        raise SettingsError(
            f"OPENERRATA_NATS_URL: the broker at {where} refuses the connection: {_reason(error)}"
        ) from error
    client._error_cb = failed  # FastStream's own raises when a password is refused, which ends reconnecting
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
