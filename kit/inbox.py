"""One subscription for all replies to this process: a request costs one message and no subscription."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from nats.aio.client import Client
from nats.aio.msg import Msg

SWEEP_S = 0.25


class NoReply(Exception):
    """No reply in time, or the connection was lost."""


@dataclass(slots=True)
class _PendingReply:
    future: asyncio.Future[Msg]
    deadline: float
    outlives_connection: bool


class Inbox:
    """Addresses that each expect one reply, or a series of them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._prefix = client.new_inbox()
        self._pending: dict[str, _PendingReply] = {}
        self._series: dict[str, Callable[[Msg], None]] = {}
        self._count = 0
        self._sweeper: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        """Start listening."""
        await self._client.subscribe(
            f"{self._prefix}.*", cb=self._receive, pending_msgs_limit=-1, pending_bytes_limit=-1
        )

    def expect(self, timeout_s: float, *, outlives_connection: bool = False) -> tuple[str, asyncio.Future[Msg]]:
        """An address for one reply and its future, which fails with NoReply after the timeout."""
        loop = asyncio.get_running_loop()
        address = self._new_address()
        future: asyncio.Future[Msg] = loop.create_future()
        self._pending[address] = _PendingReply(future, loop.time() + timeout_s, outlives_connection)
        if self._sweeper is None:
            self._sweeper = loop.call_later(SWEEP_S, self._sweep)
        return address, future

    def collect(self, take: Callable[[Msg], None]) -> str:
        """An address whose replies are all passed to `take`, until `discard`."""
        address = self._new_address()
        self._series[address] = take
        return address

    def discard(self, address: str) -> None:
        """Stop expecting replies at an address."""
        self._pending.pop(address, None)
        self._series.pop(address, None)

    def connection_lost(self) -> None:
        """Fail the replies that end with the connection."""
        for address, pending in list(self._pending.items()):
            if not pending.outlives_connection:
                self._fail(address, pending, "the connection was lost")

    def fail_all(self) -> None:
        """Fail every expected reply: the broker does not answer."""
        for address, pending in list(self._pending.items()):
            self._fail(address, pending, "the broker does not answer")

    def _new_address(self) -> str:
        self._count += 1
        return f"{self._prefix}.{self._count:x}"

    async def _receive(self, message: Msg) -> None:
        take = self._series.get(message.subject)
        if take is not None:
            take(message)
            return
        pending = self._pending.pop(message.subject, None)
        if pending is not None and not pending.future.done():
            pending.future.set_result(message)

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for address, pending in list(self._pending.items()):
            if pending.future.done():
                del self._pending[address]
            elif pending.deadline <= now:
                self._fail(address, pending, "no answer in time")
        self._sweeper = loop.call_later(SWEEP_S, self._sweep) if self._pending else None

    def _fail(self, address: str, pending: _PendingReply, reason: str) -> None:
        del self._pending[address]
        if not pending.future.done():
            pending.future.set_exception(NoReply(reason))
            pending.future.exception()  # mark it as retrieved: there may be no waiter
