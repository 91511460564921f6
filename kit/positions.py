"""Wait until the read model has reached a position, so that a reader's next request finds what was just stored.

The projector announces its position after each commit. An announcement can be lost, so after a silence the position is
looked up.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable

from nats.aio.msg import Msg

from kit.bus import Bus, position_subject

LOOK_UP_EVERY_S = 0.25


class Positions:
    """The read model's position in each stream."""

    def __init__(self, bus: Bus, look_up: Callable[[str], Awaitable[int]]) -> None:
        self._bus = bus
        self._look_up = look_up
        self._positions: dict[str, int] = {}
        self._updated_at: dict[str, float] = {}
        self._waiting: dict[str, list[tuple[int, int, asyncio.Future[None]]]] = {}
        self._order = 0

    async def open(self) -> None:
        """Subscribe to announcements."""
        await self._bus.client.subscribe(position_subject("*"), cb=self._receive)

    async def _receive(self, message: Msg) -> None:
        self._advance(message.subject.rpartition(".")[2], int(message.data))

    def _advance(self, stream: str, sequence: int) -> None:
        self._updated_at[stream] = asyncio.get_running_loop().time()
        self._positions[stream] = max(sequence, self._positions.get(stream, 0))
        waiting = self._waiting.get(stream, [])
        while waiting and waiting[0][0] <= sequence:
            _, _, future = heapq.heappop(waiting)
            if not future.done():
                future.set_result(None)

    async def wait_until_reached(self, stream: str, sequence: int, timeout_s: float) -> bool:
        """Wait until the read model has everything up to `sequence`; False if it has not in time."""
        if self._positions.get(stream, 0) >= sequence:
            return True
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        self._order += 1
        future: asyncio.Future[None] = loop.create_future()
        waiting = self._waiting.setdefault(stream, [])
        while waiting and waiting[0][2].done():  # nothing else removes callers that gave up while nothing is projected
            heapq.heappop(waiting)
        heapq.heappush(waiting, (sequence, self._order, future))
        try:
            while not future.done():
                remaining_s = deadline - loop.time()
                if remaining_s <= 0:
                    return False
                done, _ = await asyncio.wait((future,), timeout=min(LOOK_UP_EVERY_S, remaining_s))
                # While announcements arrive, a look-up by every waiter would only slow the projector down.
                if not done and loop.time() - self._updated_at.get(stream, 0.0) >= LOOK_UP_EVERY_S:
                    self._advance(stream, await self._look_up(stream))
            return True
        finally:
            future.cancel()  # unless it is done
