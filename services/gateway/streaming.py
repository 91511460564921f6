"""Server-sent events over ASGI, until the source ends, the client disconnects or stops reading, or we stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Final, Literal

from services.gateway.http import Receive, Send
from services.gateway.ports import Unavailable

HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
HEARTBEAT: Final = b": all is well\n\n"
Why = Literal["ended", "gone", "slow", "stopped", "unavailable"]


async def serve_events(
    chunks: AsyncGenerator[bytes, None], receive: Receive, send: Send, stopping: asyncio.Event, *, stall_s: float
) -> Why:
    """Send the chunks; return why the stream ended. Units: a write that takes longer than `stall_s` ends it."""
    await send({"type": "http.response.start", "status": 200, "headers": list(HEADERS)})
    disconnected = asyncio.create_task(_wait_for_disconnect(receive))
    stopped = asyncio.create_task(stopping.wait())
    sending = asyncio.create_task(_send_all(chunks, send, stall_s))
    tasks: set[asyncio.Task[object]] = {disconnected, stopped, sending}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended = [task for task in (sending, disconnected, stopped) if task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    why: Why = "gone" if ended[0] is disconnected else "stopped" if ended[0] is stopped else sending.result()
    if why in ("ended", "stopped", "unavailable"):
        with suppress(TimeoutError):
            async with asyncio.timeout(stall_s):
                await send({"type": "http.response.body", "body": b""})
    return why


async def _send_all(chunks: AsyncGenerator[bytes, None], send: Send, stall_s: float) -> Why:
    async with aclosing(chunks) as opened:
        try:
            async for chunk in opened:
                async with asyncio.timeout(stall_s):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except TimeoutError:
            return "slow"
        except Unavailable:
            return "unavailable"
    return "ended"


async def _wait_for_disconnect(receive: Receive) -> None:
    """Return when the client closes the connection."""
    task = asyncio.current_task()
    while True:
        try:
            message = await receive()
        except asyncio.CancelledError:
            if task is not None and task.cancelling():
                raise
            return
        if message["type"] == "http.disconnect":
            return
