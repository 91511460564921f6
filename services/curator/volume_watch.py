"""Earned volume: a new variant is announced, what it has not earned is taken back, and what it has earned is said.

Where variants are off, none is announced. One whose breaker has closed has a volume all the same.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import structlog

from kit.clock import Clock
from services.curator.ports import Log
from services.curator.record.volumes import SqlVolumes
from services.curator.taking_back import TakeBack
from services.curator.volumes import announce, find_change

HELD: Final = "Withheld: how we found it is new and has not yet been shown to be right often enough."

log = structlog.get_logger(__name__)


class Volumes:
    """Follows the volume of each variant."""

    def __init__(self, record: SqlVolumes, log_: Log, clock: Clock, *, announces: bool) -> None:
        self._record = record
        self._log = log_
        self._clock = clock
        self._takeback = TakeBack(log_, clock)
        self._announces = announces

    async def hold(self, now: datetime) -> int:
        """Take back what is displayed beyond what its variant has earned; how many findings."""
        held = 0
        for each in await self._record.known():
            if each.quota is not None:
                beyond = await self._record.beyond(each.variant, each.since, each.quota)
                held += await self._takeback.suspend(beyond, "CONTROL", HELD, now)
        return held

    async def change(self) -> int:
        """Announce what is new, and say what has changed; how many variants."""
        published = 0
        if self._announces:
            for unknown in await self._record.unknown(self._clock.now()):
                published += await self._log.publish(announce(unknown), self._clock.new_id())
        for known in await self._record.known():
            event = find_change(known, await self._record.seen(known), self._clock.now())
            if event is not None and await self._log.publish(event, self._clock.new_id()):
                log.info("the volume of a variant changed", variant=event.variant, state=event.state, why=event.why)
                published += 1
        return published
