"""One look-up at a time per page, shared by all who ask meanwhile, and remembered for as long as it can be believed.

A look-up belongs to nobody: if whoever asked first goes away, the others still get their answer.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from time import monotonic
from typing import Generic, TypeVar

Outcome = TypeVar("Outcome")
LookUp = Callable[[], Awaitable[tuple[Outcome, float]]]
"""Brings an outcome and the number of seconds for which it can be believed."""


class Memory(Generic[Outcome]):
    """Outcomes by key, those used least are forgotten first."""

    def __init__(self, size: int, *, now_s: Callable[[], float] = monotonic) -> None:
        self._size = size
        self._now_s = now_s
        self._kept: OrderedDict[Hashable, tuple[float, Outcome]] = OrderedDict()
        self._tasks: dict[Hashable, asyncio.Task[Outcome]] = {}

    def kept(self, key: Hashable) -> Outcome | None:
        """The remembered outcome, if there is one that can still be believed."""
        kept = self._kept.get(key)
        if kept is None or self._now_s() >= kept[0]:
            return None
        self._kept.move_to_end(key)
        return kept[1]

    def under_way(self, key: Hashable) -> bool:
        """Whether somebody is looking it up."""
        return key in self._tasks

    async def get(self, key: Hashable, look_up: LookUp[Outcome]) -> Outcome:
        """The remembered outcome, that of the look-up under way, or that of a new one."""
        kept = self.kept(key)
        if kept is not None:
            return kept
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(self._look_up(key, look_up))
        return await asyncio.shield(task)

    async def _look_up(self, key: Hashable, look_up: LookUp[Outcome]) -> Outcome:
        try:
            outcome, lifetime_s = await look_up()
            self._kept[key] = self._now_s() + lifetime_s, outcome
            self._kept.move_to_end(key)
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)
            return outcome
        finally:
            del self._tasks[key]

    async def close(self) -> None:
        """End what is under way."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
