"""The ends of rounds, received as they are stored, so that a review needs no request to the log."""

from __future__ import annotations

import sys
from typing import Final, NamedTuple
from uuid import UUID

from contracts.topology import ERRATA
from contracts.v1 import InvestigationCompleted, InvestigationFailed, decode
from kit.bus import Bus
from kit.cache import Cache
from kit.ordered import OrderedLog, StoredMessage
from kit.pages import read_last_sequence

CACHE_SIZE: Final = 10_000
SUBJECTS: Final = tuple(f"{end.SUBJECT}.*" for end in (InvestigationFailed, InvestigationCompleted))


class _End(NamedTuple):
    """The newest round that ended, and its sequence."""

    sequence: int
    round: int


class EndedRounds:
    """The ends since this process subscribed.

    `position`: the sequence of the last one.
    """

    def __init__(self, bus: Bus, *, capacity: int = CACHE_SIZE) -> None:
        self._bus = bus
        self._since: int | None = None
        self._rounds: Cache[str, _End] = Cache(capacity=capacity, on_evict=self._evicted)
        self.position = 0

    async def run(self) -> None:
        """Follow the log; after an error it starts again without state."""
        self._rounds.clear()
        since = await read_last_sequence(self._bus, ERRATA.name)
        self._since = since
        try:
            async for batch in OrderedLog(self._bus, ERRATA.name, since + 1, subjects=SUBJECTS).batches():
                for message in batch:
                    self._add(message)
        finally:
            self._since = None

    def covers(self, began: int) -> bool:
        """Whether the end of what started at this sequence would have been received."""
        return self._since is not None and began > self._since

    def is_over(self, investigation: UUID, round_: int) -> bool:
        """Whether the end of this round, or of a later one, was received."""
        end = self._rounds.get(str(investigation))
        return end is not None and end.round >= round_

    def _add(self, message: StoredMessage) -> None:
        event = decode(message.subject, message.data).event
        round_ = event.round if isinstance(event, InvestigationFailed) else sys.maxsize
        before = self._rounds.get(event.key())
        self._rounds.put(event.key(), _End(message.sequence, max(round_, before.round) if before else round_))
        self.position = message.sequence

    def _evicted(self, _: str, end: _End) -> None:
        if self._since is not None:
            self._since = max(self._since, end.sequence)
