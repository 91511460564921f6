"""Admission of observations to the queue of a site, by network and its recent refusals.

Without it a crowd from one network could fill the queue, and readers of real pages would be deferred until their time
is up.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Final

from kit.cache import Cache
from kit.clock import Clock

MAX_NETWORKS: Final = 10_000


class Networks:
    """Refusals by network, a hashed address range. Units: a count expires `window_s` after its last refusal."""

    def __init__(self, window_s: float, clock: Clock) -> None:
        self._refusals: Cache[str, int] = Cache(clock, capacity=MAX_NETWORKS, ttl_s=window_s)

    def refusals(self, network: str) -> int:
        """Recent refusals of pages that this network named."""
        return self._refusals.get(network) or 0

    def add_refusal(self, network: str) -> None:
        """Count a denial of a page that this network named."""
        self._refusals.put(network, self.refusals(network) + 1)


@dataclass(eq=False)
class AdmissionRequest:
    """One observation in the queue of a site, until `timeout` ends."""

    network: str
    refusals: int
    known_page: bool
    timeout: asyncio.Timeout
    displaced: bool = False


class SiteAdmission:
    """The queue of one site, of limited size."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._admitted: list[AdmissionRequest] = []
        self._by_network: Counter[str] = Counter()

    def admit(self, request: AdmissionRequest) -> bool:
        """Admit an observation if there is room, or if it ranks before the last one in the queue, which it displaces.

        Known pages rank first, then networks with few refusals, then those with few admitted observations.
        """
        if len(self._admitted) >= self._capacity:
            last = max(reversed(self._admitted), key=lambda each: self._rank(each, self._by_network[each.network]))
            if self._rank(request, self._by_network[request.network] + 1) >= self._rank(
                last, self._by_network[last.network]
            ):
                return False
            last.displaced = True
            if not last.timeout.expired():
                last.timeout.reschedule(asyncio.get_running_loop().time())
            self._remove(last)
        self._admitted.append(request)
        self._by_network[request.network] += 1
        return True

    def release(self, request: AdmissionRequest) -> None:
        """Leave the queue, unless displaced."""
        if not request.displaced:
            self._remove(request)

    def _remove(self, request: AdmissionRequest) -> None:
        self._admitted.remove(request)
        self._by_network[request.network] -= 1
        if not self._by_network[request.network]:
            del self._by_network[request.network]

    @staticmethod
    def _rank(request: AdmissionRequest, admitted: int) -> tuple[bool, int, int]:
        return not request.known_page, request.refusals, admitted
