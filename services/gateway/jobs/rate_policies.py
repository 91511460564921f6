"""Rate limits as clients see them: `RateLimit-Policy` and `RateLimit`.

A policy of q requests in w seconds is kept by a token bucket that holds q and regains one every w/q seconds, so that a
client which keeps to the policy is never refused. `t` is the time until the whole quota is available again.
Source: draft-ietf-httpapi-ratelimit-headers, structured fields of RFC 9651.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Final, Self

import http_sf
from http_sf.types import ItemType

from kit.clock import Clock
from services.gateway.http import HeaderList
from services.gateway.jobs.problems import Problem
from services.gateway.rate_limit import TokenBuckets

WRITTEN: Final = 1_024


@dataclass(frozen=True, slots=True)
class RatePolicy:
    """A limit of `quota` requests in `window_s` seconds."""

    name: str
    quota: int
    window_s: int

    @classmethod
    def parse(cls, name: str, setting: str) -> Self:
        """Read a setting such as `60/3600`."""
        quota, window_s = setting.split("/")
        return cls(name, int(quota), int(window_s))

    def headers(self, left: int, whole_in_s: float) -> HeaderList:
        """The headers of an answer under this policy."""
        policy = _write(self.name, q=self.quota, w=self.window_s)
        return (b"ratelimit-policy", policy), (b"ratelimit", _write(self.name, r=left, t=ceil(whole_in_s)))


class RateLimit:
    """One policy, counted for each account or network by this process."""

    def __init__(self, policy: RatePolicy, clock: Clock) -> None:
        self._policy = policy
        self._buckets = TokenBuckets(clock, burst=policy.quota, every_s=policy.window_s / policy.quota)

    def take(self, key: str) -> HeaderList:
        """Count one request and return the headers of its answer. Raises: Problem: the quota is used up."""
        taken = self._buckets.take(key)
        allowance = self._buckets.allowance(key)
        headers = self._policy.headers(allowance.left, allowance.whole_in_s)
        if not taken:
            raise Problem("RATE_LIMITED", retry_after_s=allowance.next_in_s, headers=headers)
        return headers


@lru_cache(WRITTEN)
def _write(name: str, **numbers: int) -> bytes:
    """Serialise a list of one item. Cached: most answers repeat an earlier one."""
    item: ItemType = (name, {**numbers})
    return http_sf.ser([item]).encode()
