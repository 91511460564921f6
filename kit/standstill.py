"""Detect a stalled projection: one that lags behind its stream and whose position does not move.

The position is sampled in the background, because one reading for a readiness request cannot show movement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

STANDSTILL_S: Final = 10.0
SAMPLE_S: Final = 2.0
LOOK_TIMEOUT_S: Final = 5.0

LookUp = Callable[[str], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Progress:
    """The position, the end of the stream, and when both were read. Units: seconds of a monotonic clock."""

    position: int
    end: int
    since_s: float


def progress(before: Progress | None, position: int, end: int, now_s: float) -> tuple[Progress, bool]:
    """The new state, and whether the projection stands still."""
    if before is None or position != before.position or position >= before.end:
        return Progress(position, end, now_s), False
    return before, now_s - before.since_s >= STANDSTILL_S


class Standstill:
    """Watches the projection of a stream. `position` and `end` are called with the stream's name."""

    def __init__(self, stream: str, *, position: LookUp, end: LookUp) -> None:
        self._stream = stream
        self._position = position
        self._end = end
        self._progress: Progress | None = None
        self.stands = False
        """Whether the projection stood still at the last sample."""

    async def watch(self) -> None:
        """Sample until cancelled; failed samples are skipped."""
        while True:
            with suppress(Exception):
                async with asyncio.timeout(LOOK_TIMEOUT_S):
                    await self.problem()
            await asyncio.sleep(SAMPLE_S)

    async def problem(self) -> str | None:
        """Take a sample; return one sentence if the projection stands still, else None."""
        end = await self._end(self._stream)  # read first, so that facts added meanwhile do not count as lag
        position = await self._position(self._stream)
        now_s = asyncio.get_running_loop().time()
        self._progress, self.stands = progress(self._progress, position, end, now_s)
        if not self.stands:
            return None
        return f"{self._stream}: stands still at {position} of {end}, for {STANDSTILL_S:g} s at least"

    def as_number(self) -> float:
        """1 if it stood still at the last sample, else 0: the value of a gauge."""
        return float(self.stands)
