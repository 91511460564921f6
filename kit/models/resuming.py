"""Resume from a record: recorded answers are reused, later ones come from the provider.

Only the same model with the same instructions and tools resumes a record; any other would continue a conversation that
it never had.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Final

from contracts.transcript import Research, Transcript

Answer = Callable[[str], Awaitable[str]]

_MAY_DIFFER: Final = {"calls", "research", "error", "limits", "price", "instead_of", "taken_over"}


def can_resume(done: Transcript, head: Transcript) -> bool:
    """Whether a run with this head can continue this record."""
    return done.model_dump(exclude=_MAY_DIFFER) == head.model_dump(exclude=_MAY_DIFFER)


class Lookup:
    """Recorded answers by request, in their order for a repeated request."""

    def __init__(self, research: Iterable[Research]) -> None:
        self._answers: defaultdict[tuple[str, str], deque[str]] = defaultdict(deque)
        for each in research:
            self._answers[each.name, each.arguments].append(each.output)

    def before(self, live: Mapping[str, Answer]) -> dict[str, Answer]:
        """The functions of `live`, which answer from the record first."""
        return {name: partial(self.answer, name, live=answer) for name, answer in live.items()}

    async def answer(self, name: str, arguments: str, *, live: Answer) -> str:
        """The recorded answer, else a live one."""
        waiting = self._answers[name, arguments]
        return waiting.popleft() if waiting else await live(arguments)
