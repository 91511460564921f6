"""One look-up at a time per page, shared by all who ask meanwhile, and remembered for as long as it can be believed.

Pages and denials are remembered apart: whoever names pages that do not exist would otherwise push out those that do.
"""

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
    """Outcomes by key, those used least are evicted first.

    `size` bounds the good outcomes and those for which `failed` is true, each by itself.
    """

    def __init__(
        self,
        size: int,
        *,
        failed: Callable[[Outcome], bool] = lambda _: False,
        now_s: Callable[[], float] = monotonic,
    ) -> None:
        self._size = size
        self._failed = failed
        self._now_s = now_s
        self._good: OrderedDict[Hashable, tuple[float, Outcome]] = OrderedDict()
        self._bad: OrderedDict[Hashable, tuple[float, Outcome]] = OrderedDict()
        self._flights: SingleFlight[Hashable, Outcome] = SingleFlight()

    def kept(self, key: Hashable) -> Outcome | None:
        """The remembered outcome, if there is one that can still be believed."""
        for outcomes in (self._good, self._bad):
            kept = outcomes.get(key)
            if kept is not None and self._now_s() < kept[0]:
                outcomes.move_to_end(key)
                return kept[1]
        return None

    def was_good(self, key: Hashable) -> bool:
        """Whether a good outcome is remembered, however old."""
        return key in self._good

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
        outcomes = self._bad if self._failed(outcome) else self._good
        if outcomes is self._good:
            self._bad.pop(key, None)
        outcomes[key] = self._now_s() + lifetime_s, outcome
        outcomes.move_to_end(key)
        if len(outcomes) > self._size:
            outcomes.popitem(last=False)
        return outcome

    async def close(self) -> None:
        """End what is under way."""
        await self._flights.close()
