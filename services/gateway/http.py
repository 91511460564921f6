"""The smallest HTTP there is over ASGI: one bounded body in, one reply out, with the headers that every reply has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
HeaderList = tuple[tuple[bytes, bytes], ...]

BODY_BYTES: Final = 524_288
"""What the extension itself refuses to exceed. Source: CONTRACT 1.8."""
DRAIN_BYTES: Final = 16 * 1024 * 1024
"""What is read and thrown away of a body that is too large: who still sends would see a reset, not the reply."""

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


class BodyTooLarge(Exception):
    """The body exceeds BODY_BYTES; nothing of it is kept."""


class ClientGone(Exception):
    """The body ended too early: the client left, or its framing is broken. The server cannot tell these apart."""


@dataclass(frozen=True, slots=True)
class BodyTimeouts:
    """How long a request's body may take: all of it, and the wait for its next bytes. Units: seconds."""

    whole_s: float
    silence_s: float


@dataclass(frozen=True, slots=True)
class Reply:
    """One response; CORS headers are added on the way out."""

    status: int
    body: bytes = b""
    headers: HeaderList = ()


async def read_body(receive: Receive, content_length: bytes, timeouts: BodyTimeouts) -> bytes:
    """The whole body of a request.

    Raises: BodyTooLarge: whatever the declared length says. TimeoutError: it did not arrive in time. ClientGone.
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
            waiting.reschedule(min(end, now() + timeouts.silence_s))
            message = await _next(receive)
            if message["type"] == "http.disconnect":
                raise ClientGone
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
    """The server cancels the future of a client that went away, which must not look like this task being cancelled."""
    try:
        return await receive()
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise ClientGone from None


async def respond(send: Send, reply: Reply, cors: HeaderList = ANY_ORIGIN) -> None:
    """Send a reply."""
    headers = [*reply.headers, *cors, NO_SNIFFING, *_later(reply.status, reply.headers)]
    if reply.status != 204:
        headers.append((b"content-length", str(len(reply.body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


def with_common_headers(send: Send) -> Send:
    """The same, for responses that somebody else writes; they may be read from everywhere."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [header for header in message.get("headers", ()) if header[0] != NO_SNIFFING[0]]
            message["headers"] = [*headers, *ANY_ORIGIN, NO_SNIFFING, *_later(message["status"], headers)]
        await send(message)

    return sending


def _later(status: int, headers: Iterable[tuple[bytes, bytes]]) -> HeaderList:
    """What whoever cannot be served now should wait, unless that is said already."""
    return (RETRY_LATER,) if status == 503 and all(name != RETRY_LATER[0] for name, _ in headers) else ()


def without_body(send: Send) -> Send:
    """The same, for a request that asked for the headers alone."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return sending
