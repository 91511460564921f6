"""The right of a worker to a message, valid while the broker confirms the worker's heartbeats."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from types import TracebackType

import nats.errors
from nats.aio.msg import Msg

from kit.bus import Bus

HEARTBEAT_RETRY_S = 0.5


class LeaseLost(Exception):
    """By now the broker has delivered the message to another worker."""


class Lease:
    """The lease of one message, which three heartbeats per deadline extend.

    A deadline counts from the sending of a heartbeat, so it is never later than the broker's own. Handlers that finish
    before their first heartbeat cost nothing.
    """

    def __init__(self, bus: Bus, message: Msg, ack_wait_s: float) -> None:
        self._bus = bus
        self._message = message
        self._ack_wait_s = ack_wait_s
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + ack_wait_s
        self._timeout: asyncio.Timeout | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(ack_wait_s / 3, self._begin)

    async def __aenter__(self) -> None:
        """Cancel the work inside when the lease is lost. Raises: LeaseLost."""
        self._timeout = asyncio.timeout_at(self._until)
        await self._timeout.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        timeout, self._timeout = self._timeout, None
        assert timeout is not None, "entered before"
        try:
            await timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            raise LeaseLost from None
        if timeout.expired() and isinstance(error, Exception):  # whatever the cancelled work raised
            raise LeaseLost from None

    def release(self) -> None:
        """Send no more heartbeats."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._send_heartbeats())

    async def _send_heartbeats(self) -> None:
        """Send three heartbeats per deadline; repeat one that was lost with its connection after HEARTBEAT_RETRY_S."""
        every_s = self._ack_wait_s / 3
        while True:
            sent_at = self._loop.time()
            address, reply = self._bus.inbox.expect(self._ack_wait_s)
            reply.add_done_callback(partial(self._extend, sent_at))
            with suppress(nats.errors.Error):
                await self._bus.client.publish(self._message.reply, b"+WPI", reply=address)
            await asyncio.wait({reply}, timeout=every_s)
            lost = reply.done() and (reply.cancelled() or reply.exception() is not None)
            await asyncio.sleep(HEARTBEAT_RETRY_S if lost else max(0.0, sent_at + every_s - self._loop.time()))

    def _extend(self, sent_at: float, reply: asyncio.Future[Msg]) -> None:
        if reply.cancelled() or reply.exception() is not None:
            return
        self._until = max(self._until, sent_at + self._ack_wait_s)
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(self._until)
