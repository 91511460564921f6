"""Watching the connection: calls to a silent broker fail within seconds, and a dead connection is replaced.

The client library alone notices a half-open connection after four minutes, and never notices that its own reading task,
or the task that reconnects, has ended. After an error that the broker sends, such as a changed password, it closes the
connection for good. Never flush with a timeout: a PONG for a flush that timed out ends the library's reading task.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import nats.errors
import structlog
from nats.aio.client import Client
from nats.protocol.parser import PERMISSIONS_ERR

from kit.cancelling import cancel_and_wait
from kit.inbox import Inbox

TICK_S: Final = 0.25
"""Silence is counted in ticks of our own, so that a process that was suspended does not count it as silence."""
SILENT_AFTER_S: Final = 2.0
RECONNECT_AFTER_S: Final = 4.0

log = structlog.get_logger(__name__)


class Link:
    """Pings the broker and measures its silence. Units: `silent_s` is seconds without an answer."""

    def __init__(self, client: Client, inbox: Inbox) -> None:
        self._client = client
        self._inbox = inbox
        self._pong: asyncio.Future[bool] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._calls: set[asyncio.Timeout] = set()
        self._reconnects = 0
        self.silent_s = 0.0
        self._process_error = client._process_err
        client._process_err = self._reconnect_after_error  # type: ignore[method-assign]  # the library has no setting

    @property
    def is_reachable(self) -> bool:
        """Whether the broker has answered lately; shorter silences are tolerated."""
        return self.silent_s < SILENT_AFTER_S

    @asynccontextmanager
    async def require_answers(self) -> AsyncIterator[None]:
        """Cancel the call inside as soon as the broker is silent. Raises: TimeoutError."""
        if not self.is_reachable:
            raise TimeoutError("the broker does not answer")
        async with asyncio.timeout(None) as call:
            self._calls.add(call)
            try:
                yield
            finally:
                self._calls.discard(call)

    def connection_lost(self) -> None:
        """Discard the last ping: its answer will not come."""
        self._pong = None

    async def watch(self) -> None:
        """Ping until the connection is closed."""
        while not self._client.is_closed:
            await asyncio.sleep(TICK_S)
            self._measure_silence()
            if not self.is_reachable:
                self._fail_pending()
            if self._client.is_connected:
                reads = self._client._reading_task
                if self.silent_s >= RECONNECT_AFTER_S:
                    await self._reconnect("the broker is silent")
                elif reads is not None and reads.done():
                    await self._reconnect("the client library stopped reading")
                elif self._pong is None:
                    self._ping()
            elif self._client.is_reconnecting:
                self._ensure_reconnecting()

    def close(self) -> None:
        """Abort a silent connection: closing it would wait until the broker has read everything."""
        if not self.is_reachable:
            self._abort()

    async def stop(self) -> None:
        """Stop reconnecting: the library closes no client that is connecting, and may swallow one cancellation."""
        if self._client._reconnection_task is not None:
            await cancel_and_wait([self._client._reconnection_task])

    def _measure_silence(self) -> None:
        reconnects = self._client.stats["reconnects"]  # the handshake of each ends with a PONG
        if reconnects != self._reconnects or (self._pong is not None and self._pong.done()):
            self._reconnects = reconnects
            if not self.is_reachable:
                log.info("the broker answers again")
            self._pong, self.silent_s = None, 0.0
        else:
            was_reachable = self.is_reachable
            self.silent_s += TICK_S
            if was_reachable and not self.is_reachable:
                connected = self._client.is_connected
                why = None if connected else self._client.last_error
                log.warning("the broker does not answer", connected=connected, error=why and str(why))

    def _ping(self) -> None:
        self._pong = asyncio.get_running_loop().create_future()
        self._sending = asyncio.create_task(self._send_ping(self._pong))  # its queue may be full

    async def _send_ping(self, pong: asyncio.Future[bool]) -> None:
        with suppress(nats.errors.Error, OSError):
            await self._client._send_ping(pong)

    def _fail_pending(self) -> None:
        self._inbox.fail_all()
        now = asyncio.get_running_loop().time()
        for call in self._calls:
            call.reschedule(now)
        self._calls.clear()

    async def _reconnect(self, why: str) -> None:
        log.warning("connecting to the broker anew", reason=why)
        self._pong = None
        self._abort()
        await self._client.force_reconnect()

    async def _reconnect_after_error(self, err_msg: str) -> None:
        if PERMISSIONS_ERR in err_msg.lower():  # the connection stays as it is
            await self._process_error(err_msg)
        else:
            log.warning("connecting to the broker anew", reason=err_msg.strip("'"))
            await self._client._process_op_err(nats.errors.Error(err_msg))

    def _abort(self) -> None:
        writer = getattr(self._client._transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()

    def _ensure_reconnecting(self) -> None:
        task = self._client._reconnection_task
        if task is not None and task.done():
            log.warning("the client library stopped reconnecting, starting it again")
            self._client._reconnection_task = asyncio.create_task(self._client._attempt_reconnect())
