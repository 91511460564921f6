"""The right to work on a message, which lasts as long as the broker hears of its worker."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from types import TracebackType

import nats.errors
from nats.aio.msg import Msg

from kit.bus import Bus

BEAT_AGAIN_S = 0.5


class LeaseLost(Exception):
    """The broker has given the message to somebody else by now."""


class Lease:
    """The right to work on a message: lasts as long as the broker confirms heartbeats, three to a deadline.

    A deadline counts from when the heartbeat was sent, so it is never later than the broker's own. Costs nothing for
    handlers that finish before their first heartbeat.
    """

    def __init__(self, bus: Bus, message: Msg, ack_wait_s: float) -> None:
        self._bus = bus
        self._message = message
        self._ack_wait_s = ack_wait_s
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + ack_wait_s
        self._held: asyncio.Timeout | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(ack_wait_s / 3, self._begin)

    async def __aenter__(self) -> None:
        """Do the work inside; it is cancelled when the lease is lost. Raises: LeaseLost."""
        self._held = asyncio.timeout_at(self._until)
        await self._held.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        held, self._held = self._held, None
        assert held is not None, "entered before"
        try:
            await held.__aexit__(kind, error, trace)
        except TimeoutError:
            raise LeaseLost from None
        if held.expired() and isinstance(error, Exception):  # whatever the cancelled work made of it
            raise LeaseLost from None

    def let_go(self) -> None:
        """Send no more heartbeats."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._beat())

    async def _beat(self) -> None:
        """Beat three times a deadline; one that is lost with its connection is followed by another at once."""
        every_s = self._ack_wait_s / 3
        while True:
            sent_at = self._loop.time()
            address, answer = self._bus.inbox.expect(self._ack_wait_s)
            answer.add_done_callback(partial(self._confirmed, sent_at))
            with suppress(nats.errors.Error):
                await self._bus.client.publish(self._message.reply, b"+WPI", reply=address)
            await asyncio.wait({answer}, timeout=every_s)
            lost = answer.done() and (answer.cancelled() or answer.exception() is not None)
            await asyncio.sleep(BEAT_AGAIN_S if lost else max(0.0, sent_at + every_s - self._loop.time()))

    def _confirmed(self, sent_at: float, answer: asyncio.Future[Msg]) -> None:
        if answer.cancelled() or answer.exception() is not None:
            return
        self._until = max(self._until, sent_at + self._ack_wait_s)
        if self._held is not None and not self._held.expired():
            self._held.reschedule(self._until)
