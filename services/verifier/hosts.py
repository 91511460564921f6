"""The state of hosts: running and waiting requests, breaker, average duration.

A free turn goes to known pages first, then to networks with the fewest refusals and turns, so that a crowd from one
network, or one that names pages which do not exist, cannot use up the time of all other readers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

from kit.cache import Cache
from services.verifier.breaker import Breaker

MAX_HOSTS: Final = 1_024
"""Readers choose the hosts (any name can be a publication), so their number must be limited."""
_NEWEST_WEIGHT: Final = 0.3


@dataclass
class Demand:
    """Who waits for one page. Shapes: `networks` has the recent refusals of each network.

    `known_page`: the site has confirmed this page before.
    """

    known_page: bool = False
    networks: dict[str, int] = field(default_factory=dict)

    def join(self, network: str, refused: int) -> None:
        """Add the network of another reader that waits for the page."""
        self.networks[network] = refused

    def best_network(self, turns: Counter[str]) -> tuple[int, int, str]:
        """The waiting network with the fewest refusals and turns: (refusals, turns, network)."""
        return min(((refused, turns[name], name) for name, refused in self.networks.items()), default=(0, 0, ""))


@dataclass(eq=False)
class _Waiter:
    demand: Demand
    number: int
    turn: asyncio.Future[float]


class Host:
    """One host. Units: `average_s` is the moving average of its requests' durations, 0 before the first."""

    def __init__(self, concurrency: int, breaker: Breaker) -> None:
        self.breaker = breaker
        self.average_s = 0.0
        self._concurrency = concurrency
        self._turns: Counter[str] = Counter()
        """Turns by network since the queue was last empty."""
        self._began_s: list[float] = []
        self._waiters: list[_Waiter] = []
        self._arrivals = 0

    @property
    def visitors(self) -> int:
        """Running and waiting requests."""
        return len(self._began_s) + len(self._waiters)

    def expected_wait_s(self, demand: Demand) -> float:
        """An estimate of how long this demand would wait for a turn."""
        if len(self._began_s) < self._concurrency:
            return 0.0
        rank = self._rank(demand, self._arrivals)
        rounds, place = divmod(
            sum(self._rank(each.demand, each.number) < rank for each in self._waiters), len(self._began_s)
        )
        elapsed_s = asyncio.get_running_loop().time() - sorted(self._began_s)[place]
        return rounds * self.average_s + max(0.0, self.average_s - elapsed_s)

    def record_duration(self, seconds: float) -> None:
        """Add a duration to the average."""
        self.average_s += (seconds - self.average_s) * (_NEWEST_WEIGHT if self.average_s else 1.0)

    @asynccontextmanager
    async def turn(self, until_s: float, demand: Demand | None = None) -> AsyncIterator[bool]:
        """Wait for a turn until a time of the loop's clock; whether there is one.

        Does not wait at all if the turn is expected too late.
        """
        began_s = await self._wait_for_turn(demand or Demand(), until_s)
        if began_s is None:
            yield False
            return
        try:
            yield True
        finally:
            self._end(began_s)

    async def _wait_for_turn(self, demand: Demand, until_s: float) -> float | None:
        """When the turn started; None if there is none in time."""
        now_s = asyncio.get_running_loop().time()
        if len(self._began_s) < self._concurrency:
            return self._begin(demand)
        if now_s + self.expected_wait_s(demand) >= until_s:
            return None
        waiter = _Waiter(demand, self._arrivals, asyncio.get_running_loop().create_future())
        self._arrivals += 1
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout_at(until_s):
                return await asyncio.shield(waiter.turn)
        except TimeoutError:
            return waiter.turn.result() if waiter.turn.done() else None
        except asyncio.CancelledError:
            if waiter.turn.done():
                self._end(waiter.turn.result())
            raise
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def _begin(self, demand: Demand) -> float:
        now_s = asyncio.get_running_loop().time()
        self._began_s.append(now_s)
        self._turns[demand.best_network(self._turns)[2]] += 1
        return now_s

    def _end(self, began_s: float) -> None:
        self._began_s.remove(began_s)
        if self._waiters:
            first = min(self._waiters, key=lambda each: self._rank(each.demand, each.number))
            self._waiters.remove(first)
            first.turn.set_result(self._begin(first.demand))
        else:
            self._turns.clear()

    def _rank(self, demand: Demand, number: int) -> tuple[bool, int, int, int]:
        refused, turns, _ = demand.best_network(self._turns)
        return not demand.known_page, refused, turns, number


class Hosts:
    """Hosts by name. Hosts with running requests stay; those with breaker state are kept in a cache of their own."""

    def __init__(self, make: Callable[[], Host], *, capacity: int = MAX_HOSTS) -> None:
        self._make = make
        self._hosts: WeakValueDictionary[str, Host] = WeakValueDictionary()
        self._recent: Cache[str, Host] = Cache(capacity=capacity, on_evict=self._keep_if_not_clean)
        self._troubled: Cache[str, Host] = Cache(capacity=capacity)

    def __len__(self) -> int:
        return len(self._hosts)

    def get(self, name: str) -> Host:
        """The state of a host."""
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = self._make()
        self._recent.put(name, host)
        return host

    def _keep_if_not_clean(self, name: str, host: Host) -> None:
        if not host.breaker.is_clean:
            self._troubled.put(name, host)
