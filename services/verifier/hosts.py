"""What is remembered about hosts: who is asking them, how they have been, how long their answers take."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from services.verifier.breaker import Breaker

HOSTS_REMEMBERED: Final = 1_024
"""Readers choose the hosts (any name can be a publication), so the memory of them must end somewhere."""
_NEWEST_WEIGHS: Final = 0.3


class Host:
    """One host. Units: `usual_s` is how long its answers take of late, 0 if none is known."""

    def __init__(self, at_once: int, breaker: Breaker) -> None:
        self.breaker = breaker
        self.usual_s = 0.0
        self.visitors = 0
        self._at_once = at_once
        self._turns = asyncio.Semaphore(at_once)

    @property
    def expected_wait_s(self) -> float:
        """How long somebody who came now would wait for a turn, as far as one can tell."""
        return max(0, self.visitors + 1 - self._at_once) / self._at_once * self.usual_s

    def took(self, seconds: float) -> None:
        """An answer took so long."""
        self.usual_s += (seconds - self.usual_s) * (_NEWEST_WEIGHS if self.usual_s else 1.0)

    @asynccontextmanager
    async def turn(self, until_s: float) -> AsyncIterator[bool]:
        """Wait for a turn, not beyond a moment of the loop's clock; whether there is one.

        A turn that would come too late is not waited for at all.
        """
        now_s = asyncio.get_running_loop().time()
        if self._turns.locked() and now_s + self.expected_wait_s >= until_s:
            yield False
            return
        self.visitors += 1
        try:
            try:
                async with asyncio.timeout_at(until_s) if self._turns.locked() else asyncio.timeout(None):
                    await self._turns.acquire()
            except TimeoutError:
                yield False
                return
            try:
                yield True
            finally:
                self._turns.release()
        finally:
            self.visitors -= 1


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
