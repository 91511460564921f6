"""What a running gateway remembers when a post is erased: nothing, of any post.

Erasures are rare and memories fill again by themselves, so everything goes and nothing can be overlooked. It goes
twice: when the erasure is told, and once the read model has followed, because an answer made in between may still be of
the old rows. A memory that is missing here shows erased text until the process ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from services.gateway.ports import Facts, Unavailable

AGAIN_S: Final = 0.5


class Forgetting:
    """Empties memories. `memories` are what does it, one each."""

    def __init__(self, facts: Facts, memories: Iterable[Callable[[], None]]) -> None:
        self._facts = facts
        self._memories = tuple(memories)
        self._upto = 0
        self._told = asyncio.Event()

    def erased(self, sequence: int) -> None:
        """Something was erased at a place of the log."""
        self._upto = sequence
        self._forget()
        self._told.set()

    async def run(self) -> None:
        """Forget again whenever the read model has followed an erasure."""
        while True:
            await self._told.wait()
            self._told.clear()
            upto = self._upto
            try:
                await self._facts.caught_up(upto)
            except Unavailable:
                self._told.set()
                await asyncio.sleep(AGAIN_S)
            else:
                self._forget()

    def _forget(self) -> None:
        for forget in self._memories:
            forget()
