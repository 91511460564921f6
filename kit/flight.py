"""Simultaneous equal questions are asked once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Questions under way by key. They belong to nobody: a caller that goes away does not stop the others' answer."""

    def __init__(self) -> None:
        self._flying: dict[K, asyncio.Task[V]] = {}

    async def run(self, key: K, make: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """The answer to `make`, shared with everybody who asks under the same key meanwhile."""
        task = self._flying.get(key)
        if task is None:
            task = asyncio.create_task(make())
            self._flying[key] = task
            task.add_done_callback(lambda done: self._landed(key, done))
        return await asyncio.shield(task)

    def under_way(self, key: K) -> bool:
        """Whether somebody has asked and there is no answer yet."""
        return key in self._flying

    async def close(self) -> None:
        """End what is under way."""
        tasks = tuple(self._flying.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _landed(self, key: K, task: asyncio.Task[V]) -> None:
        del self._flying[key]
        if not task.cancelled():
            task.exception()
