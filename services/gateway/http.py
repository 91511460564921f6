"""HTTP over ASGI for routes without a framework: a bounded body in, one reply out, and the headers of every reply."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from starlette.types import Message, Receive, Scope, Send

__all__ = ["Message", "Receive", "Scope", "Send"]

HeaderList = tuple[tuple[bytes, bytes], ...]

BODY_BYTES: Final = 524_288
"""The extension's own limit. Source: docs/protocol.md 1.8."""
DRAIN_BYTES: Final = 16 * 1024 * 1024
"""A body above the limit is read and dropped up to this size, so that its client sees the reply, not a reset."""

ALLOWED_HEADERS: Final = (
    b"access-control-allow-headers",
    b"Content-Type, x-api-key, x-openai-api-key, x-openerrata-signature, x-openerrata-extension-version",
)
ANY_ORIGIN: Final[HeaderList] = ((b"access-control-allow-origin", b"*"), ALLOWED_HEADERS)
NO_SNIFFING: Final = (b"x-content-type-options", b"nosniff")
RETRY_LATER: Final = (b"retry-after", b"3")
PREFLIGHT: Final[HeaderList] = (
    (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
    (b"access-control-max-age", b"86400"),
)

MAX_ERRORS: Final = 100
_HOST: Final = re.compile(r"[A-Za-z0-9.-]+(?::\d{1,5})?|\[[0-9A-Fa-f:]+\](?::\d{1,5})?")


class BodyTooLarge(Exception):
    """The body exceeds BODY_BYTES."""


class ClientDisconnected(Exception):
    """The body ended too early: the client disconnected, or its framing is broken."""


@dataclass(frozen=True, slots=True)
class BodyTimeouts:
    """The longest time for a whole body, and for the wait between two of its chunks. Units: seconds."""

    whole_s: float
    idle_s: float


@dataclass(frozen=True, slots=True)
class Reply:
    """One response; `respond` adds the CORS headers."""

    status: int
    body: bytes = b""
    headers: HeaderList = ()


def list_errors(invalid: ValidationError) -> list[ErrorDetails]:
    """The errors of a body, without the body's own words.

    More than MAX_ERRORS are only counted: pydantic describes either all or none, and a body of half a megabyte can have
    a quarter of a million.
    """
    count = invalid.error_count()
    if count > MAX_ERRORS:
        return [ErrorDetails(type="too_many", loc=(), msg=f"There are {count} errors in it", input=None)]
    return invalid.errors(include_url=False, include_input=False, include_context=False)


def page_origin(public_url: str, host: str) -> str:
    """The origin of the public pages: of the configured URL, else of the request's Host header."""
    if public_url:
        return public_url.rstrip("/")
    return f"http://{host if _HOST.fullmatch(host) else 'localhost'}"


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding header lists gzip with a weight above zero."""
    for each in accept_encoding.lower().split(","):
        coding, _, weight = each.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "").rstrip("0.") != "q="
    return False


def names_tag(if_none_match: str, tag: str) -> bool:
    """Whether an If-None-Match header lists this ETag, so that the client's copy is current."""
    return any(each.strip().removeprefix("W/") in (tag.removeprefix("W/"), "*") for each in if_none_match.split(","))


async def read_body(receive: Receive, content_length: bytes, timeouts: BodyTimeouts) -> bytes:
    """Read the whole body of a request.

    Raises: BodyTooLarge, whatever the declared length is. TimeoutError. ClientDisconnected.
    """
    if content_length.isdigit() and int(content_length[:20]) > DRAIN_BYTES:
        raise BodyTooLarge
    chunks: list[bytes] = []
    size_bytes = 0
    more = True
    now = asyncio.get_running_loop().time
    end = now() + timeouts.whole_s
    async with asyncio.timeout(None) as waiting:
        while more and size_bytes <= DRAIN_BYTES:
            waiting.reschedule(min(end, now() + timeouts.idle_s))
            message = await _next(receive)
            if message["type"] == "http.disconnect":
                raise ClientDisconnected
            chunk = message.get("body", b"")
            more = message.get("more_body", False)
            size_bytes += len(chunk)
            if size_bytes <= BODY_BYTES:
                chunks.append(chunk)
            else:
                chunks.clear()
    if size_bytes > BODY_BYTES:
        raise BodyTooLarge
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def _next(receive: Receive) -> Message:
    """Receive; turn the server's cancellation of a disconnected client's receive into ClientDisconnected."""
    try:
        return await receive()
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise ClientDisconnected from None


async def respond(send: Send, reply: Reply, cors: HeaderList = ANY_ORIGIN) -> None:
    headers = [*reply.headers, *cors, NO_SNIFFING, *_retry_header(reply.status, reply.headers)]
    if reply.status != 204:
        headers.append((b"content-length", str(len(reply.body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


def with_common_headers(send: Send) -> Send:
    """Wrap `send` to add CORS for any origin, nosniff and Retry-After to a framework's responses."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [header for header in message.get("headers", ()) if header[0] != NO_SNIFFING[0]]
            message["headers"] = [*headers, *ANY_ORIGIN, NO_SNIFFING, *_retry_header(message["status"], headers)]
        await send(message)

    return sending


def _retry_header(status: int, headers: Iterable[tuple[bytes, bytes]]) -> HeaderList:
    """`Retry-After` for a 503 that has none."""
    return (RETRY_LATER,) if status == 503 and all(name != RETRY_LATER[0] for name, _ in headers) else ()


def without_body(send: Send) -> Send:
    """Wrap `send` to drop the body of a response to HEAD."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return sending
