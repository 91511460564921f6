"""Clears all caches of posts when any post is erased, or a finding is taken back or released.

Both are rare, so all entries are dropped. They are dropped twice: when the fact is published, and once the read model
has applied it, because an answer in between may still be of the old rows. A cache that is not registered here would
serve erased text until the process ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from services.gateway.ports import Facts, Unavailable

RETRY_S: Final = 0.5


class CacheInvalidation:
    """Clears caches. `caches` are their `clear` functions."""

    def __init__(self, facts: Facts, caches: Iterable[Callable[[], None]]) -> None:
        self._facts = facts
        self._caches = tuple(caches)
        self._upto = 0
        self._published = asyncio.Event()

    def invalidate(self, sequence: int) -> None:
        """Clear the caches now, and again once the read model has applied the event at this sequence."""
        self._upto = sequence
        self._clear_caches()
        self._published.set()

    async def run(self) -> None:
        """Clear the caches whenever the read model has applied an event given to `invalidate`."""
        while True:
            await self._published.wait()
            self._published.clear()
            upto = self._upto
            try:
                await self._facts.wait_for_projection(upto)
            except Unavailable:
                self._published.set()
                await asyncio.sleep(RETRY_S)
            else:
                self._clear_caches()

    def _clear_caches(self) -> None:
        for clear in self._caches:
            clear()
