"""What is remembered about hosts: who is asking them, how they have been, how long their answers take.

A free turn goes to known pages first, then to networks with the fewest refusals and turns: a crowd from one network,
or one that names pages which do not exist, would otherwise use up the time of all other readers.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from services.verifier.breaker import Breaker

HOSTS_REMEMBERED: Final = 1_024
"""Readers choose the hosts (any name can be a publication), so the memory of them must end somewhere."""
_NEWEST_WEIGHS: Final = 0.3


@dataclass
class Claim:
    """Who wants one page: the networks of all its readers, with the pages that each named in vain of late.

    `known_page`: the site has shown this page before.
    """

    known_page: bool = False
    networks: dict[str, int] = field(default_factory=dict)

    def join(self, network: str, refused: int) -> None:
        """One more reader waits for the page."""
        self.networks[network] = refused

    def best(self, turns: Counter[str]) -> tuple[int, int, str]:
        """Its network with the fewest refusals and turns: (refusals, turns, network)."""
        return min(((refused, turns[name], name) for name, refused in self.networks.items()), default=(0, 0, ""))


@dataclass(eq=False)
class _Waiter:
    claim: Claim
    number: int
    turn: asyncio.Future[float]


class Host:
    """One host. Units: `usual_s` is how long its answers take of late, 0 if none is known."""

    def __init__(self, at_once: int, breaker: Breaker) -> None:
        self.breaker = breaker
        self.usual_s = 0.0
        self._at_once = at_once
        self._turns: Counter[str] = Counter()
        """Turns by network since nobody waited."""
        self._began_s: list[float] = []
        self._waiters: list[_Waiter] = []
        self._arrivals = 0

    @property
    def visitors(self) -> int:
        """How many have a turn or wait for one."""
        return len(self._began_s) + len(self._waiters)

    def expected_wait_s(self, claim: Claim) -> float:
        """How long this claim, made now, would wait for a turn, as far as one can tell."""
        if len(self._began_s) < self._at_once:
            return 0.0
        rank = self._rank(claim, self._arrivals)
        rounds, place = divmod(
            sum(self._rank(each.claim, each.number) < rank for each in self._waiters), len(self._began_s)
        )
        elapsed_s = asyncio.get_running_loop().time() - sorted(self._began_s)[place]
        return rounds * self.usual_s + max(0.0, self.usual_s - elapsed_s)

    def took(self, seconds: float) -> None:
        """An answer took so long."""
        self.usual_s += (seconds - self.usual_s) * (_NEWEST_WEIGHS if self.usual_s else 1.0)

    @asynccontextmanager
    async def turn(self, until_s: float, claim: Claim | None = None) -> AsyncIterator[bool]:
        """Wait for a turn, not beyond a moment of the loop's clock; whether there is one.

        A turn that would come too late is not waited for at all.
        """
        began_s = await self._begun(claim or Claim(), until_s)
        if began_s is None:
            yield False
            return
        try:
            yield True
        finally:
            self._end(began_s)

    async def _begun(self, claim: Claim, until_s: float) -> float | None:
        """When the turn began; None if there is none in time."""
        now_s = asyncio.get_running_loop().time()
        if len(self._began_s) < self._at_once:
            return self._begin(claim)
        if now_s + self.expected_wait_s(claim) >= until_s:
            return None
        waiter = _Waiter(claim, self._arrivals, asyncio.get_running_loop().create_future())
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

    def _begin(self, claim: Claim) -> float:
        now_s = asyncio.get_running_loop().time()
        self._began_s.append(now_s)
        self._turns[claim.best(self._turns)[2]] += 1
        return now_s

    def _end(self, began_s: float) -> None:
        self._began_s.remove(began_s)
        if self._waiters:
            first = min(self._waiters, key=lambda each: self._rank(each.claim, each.number))
            self._waiters.remove(first)
            first.turn.set_result(self._begin(first.claim))
        else:
            self._turns.clear()

    def _rank(self, claim: Claim, number: int) -> tuple[bool, int, int, int]:
        refused, turns, _ = claim.best(self._turns)
        return not claim.known_page, refused, turns, number


class Hosts:
    """Hosts by name. One that somebody is asking is never forgotten, one in trouble only if there is no other."""

    def __init__(self, make: Callable[[], Host], *, remembered: int = HOSTS_REMEMBERED) -> None:
        self._make = make
        self._remembered = remembered
        self._hosts: OrderedDict[str, Host] = OrderedDict()

    def __len__(self) -> int:
        return len(self._hosts)

    def named(self, name: str) -> Host:
        """What is known about a host."""
        host = self._hosts.get(name)
        if host is None:
            if len(self._hosts) >= self._remembered:
                self._forget_one()
            host = self._hosts[name] = self._make()
        self._hosts.move_to_end(name)
        return host

    def _forget_one(self) -> None:
        idle = [name for name, host in self._hosts.items() if host.visitors == 0]
        calm = (name for name in idle if self._hosts[name].breaker.untroubled)
        oldest = next(calm, idle[0] if idle else None)
        if oldest is not None:
            del self._hosts[oldest]
