"""A bounded cache with lifetimes and single flight."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from math import inf
from typing import Generic, TypeVar

from cachetools import TLRUCache

from kit.clock import Clock, SystemClock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_SYSTEM = SystemClock()


class Cache(Generic[K, V]):
    """The most recently used values up to a total weight, each for its lifetime.

    A value may be None only if its lifetime is 0. Units: `ttl_s` is the lifetime, of all values or of each; the weight
    is 1 without `weigh`. `on_evict` is called with values that were evicted for space.
    """

    def __init__(
        self,
        clock: Clock = _SYSTEM,
        *,
        capacity: int,
        ttl_s: float | Callable[[K, V], float] = inf,
        weigh: Callable[[V], int] | None = None,
        on_evict: Callable[[K, V], None] | None = None,
    ) -> None:
        def expires_at_s(key: K, value: V, now_s: float) -> float:
            return now_s + (ttl_s(key, value) if callable(ttl_s) else ttl_s)

        self._entries: _Entries[K, V] = _Entries(capacity, expires_at_s, clock.monotonic, weigh)
        self._entries.on_evict = on_evict
        self._under_way: dict[tuple[int, K], asyncio.Task[V]] = {}
        self.generation = 0
        """How often the cache was cleared. A caller reads this before its look-up and passes it to `put`."""

    def get(self, key: K) -> V | None:
        """The cached value, None if there is none or it has expired."""
        try:
            return self._entries[key]
        except KeyError:
            return None

    def put(self, key: K, value: V, *, generation: int | None = None) -> None:
        """Cache a value, evicting the least recently used; values looked up before a clear are not cached."""
        if generation is not None and generation != self.generation:
            return
        try:
            self._entries[key] = value
        except ValueError:  # heavier than the capacity
            self.evict(key)

    def evict(self, key: K) -> None:
        """Remove a value."""
        self._entries.pop(key, None)

    def clear(self) -> None:
        """Remove all values; look-ups in progress are neither cached nor shared with later callers."""
        self._entries.clear()
        self.generation += 1

    async def get_or_make(self, key: K, make: Callable[[], Awaitable[V]]) -> V:
        """The cached value, else the result of `make`, shared by concurrent callers; an error is not cached.

        A cancelled caller does not end the look-up.
        """
        cached = self.get(key)
        return await asyncio.shield(self.refresh(key, make)) if cached is None else cached

    def refresh(self, key: K, make: Callable[[], Awaitable[V]]) -> asyncio.Task[V]:
        """Look the value up again, unless a look-up is in progress."""
        flight = self.generation, key
        task = self._under_way.get(flight)
        if task is None:
            task = self._under_way[flight] = asyncio.create_task(self._make(flight, make))
            task.add_done_callback(lambda done: self._finish(flight, done))
        return task

    def under_way(self, key: K) -> bool:
        """Whether a look-up is in progress."""
        return (self.generation, key) in self._under_way

    async def close(self) -> None:
        """Cancel look-ups in progress."""
        tasks = tuple(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def __len__(self) -> int:
        return len(self._entries)

    async def _make(self, flight: tuple[int, K], make: Callable[[], Awaitable[V]]) -> V:
        generation, key = flight
        value = await make()
        self.put(key, value, generation=generation)
        return value

    def _finish(self, flight: tuple[int, K], task: asyncio.Task[V]) -> None:
        del self._under_way[flight]
        if not task.cancelled():
            task.exception()


class _Entries(TLRUCache[K, V, float]):
    on_evict: Callable[[K, V], None] | None = None

    def popitem(self) -> tuple[K, V]:
        key, value = super().popitem()
        if self.on_evict is not None:
            self.on_evict(key, value)
        return key, value
