"""Who may wait for a site: places by network, and how many pages each network named of late in vain.

Without it a crowd from one network would hold every place, and readers of real pages would be put off until their time
is up.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final

NETWORKS_REMEMBERED: Final = 10_000


class Networks:
    """Networks by hashed address range. Units: refusals are counted until a network had none for `window_s`."""

    def __init__(self, window_s: float, *, now_s: Callable[[], float] = monotonic) -> None:
        self._window_s = window_s
        self._now_s = now_s
        self._refused: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def refused(self, network: str) -> int:
        """How many pages this network named in vain of late."""
        until_s, count = self._refused.get(network, (0.0, 0))
        return count if self._now_s() < until_s else 0

    def add_refusal(self, network: str) -> None:
        """A site denied a page to this network."""
        self._refused[network] = self._now_s() + self._window_s, self.refused(network) + 1
        self._refused.move_to_end(network)
        if len(self._refused) > NETWORKS_REMEMBERED:
            self._refused.popitem(last=False)


@dataclass(eq=False)
class Place:
    """One observation that waits for a site, until `patience` ends."""

    network: str
    refused: int
    known_page: bool
    patience: asyncio.Timeout
    displaced: bool = False


class Places:
    """The places of one site."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._taken: list[Place] = []
        self._held: Counter[str] = Counter()

    def take(self, place: Place) -> bool:
        """Take a free place, or that of the observation with the least claim, if its claim is less than this one's.

        Known pages come first, then networks with few refusals, then those that hold few places.
        """
        if len(self._taken) >= self._size:
            last = max(reversed(self._taken), key=lambda each: self._rank(each, self._held[each.network]))
            if self._rank(place, self._held[place.network] + 1) >= self._rank(last, self._held[last.network]):
                return False
            last.displaced = True
            if not last.patience.expired():
                last.patience.reschedule(asyncio.get_running_loop().time())
            self._remove(last)
        self._taken.append(place)
        self._held[place.network] += 1
        return True

    def leave(self, place: Place) -> None:
        """Give it back, unless another has it."""
        if not place.displaced:
            self._remove(place)

    def _remove(self, place: Place) -> None:
        self._taken.remove(place)
        self._held[place.network] -= 1
        if not self._held[place.network]:
            del self._held[place.network]

    @staticmethod
    def _rank(place: Place, held: int) -> tuple[bool, int, int]:
        return not place.known_page, place.refused, held
