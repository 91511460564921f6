"""Whether the broker answers: what waits for a silent one fails within seconds, and a dead connection is replaced.

The client library alone notices a half-open connection after four minutes, and never that its own reading task, or the
task that reconnects, has ended. It must not be asked to flush with a deadline either: a PONG for a flush that was given
up ends its reading task.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import nats.errors
import structlog
from nats.aio.client import Client

from kit.inbox import Inbox

TICK_S: Final = 0.25
"""Silence is counted in ticks of our own clock, so a process that was suspended does not blame the broker."""
SILENT_AFTER_S: Final = 2.0
RECONNECT_AFTER_S: Final = 4.0

log = structlog.get_logger(__name__)


class Link:
    """Pings the broker and keeps count of its silence. Units: `silent_s` is seconds without an answer."""

    def __init__(self, client: Client, inbox: Inbox) -> None:
        self._client = client
        self._inbox = inbox
        self._pong: asyncio.Future[bool] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._calls: set[asyncio.Timeout] = set()
        self._reconnects = 0
        self.silent_s = 0.0

    @property
    def reachable(self) -> bool:
        """Whether the broker has answered lately; a shorter absence is waited out."""
        return self.silent_s < SILENT_AFTER_S

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[None]:
        """Give up a call inside as soon as the broker is found silent. Raises: TimeoutError."""
        if not self.reachable:
            raise TimeoutError("the broker does not answer")
        async with asyncio.timeout(None) as call:
            self._calls.add(call)
            try:
                yield
            finally:
                self._calls.discard(call)

    def connection_lost(self) -> None:
        """The answer to the last ping will not come."""
        self._pong = None

    async def watch(self) -> None:
        """Ping for as long as the connection is wanted."""
        while not self._client.is_closed:
            await asyncio.sleep(TICK_S)
            self._count()
            if not self.reachable:
                self._give_up()
            if self._client.is_connected:
                reads = self._client._reading_task
                if self.silent_s >= RECONNECT_AFTER_S:
                    await self._reconnect("the broker is silent")
                elif reads is not None and reads.done():
                    await self._reconnect("the client library stopped reading")
                elif self._pong is None:
                    self._ping()
            elif self._client.is_reconnecting:
                self._go_on_reconnecting()

    def close(self) -> None:
        """Drop a connection that does not answer: closing it would wait until the broker has read everything."""
        if not self.reachable:
            self._abort()

    def _count(self) -> None:
        reconnects = self._client.stats["reconnects"]  # the handshake of each ends with a PONG
        if reconnects != self._reconnects or (self._pong is not None and self._pong.done()):
            self._reconnects = reconnects
            if not self.reachable:
                log.info("the broker answers again")
            self._pong, self.silent_s = None, 0.0
        else:
            was_reachable = self.reachable
            self.silent_s += TICK_S
            if was_reachable and not self.reachable:
                log.warning("the broker does not answer", connected=self._client.is_connected)

    def _ping(self) -> None:
        self._pong = asyncio.get_running_loop().create_future()
        self._sending = asyncio.create_task(self._send_ping(self._pong))  # its queue may be full

    async def _send_ping(self, pong: asyncio.Future[bool]) -> None:
        with suppress(nats.errors.Error, OSError):
            await self._client._send_ping(pong)

    def _give_up(self) -> None:
        self._inbox.unreachable()
        now = asyncio.get_running_loop().time()
        for call in self._calls:
            call.reschedule(now)
        self._calls.clear()

    async def _reconnect(self, why: str) -> None:
        log.warning("connecting to the broker anew", reason=why)
        self._pong = None
        self._abort()
        await self._client.force_reconnect()

    def _abort(self) -> None:
        writer = getattr(self._client._transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()

    def _go_on_reconnecting(self) -> None:
        task = self._client._reconnection_task
        if task is not None and task.done():
            log.warning("the client library stopped reconnecting, starting it again")
            self._client._reconnection_task = asyncio.create_task(self._client._attempt_reconnect())
