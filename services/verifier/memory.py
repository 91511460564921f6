"""One look-up at a time per page, shared by all who ask meanwhile, and remembered for as long as it can be believed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from time import monotonic
from typing import Generic, TypeVar

from kit.flight import SingleFlight

Outcome = TypeVar("Outcome")
LookUp = Callable[[], Awaitable[tuple[Outcome, float]]]
"""Brings an outcome and the number of seconds for which it can be believed."""


class Memory(Generic[Outcome]):
    """Outcomes by key, those used least are forgotten first."""

    def __init__(self, size: int, *, now_s: Callable[[], float] = monotonic) -> None:
        self._size = size
        self._now_s = now_s
        self._kept: OrderedDict[Hashable, tuple[float, Outcome]] = OrderedDict()
        self._flights: SingleFlight[Hashable, Outcome] = SingleFlight()

    def kept(self, key: Hashable) -> Outcome | None:
        """The remembered outcome, if there is one that can still be believed."""
        kept = self._kept.get(key)
        if kept is None or self._now_s() >= kept[0]:
            return None
        self._kept.move_to_end(key)
        return kept[1]

    def under_way(self, key: Hashable) -> bool:
        """Whether somebody is looking it up."""
        return self._flights.under_way(key)

    async def get(self, key: Hashable, look_up: LookUp[Outcome]) -> Outcome:
        """The remembered outcome, that of the look-up under way, or that of a new one."""
        kept = self.kept(key)
        if kept is not None:
            return kept
        return await self._flights.run(key, partial(self._look_up, key, look_up))

    async def _look_up(self, key: Hashable, look_up: LookUp[Outcome]) -> Outcome:
        outcome, lifetime_s = await look_up()
        self._kept[key] = self._now_s() + lifetime_s, outcome
        self._kept.move_to_end(key)
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)
        return outcome

    async def close(self) -> None:
        """End what is under way."""
        await self._flights.close()
