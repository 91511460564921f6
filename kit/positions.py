"""Waiting until the read model has caught up, so that a reader finds what it was just told.

The projector announces its position after each commit. An announcement can be lost, so whoever waits in silence looks
the position up; without either, the caller says that it could not be confirmed.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable

from nats.aio.msg import Msg

from kit.bus import Bus, position_subject

LOOK_UP_EVERY_S = 0.25


class Positions:
    """How far the read model is, per stream."""

    def __init__(self, bus: Bus, look_up: Callable[[str], Awaitable[int]]) -> None:
        self._bus = bus
        self._look_up = look_up
        self._known: dict[str, int] = {}
        self._heard_at: dict[str, float] = {}
        self._waiting: dict[str, list[tuple[int, int, asyncio.Future[None]]]] = {}
        self._order = 0

    async def open(self) -> None:
        """Listen to announcements."""
        await self._bus.client.subscribe(position_subject("*"), cb=self._announced)

    async def _announced(self, message: Msg) -> None:
        self._advance(message.subject.rpartition(".")[2], int(message.data))

    def _advance(self, stream: str, sequence: int) -> None:
        self._heard_at[stream] = asyncio.get_running_loop().time()
        self._known[stream] = max(sequence, self._known.get(stream, 0))
        waiting = self._waiting.get(stream, [])
        while waiting and waiting[0][0] <= sequence:
            _, _, future = heapq.heappop(waiting)
            if not future.done():
                future.set_result(None)

    async def reached(self, stream: str, sequence: int, timeout_s: float) -> bool:
        """Wait until the read model holds everything up to `sequence`; False if it does not get there in time."""
        if self._known.get(stream, 0) >= sequence:
            return True
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        self._order += 1
        future: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._waiting.setdefault(stream, []), (sequence, self._order, future))
        while not future.done():
            remaining_s = deadline - loop.time()
            if remaining_s <= 0:
                future.cancel()
                return False
            done, _ = await asyncio.wait((future,), timeout=min(LOOK_UP_EVERY_S, remaining_s))
            # While announcements come, a slow projector would only be slowed by everybody who asks how far it is.
            if not done and loop.time() - self._heard_at.get(stream, 0.0) >= LOOK_UP_EVERY_S:
                self._advance(stream, await self._look_up(stream))
        return True
