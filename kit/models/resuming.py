"""Going on from a record: what it holds is not asked again, what comes after it is asked of the world.

A record is gone on from only by who would have made it: another model, other instructions or other tools would put
words into a conversation that was never held.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Final

from contracts.transcript import Research, Transcript

Answer = Callable[[str], Awaitable[str]]

_MAY_DIFFER: Final = {"calls", "research", "error", "limits", "price", "instead_of", "taken_over"}


def goes_on(done: Transcript, head: Transcript) -> bool:
    """Whether a run with this head would have made this record."""
    return done.model_dump(exclude=_MAY_DIFFER) == head.model_dump(exclude=_MAY_DIFFER)


class Lookup:
    """Recorded answers by what was asked, in the order of asking where the same was asked twice."""

    def __init__(self, research: Iterable[Research]) -> None:
        self._answers: defaultdict[tuple[str, str], deque[str]] = defaultdict(deque)
        for each in research:
            self._answers[each.name, each.arguments].append(each.output)

    def before(self, live: Mapping[str, Answer]) -> dict[str, Answer]:
        """Functions that answer from the record first."""
        return {name: partial(self.answer, name, live=answer) for name, answer in live.items()}

    async def answer(self, name: str, arguments: str, *, live: Answer) -> str:
        """The answer on record, or the answer of today."""
        waiting = self._answers[name, arguments]
        return waiting.popleft() if waiting else await live(arguments)
