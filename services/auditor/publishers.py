"""Publishers' scores in the log: the epoch that a job pins when it starts, and the scores that its analyses use."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Final
from uuid import UUID

from contracts.topology import JOBS
from contracts.v1 import PublisherEpochClosed, PublisherScored
from kit.bus import Bus
from kit.history import read_history, read_latest
from lifecycle.audits.epochs import NO_EPOCH

_CLOSED: Final = f"{PublisherEpochClosed.SUBJECT}.weekly"


class LoggedScores:
    """Reads scores from the log at every call. Raises: Outage: the log could not be read now."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def closed_epoch(self) -> int:
        """The newest closed epoch."""
        found = await read_latest(self._bus, _CLOSED, stream=JOBS)
        return next((each.event.epoch for each in found if isinstance(each.event, PublisherEpochClosed)), NO_EPOCH)

    async def read(self, publishers: Collection[UUID], epoch: int) -> Mapping[UUID, float]:
        if epoch == NO_EPOCH:
            return {}
        newest = await read_latest(self._bus, *(f"{PublisherScored.SUBJECT}.{id_}" for id_ in publishers), stream=JOBS)
        scores = [each.event for each in newest if isinstance(each.event, PublisherScored)]
        later = [each.publisher_id for each in scores if each.epoch > epoch]
        histories = await asyncio.gather(*(read_history(self._bus, str(id_), stream=JOBS) for id_ in later))
        scores += [each.event for one in histories for each in one if isinstance(each.event, PublisherScored)]
        scores.sort(key=lambda each: each.epoch)
        return {each.publisher_id: each.score for each in scores if each.epoch <= epoch}
