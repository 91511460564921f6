"""What the gateway remembers between requests; all of it bounded, so that no stranger can fill the memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from kit.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Memory(Generic[K, V]):
    """The most recently used answers, up to a total weight and, if asked for, up to an age."""

    def __init__(
        self, clock: Clock, *, capacity: int, ttl_s: float | None = None, weigh: Callable[[V], int] | None = None
    ) -> None:
        self._clock = clock
        self._capacity = capacity
        self._ttl_s = ttl_s
        self._weigh = weigh or (lambda _: 1)
        self._entries: OrderedDict[K, tuple[V, float | None]] = OrderedDict()
        self._weight = 0
        self.cleared = 0
        """How often everything was forgotten. Who looks something up notes this first and hands it to `put`."""

    def get(self, key: K) -> V | None:
        """What is remembered, if it is still fresh."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        value, expires_at_s = entry
        if expires_at_s is not None and self._clock.monotonic() >= expires_at_s:
            self._forget(key)
            return None
        self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V, *, cleared: int | None = None) -> None:
        """Remember, and forget what was not used for longest; what was looked up before a clearing is not kept."""
        if cleared is not None and cleared != self.cleared:
            return
        self._forget(key)
        self._entries[key] = value, None if self._ttl_s is None else self._clock.monotonic() + self._ttl_s
        self._weight += self._weigh(value)
        while self._weight > self._capacity:
            self._forget(next(iter(self._entries)))

    def clear(self) -> None:
        """Forget everything, and whatever is being looked up now."""
        self._entries.clear()
        self._weight = 0
        self.cleared += 1

    def _forget(self, key: K) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._weight -= self._weigh(entry[0])

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at_s: float


class Allowance:
    """A token bucket per key. Units: `burst` calls, or bytes, at once, then one every `every_s` seconds."""

    def __init__(self, clock: Clock, *, burst: int, every_s: float, keys: int = 10_000) -> None:
        self._clock = clock
        self._burst = burst
        self._every_s = every_s
        self._buckets: Memory[str, _Bucket] = Memory(clock, capacity=keys)

    def take(self, key: str, amount: int = 1) -> bool:
        """Spend one call, or so many bytes; False, and nothing is spent, if not so much is left."""
        now_s = self._clock.monotonic()
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = _Bucket(self._burst, now_s)
            self._buckets.put(key, bucket)
        bucket.tokens = min(self._burst, bucket.tokens + (now_s - bucket.at_s) / self._every_s)
        bucket.at_s = now_s
        if bucket.tokens < amount:
            return False
        bucket.tokens -= amount
        return True
