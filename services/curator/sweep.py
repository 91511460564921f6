"""Deletes expired texts, after the fact of it, so that tables lose them at the same place of the log.

A text is unreadable from its hour on, whether or not it is deleted already.
"""

from __future__ import annotations

from typing import Final

from contracts.v1 import RetentionPurged
from kit.clock import Clock
from services.curator.ports import Log, Metrics, Texts

WHAT: Final = "WORDS"
_HOUR: Final = "%Y-%m-%dT%H"


class Sweep:
    """Deletes texts by their hour; a second sweep of an hour finds nothing."""

    def __init__(self, log: Log, texts: Texts, metrics: Metrics, clock: Clock) -> None:
        self._log = log
        self._texts = texts
        self._metrics = metrics
        self._clock = clock

    async def run_once(self) -> int:
        """Delete the texts that expired up to the whole hour; return their number."""
        now = self._clock.now()
        before = now.replace(minute=0, second=0, microsecond=0)
        await self._log.publish(
            RetentionPurged(slot=before.strftime(_HOUR), what=WHAT, before=before), self._clock.new_id()
        )
        removed = await self._texts.sweep(before)
        self._metrics.swept(removed, now)
        return removed
