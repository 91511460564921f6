"""One subscription for every answer this process waits for: a question costs one message and no subscription."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from nats.aio.client import Client
from nats.aio.msg import Msg

SWEEP_S = 0.25


class NoReply(Exception):
    """Nothing came in time, or the connection was lost."""


@dataclass(slots=True)
class _Waiting:
    future: asyncio.Future[Msg]
    deadline: float
    outlives_connection: bool


class Inbox:
    """Addresses that each expect one answer, or a series of them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._prefix = client.new_inbox()
        self._single: dict[str, _Waiting] = {}
        self._series: dict[str, Callable[[Msg], None]] = {}
        self._count = 0
        self._sweeper: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        """Start listening."""
        await self._client.subscribe(
            f"{self._prefix}.*", cb=self._arrived, pending_msgs_limit=-1, pending_bytes_limit=-1
        )

    def expect(self, timeout_s: float, *, outlives_connection: bool = False) -> tuple[str, asyncio.Future[Msg]]:
        """An address for one answer and its future, which fails with NoReply when the time is over."""
        loop = asyncio.get_running_loop()
        address = self._address()
        future: asyncio.Future[Msg] = loop.create_future()
        self._single[address] = _Waiting(future, loop.time() + timeout_s, outlives_connection)
        if self._sweeper is None:
            self._sweeper = loop.call_later(SWEEP_S, self._sweep)
        return address, future

    def collect(self, take: Callable[[Msg], None]) -> str:
        """An address whose every answer goes to `take`, until `forget`."""
        address = self._address()
        self._series[address] = take
        return address

    def forget(self, address: str) -> None:
        """Expect nothing more at an address."""
        self._single.pop(address, None)
        self._series.pop(address, None)

    def connection_lost(self) -> None:
        """Fail what a lost connection does not bring any more."""
        for address, waiting in list(self._single.items()):
            if not waiting.outlives_connection:
                self._fail(address, waiting, "the connection was lost")

    def unreachable(self) -> None:
        """Fail everything that is waited for: the broker does not answer."""
        for address, waiting in list(self._single.items()):
            self._fail(address, waiting, "the broker does not answer")

    def _address(self) -> str:
        self._count += 1
        return f"{self._prefix}.{self._count:x}"

    async def _arrived(self, message: Msg) -> None:
        take = self._series.get(message.subject)
        if take is not None:
            take(message)
            return
        waiting = self._single.pop(message.subject, None)
        if waiting is not None and not waiting.future.done():
            waiting.future.set_result(message)

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for address, waiting in list(self._single.items()):
            if waiting.future.done():
                del self._single[address]
            elif waiting.deadline <= now:
                self._fail(address, waiting, "no answer in time")
        self._sweeper = loop.call_later(SWEEP_S, self._sweep) if self._single else None

    def _fail(self, address: str, waiting: _Waiting, reason: str) -> None:
        del self._single[address]
        if not waiting.future.done():
            waiting.future.set_exception(NoReply(reason))
            waiting.future.exception()  # nobody has to look at it
