"""Admission of clients of `/events`: limits of clients in total and per network, and of connects per network.

A client that keeps reconnecting costs more than one that stays connected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from kit.addresses import ip_range_prefix
from services.gateway.rate_limit import TokenBuckets

Refusal = Literal["too often", "too many of this network", "too many"]


class Refused(Exception):
    """No further client is admitted now."""

    def __init__(self, why: Refusal) -> None:
        super().__init__(why)
        self.why = why


class Admission:
    """Counts clients by network, which is the range of their address."""

    def __init__(self, connects: TokenBuckets, *, clients: int, per_network: int) -> None:
        self._connects = connects
        self._limit = clients
        self._per_network = per_network
        self._clients: Counter[str] = Counter()

    def check_rate(self, address: str) -> None:
        """Spend one attempt to connect. Raises: Refused."""
        if not self._connects.take(ip_range_prefix(address)):
            raise Refused("too often")

    @contextmanager
    def reserve(self, address: str) -> Iterator[None]:
        """Count a client while it is connected. Raises: Refused."""
        network = ip_range_prefix(address)
        if self._clients[network] >= self._per_network:
            raise Refused("too many of this network")
        if self._clients.total() >= self._limit:
            raise Refused("too many")
        self._clients[network] += 1
        try:
            yield
        finally:
            self._clients[network] -= 1
            if not self._clients[network]:
                del self._clients[network]
