"""How runs end, heard as it happens: whether a review is still wanted costs no look into the log."""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import Final
from uuid import UUID

from contracts.topology import ERRATA
from contracts.v1 import InvestigationCompleted, InvestigationFailed, decode
from kit.bus import Bus
from kit.ordered import OrderedLog, Recorded
from kit.pages import last_sequence

REMEMBERED: Final = 10_000
SUBJECTS: Final = tuple(f"{end.SUBJECT}.*" for end in (InvestigationFailed, InvestigationCompleted))


class Ends:
    """The ends that came since this process began to listen; of what began before then it knows nothing.

    `position`: the last end that was heard.
    """

    def __init__(self, bus: Bus, *, remembered: int = REMEMBERED) -> None:
        self._bus = bus
        self._remembered = remembered
        self._since: int | None = None
        self._rounds: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self.position = 0

    async def run(self) -> None:
        """Listen for ever; started again after an error it begins anew."""
        self._rounds.clear()
        since = await last_sequence(self._bus, ERRATA.name)
        self._since = since
        try:
            async for batch in OrderedLog(self._bus, ERRATA.name, since + 1, subjects=SUBJECTS).batches():
                for message in batch:
                    self._add(message)
        finally:
            self._since = None

    def knows(self, began: int) -> bool:
        """Whether the end of what began at this place of the log would have been heard."""
        return self._since is not None and began > self._since

    def over(self, investigation: UUID, round_: int) -> bool:
        """Whether this round, or a later one, was heard to end."""
        _, ended = self._rounds.get(str(investigation), (0, 0))
        return ended >= round_

    def _add(self, message: Recorded) -> None:
        event = decode(message.subject, message.data).event
        round_ = event.round if isinstance(event, InvestigationFailed) else sys.maxsize
        _, before = self._rounds.get(event.key(), (0, 0))
        self._rounds[event.key()] = message.sequence, max(round_, before)
        self._rounds.move_to_end(event.key())
        if len(self._rounds) > self._remembered:
            _, (self._since, _) = self._rounds.popitem(last=False)
        self.position = message.sequence
