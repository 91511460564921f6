"""Publish facts: a fact is published when the stream has confirmed that it is stored, not before.

Receipts arrive in one reply inbox of our own, so many facts can be in flight; the future of the client library's
asynchronous publish never resolves if the server refuses.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict
from uuid import UUID

import nats.errors
import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg

from contracts.cloudevents import cloud_headers
from contracts.topology import Stream, stream_of
from contracts.v1 import Event, OnceEvent, encode_parts
from kit.clock import Clock
from kit.inbox import Inbox, NoReply
from kit.link import Link

REPLY_TO = "Errata-Reply-To"
FOLLOWS = "Nats-Expected-Last-Subject-Sequence"

RECEIPT_TIMEOUT_S = 5.0
PUBLISH_TIMEOUT_S = 15.0
"""A cluster that lost a stream's leader elects another one within ten seconds, mostly within five."""
PUBLISH_RETRY_DELAY_S = 0.25
WRONG_LAST_SEQUENCE = 10071
SEQUENCE_IN_PROCESS = 10164
"""A cluster's "wrong last sequence" while another message of the subject is undecided, and may yet be dropped."""
NO_SUITABLE_PEERS = 10005
BATCH_INCOMPLETE = 10176
BATCH_REPEATED = 10201
_PASSING = frozenset({NO_SUITABLE_PEERS, BATCH_INCOMPLETE, SEQUENCE_IN_PROCESS})
CONFLICT = 409
NOT_FOUND = 404


class BusError(Exception):
    """The broker did not confirm: the fact may or may not be stored, and publishing it again is harmless."""


class PublishConflict(BusError):
    """A once-event was not stored: another fact already follows its predecessor, or its batch was stored before."""


class PublishRefused(BusError):
    """The broker will never store this fact; publishing it again is useless."""


class _ApiError(TypedDict, total=False):
    code: int
    err_code: int
    description: str


@dataclass(frozen=True)
class Receipt:
    """The sequence of a stored fact; `duplicate` if the stream had it already."""

    sequence: int
    duplicate: bool = False


@dataclass(frozen=True)
class Outgoing:
    """A fact in its wire format."""

    subject: str
    data: bytes
    headers: dict[str, str]


class Publisher:
    """Stamps facts, sends them and waits for their receipts."""

    def __init__(self, client: Client, inbox: Inbox, link: Link, clock: Clock) -> None:
        self.client = client
        self.inbox = inbox
        self.link = link
        self.clock = clock
        self._streams: dict[type[Event], Stream] = {}

    def stamp(
        self,
        event: Event,
        *,
        correlation: UUID,
        cause: UUID | None = None,
        reply_to: str | None = None,
        at: datetime | None = None,
    ) -> Outgoing:
        """Give a fact its envelope, id and headers; `at` is when the fact occurred, None for now."""
        event_id = event.event_id()
        stream = self._streams.get(type(event))
        if stream is None:
            stream = self._streams[type(event)] = stream_of(type(event))
        moment, name, subject = at or self.clock.now(), str(event_id), event.subject()
        headers = cloud_headers(event, subject, name, moment)
        headers["Nats-Msg-Id"] = name
        headers["Nats-Expected-Stream"] = stream.name
        if isinstance(event, OnceEvent):
            headers[FOLLOWS] = str(event.follows)
        if reply_to is not None:
            headers[REPLY_TO] = reply_to
        data = encode_parts(event, event_id, moment, correlation, cause, self.clock.new_salt())
        return Outgoing(subject, data, headers)

    async def send(self, outgoing: Outgoing) -> asyncio.Future[Msg]:
        """Send a fact and return the future of its receipt, for `wait_for_receipt`.

        Raises: PublishRefused: the fact is too large. BusError: the broker does not answer.
        """
        address, future = self.inbox.expect(RECEIPT_TIMEOUT_S)
        try:
            await self.send_unconfirmed(outgoing, reply_to=address)
        except BusError:
            self.inbox.discard(address)
            raise
        return future

    async def send_unconfirmed(self, outgoing: Outgoing, *, reply_to: str = "") -> None:
        """Send a fact whose receipt, if wanted, goes to `reply_to`. Raises: see `send`."""
        if not self.link.is_reachable:
            raise BusError(f"{outgoing.subject} could not be sent: the broker does not answer")
        try:
            await self.client.publish(outgoing.subject, outgoing.data, reply=reply_to, headers=outgoing.headers)
        except nats.errors.Error as error:
            kind = PublishRefused if isinstance(error, nats.errors.MaxPayloadError) else BusError
            raise kind(f"{outgoing.subject} could not be sent: {error}") from error

    async def wait_for_receipt(self, future: asyncio.Future[Msg]) -> Receipt:
        """Wait until the stream confirms a fact.

        Raises: PublishConflict: a once-event came too late. PublishRefused: the fact can never be stored. BusError: it
        is not stored now, or there was no confirmation in time.
        """
        message = await confirm(future)
        answer = orjson.loads(message.data)
        return Receipt(answer["seq"], bool(answer.get("duplicate")))

    async def publish(
        self, event: Event, *, correlation: UUID, cause: UUID | None = None, reply_to: str | None = None
    ) -> Receipt:
        """Store one fact. Raises: PublishConflict, PublishRefused, BusError: see `ensure_stored`."""
        return await self.ensure_stored(self.stamp(event, correlation=correlation, cause=cause, reply_to=reply_to))

    async def publish_if_first(self, event: Event, correlation: UUID) -> bool:
        """Publish a once-event; return False if another one came first, True if it is stored. Raises: BusError."""
        try:
            await self.publish(event, correlation=correlation)
        except PublishConflict:
            return False
        return True

    async def ensure_stored(self, outgoing: Outgoing, sent: asyncio.Future[Msg] | None = None) -> Receipt:
        """Wait until a fact is stored; without a confirmation send it again: the cluster may be electing a leader.

        The fact's id makes that harmless. `sent` is what `send` returned for the fact, if it was sent before.

        Raises: PublishConflict, PublishRefused, BusError: see `wait_for_receipt`.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + PUBLISH_TIMEOUT_S
        is_repeated = False
        while True:
            try:
                return await self._store(outgoing, sent, is_repeated=is_repeated)
            except (PublishConflict, PublishRefused):
                raise
            except BusError:
                single = len(self.client.server_pool) == 1  # else the next node answers within seconds
                if (single and not self.link.is_reachable) or loop.time() + PUBLISH_RETRY_DELAY_S >= until:
                    raise
            sent, is_repeated = None, True
            await asyncio.sleep(PUBLISH_RETRY_DELAY_S)

    async def _store(self, outgoing: Outgoing, sent: asyncio.Future[Msg] | None, *, is_repeated: bool) -> Receipt:
        """Send a fact once. Of several writers of a once-event with the same id, only one may succeed.

        A single server checks the expected sequence before the id, so it refuses a repeated event because of that event
        itself. A cluster checks the id first, so it reports another writer's event as a duplicate of this one.
        """
        try:
            receipt = await self.wait_for_receipt(sent or await self.send(outgoing))
        except PublishConflict:
            own = await self._find_own(outgoing, {"last_by_subj": outgoing.subject}) if is_repeated else None
            if own is None:
                raise
            return own
        if receipt.duplicate and FOLLOWS in outgoing.headers:
            own = await self._find_own(outgoing, {"seq": receipt.sequence})
            if own is None:
                raise PublishConflict("another writer stored an event with the same id")
        return receipt

    async def _find_own(self, outgoing: Outgoing, place: dict[str, str | int]) -> Receipt | None:
        """The receipt of this very fact if `place` has it; its salt distinguishes it from those of other writers.

        Raises: BusError: the stream does not answer.
        """
        address, future = self.inbox.expect(RECEIPT_TIMEOUT_S)
        question = f"$JS.API.STREAM.MSG.GET.{outgoing.headers['Nats-Expected-Stream']}"  # its leader never lags
        try:
            await self.client.publish(question, orjson.dumps(place), reply=address)
            answer = orjson.loads((await future).data or b"{}")
        except (NoReply, nats.errors.Error) as error:
            raise BusError(f"{outgoing.subject} could not be read back: {error}") from error
        finally:
            self.inbox.discard(address)
        found = answer.get("message")
        if found is None and answer.get("error", {}).get("code") != NOT_FOUND:
            raise BusError(f"{outgoing.subject} could not be read back")
        if found is None or b64decode(found["data"]) != outgoing.data:
            return None
        return Receipt(found["seq"], duplicate=True)


async def confirm(future: asyncio.Future[Msg]) -> Msg:
    """Wait for the stream's answer. Raises: see `Publisher.wait_for_receipt`."""
    try:
        message = await future
    except NoReply as error:
        raise BusError(f"the stream did not confirm: {error}") from None
    if (message.headers or {}).get("Status") == "503":
        raise BusError("no stream takes this subject; run `openerrata topology apply`")
    refusal = orjson.loads(message.data).get("error") if message.data else None
    if refusal is not None:
        raise _classify(refusal)
    return message


def _classify(error: _ApiError) -> BusError:
    """The exception for a stream's error.

    Transient errors are 5xx, too few peers, an undecided message of the same subject, and an incomplete batch, which
    the server dropped; 409 means that the same message is in flight, 429 that too many batches are.
    """
    description = error.get("description", "refused")
    if error.get("err_code") in (WRONG_LAST_SEQUENCE, BATCH_REPEATED):
        return PublishConflict(description)
    is_transient = error.get("code", 503) >= CONFLICT or error.get("err_code") in _PASSING
    return BusError(description) if is_transient else PublishRefused(description)
