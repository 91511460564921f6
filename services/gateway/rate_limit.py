"""Rate limits by key: token buckets in memory."""

from __future__ import annotations

from dataclasses import dataclass

from kit.cache import Cache
from kit.clock import Clock


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at_s: float


@dataclass(frozen=True, slots=True)
class Allowance:
    """The calls left, and the seconds until at least one, and until all, are available."""

    left: int
    next_in_s: float
    whole_in_s: float


class TokenBuckets:
    """A token bucket per key. Units: up to `burst` calls or bytes at once, then one every `every_s` seconds."""

    def __init__(self, clock: Clock, *, burst: int, every_s: float, keys: int = 10_000) -> None:
        self._clock = clock
        self._burst = burst
        self._every_s = every_s
        self._buckets: Cache[str, _Bucket] = Cache(clock, capacity=keys)

    def take(self, key: str, amount: int = 1) -> bool:
        """Take tokens; False, without taking any, if there are not enough."""
        bucket = self._refill(key)
        if bucket.tokens < amount:
            return False
        bucket.tokens -= amount
        return True

    def give_back(self, key: str) -> None:
        """Return the token of a call that was not made after all."""
        self._refill(key).tokens += 1  # the next `_refill` cuts it to the burst

    def allowance(self, key: str) -> Allowance:
        """The calls left for a key now."""
        tokens = self._refill(key).tokens
        return Allowance(
            left=int(tokens),
            next_in_s=max(0.0, (1 - tokens) * self._every_s),
            whole_in_s=(self._burst - tokens) * self._every_s,
        )

    def _refill(self, key: str) -> _Bucket:
        now_s = self._clock.monotonic()
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = _Bucket(self._burst, now_s)
            self._buckets.put(key, bucket)
        bucket.tokens = min(self._burst, bucket.tokens + (now_s - bucket.at_s) / self._every_s)
        bucket.at_s = now_s
        return bucket
