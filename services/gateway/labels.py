"""The labeler's interface of the AT Protocol: labels by address, and the stream of all labels ever issued.

A label is signed when it is first served: log and tables hold no signatures, so only the gateway needs the key.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, Protocol
from urllib.parse import parse_qs

import orjson
import structlog

from contracts.v1 import LabelIssued
from kit.cancelling import cancel_and_wait
from kit.clock import Clock
from kit.settings import LabelerSettings, SettingsError
from platforms.atproto.cbor import Value
from platforms.atproto.labels import Label, LabelKey, encode_error, encode_labels, to_json
from services.gateway.domain import parse_number
from services.gateway.http import PREFLIGHT, HeaderList, Message, Receive, Reply, Scope, Send, respond, without_body
from services.gateway.ports import Unavailable
from services.gateway.public.stream.admission import Admission, Refused
from services.gateway.record.labels import IssuedLabel
from services.gateway.record.question import BadQuestion
from services.gateway.record.repository import PublicRecord

PREFIX: Final = "/xrpc/com.atproto.label."
QUERY: Final = f"{PREFIX}queryLabels"
SUBSCRIBE: Final = f"{PREFIX}subscribeLabels"
LIMIT: Final = 250
PATTERNS: Final = 100
SIGNED: Final = 10_000
"""How many signed labels are cached: a signature takes half a millisecond, and anyone may request 250 at once."""
_JSON: Final = ((b"content-type", b"application/json"),)
_ANY_PAGE: Final[HeaderList] = ((b"access-control-allow-origin", b"*"), (b"access-control-allow-headers", b"*"))
"""Clients of the protocol add headers of their own, such as `atproto-accept-labelers`."""
_TRY_AGAIN: Final = 1013
_POLICY: Final = 1008

log = structlog.get_logger(__name__)

ErrorName = Literal["InvalidRequest", "FutureCursor"]


class LabelLog(Protocol):
    """Labels in the log. Raises: Unavailable."""

    async def newest(self) -> int:
        """The last sequence of the log."""

    def follow(self, after: int) -> AsyncGenerator[Sequence[tuple[int, LabelIssued]], None]:
        """Yield batches of labels with their sequences, all after `after`, as they are stored; never ends."""


class BadRequest(ValueError):
    """A request that cannot be answered; the message is for the client."""

    def __init__(self, message: str, name: ErrorName = "InvalidRequest") -> None:
        super().__init__(message)
        self.name: ErrorName = name


@lru_cache(SIGNED)
def _sign(label: Label, key: LabelKey) -> dict[str, Value]:
    return label.sign(key)


@dataclass(frozen=True, slots=True)
class Labeler:
    """The labeler's DID and signing key."""

    did: str
    key: LabelKey

    @classmethod
    def of(cls, settings: LabelerSettings) -> Labeler | None:
        """The labeler of the settings, or None. Raises: SettingsError: DID or key is missing, or the key malformed."""
        if settings.did is None and settings.key is None:
            return None
        if settings.did is None or settings.key is None:
            raise SettingsError("OPENERRATA_LABELER_DID and OPENERRATA_LABELER_KEY: the gateway needs both or none")
        try:
            return cls(settings.did, LabelKey.parse(settings.key.get_secret_value()))
        except ValueError:
            raise SettingsError("OPENERRATA_LABELER_KEY: not a private key of 64 hexadecimal digits") from None

    def sign(self, label: IssuedLabel | LabelIssued) -> dict[str, Value]:
        """The label, signed by the labeler. The result is cached: do not modify it."""
        stated = Label(
            src=self.did,
            uri=label.uri,
            cid=label.cid,
            val=label.val,
            neg=label.neg,
            cts=label.cts,
            exp=label.exp,
        )
        return _sign(stated, self.key)


@dataclass(frozen=True, slots=True)
class LabelSource:
    """The labeler, and the labels in the log."""

    labeler: Labeler
    log: LabelLog


class LabelsEndpoint:
    """Serves `queryLabels` and `subscribeLabels`. Units: a write that takes longer than `stall_s` ends a stream."""

    def __init__(
        self,
        source: LabelSource,
        record: PublicRecord,
        admission: Admission,
        address: Callable[[Scope], str],
        clock: Clock,
        *,
        stall_s: float,
    ) -> None:
        self._labeler = source.labeler
        self._log = source.log
        self._record = record
        self._admission = admission
        self._address = address
        self._clock = clock
        self._stall_s = stall_s
        self._stopping = asyncio.Event()
        self._streams: set[asyncio.Task[object]] = set()

    async def stop(self) -> None:
        """End all streams; subscribers reconnect with their cursor."""
        self._stopping.set()
        await asyncio.gather(*self._streams, return_exceptions=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "websocket":
            await self._subscribe(scope, receive, send)
            return
        if scope["method"] == "OPTIONS":
            reply = Reply(204, headers=PREFLIGHT)
        elif scope["method"] not in ("GET", "HEAD") or scope["path"] != QUERY:
            reply = _refusal(404, "MethodNotImplemented", "This labeler does not have this method.")
        else:
            reply = await self._query(scope)
        await respond(without_body(send) if scope["method"] == "HEAD" else send, reply, _ANY_PAGE)

    async def _query(self, scope: Scope) -> Reply:
        try:
            asked = parse_qs(scope["query_string"].decode("ascii"), max_num_fields=2 * PATTERNS)
            patterns = asked.get("uriPatterns", [])
            limit, after = _read_number(asked, "limit", 50), _read_number(asked, "cursor", 0)
            if not 0 < len(patterns) <= PATTERNS or any("*" in each[:-1] or "\0" in each for each in patterns):
                raise BadRequest(f"uriPatterns: 1 to {PATTERNS} addresses; only the last character may be *")
            if not 0 < limit <= LIMIT:
                raise BadRequest(f"limit: 1 to {LIMIT}")
            if self._labeler.did not in asked.get("sources", [self._labeler.did]):
                return Reply(200, orjson.dumps({"labels": []}), _JSON)
            async with self._record.open() as session:
                found = await session.labels.holding(patterns, self._clock.now(), after=after, limit=limit)
        except Unavailable as outage:
            log.warning("unavailable", path=QUERY, reason=str(outage))
            return _refusal(503, "InternalServerError", "The service cannot answer now; please try again.")
        except (BadQuestion, ValueError) as error:
            return _refusal(400, "InvalidRequest", str(error))
        signed = await asyncio.to_thread(lambda: [to_json(self._labeler.sign(each)) for each in found])
        more = {"cursor": str(found[-1].sequence)} if len(found) == limit else {}
        return Reply(200, orjson.dumps({"labels": signed, **more}), _JSON)

    async def _subscribe(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a stream, or close the connection before it is accepted."""
        address = self._address(scope)
        await receive()  # websocket.connect
        try:
            self._admission.check_rate(address)
            if scope["path"] != SUBSCRIBE or self._stopping.is_set():
                raise Refused("too many")
            with self._admission.reserve(address):
                frames = self._frames(await self._find_start(scope))
                serving = asyncio.create_task(self._serve(frames, receive, send))
                self._streams.add(serving)
                serving.add_done_callback(self._streams.discard)
                await serving
        except (Refused, Unavailable) as error:
            if isinstance(error, Unavailable):
                log.warning("unavailable", path=SUBSCRIBE, reason=str(error))
            await send({"type": "websocket.close", "code": _TRY_AGAIN})

    async def _serve(self, frames: AsyncGenerator[bytes, None], receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})
        sending = asyncio.create_task(self._send_all(frames, send))
        gone = asyncio.create_task(_wait_for_disconnect(receive))
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((sending, gone, stopped), return_when=asyncio.FIRST_COMPLETED)
        finally:
            is_gone = gone.done()
            await cancel_and_wait((sending, stopped))
            gone.cancel()  # not awaited: the server ends a pending receive only with the connection
        error = None if sending.cancelled() else sending.exception()
        if error is not None:
            log.warning("a stream of labels ended", error=f"{type(error).__name__}: {error}")
        if not is_gone:
            code = _TRY_AGAIN if error is not None or sending.cancelled() else _POLICY
            with suppress(TimeoutError):
                await self._send(send, {"type": "websocket.close", "code": code})

    async def _send_all(self, frames: AsyncGenerator[bytes, None], send: Send) -> None:
        async with aclosing(frames) as opened:
            async for frame in opened:
                await self._send(send, {"type": "websocket.send", "bytes": frame})

    async def _find_start(self, scope: Scope) -> int | BadRequest:
        """The sequence after which the stream begins: the cursor, or the newest without one. Raises: Unavailable."""
        newest = await self._log.newest()
        try:
            after = _read_number(parse_qs(scope["query_string"].decode("ascii", "replace")), "cursor", newest)
        except BadRequest as error:
            return error
        return after if after <= newest else BadRequest("the cursor is ahead of the log", "FutureCursor")

    async def _frames(self, start: int | BadRequest) -> AsyncGenerator[bytes, None]:
        """Yield frames of labels, without an end, or one error frame."""
        if isinstance(start, BadRequest):
            yield encode_error(start.name, str(start))
            return
        async with aclosing(self._log.follow(start)) as batches:
            async for batch in batches:
                for sequence, label in batch:
                    yield encode_labels(sequence, [self._labeler.sign(label)])

    async def _send(self, send: Send, message: Message) -> None:
        async with asyncio.timeout(self._stall_s):
            await send(message)


def _read_number(asked: dict[str, list[str]], name: str, default: int) -> int:
    number = parse_number(asked.get(name, [str(default)])[-1], 18)
    if number is None:
        raise BadRequest(f"{name}: not a number")
    return number


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "websocket.disconnect":
        pass


def _refusal(status: int, name: str, message: str) -> Reply:
    return Reply(status, orjson.dumps({"error": name, "message": message}), _JSON)
