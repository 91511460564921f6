"""Rights: the quotes from an address are withdrawn as soon as their owner asks, from every analysis that has them.

The log is read, not a table that may lag behind it: whatever was analysed before the objection is found.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

from contracts.v1 import AssertionInvalidated, Event, FlagRaised
from kit.clock import Clock
from services.curator.ports import CitationLog, Removal

ISSUE: Final = "RIGHTS"
KEPT: Final = timedelta(days=91)
"""Older analyses have no words any more."""


class Withdrawals:
    """Withdraws quotes."""

    def __init__(self, log: CitationLog, texts: Removal, clock: Clock) -> None:
        self._log = log
        self._texts = texts
        self._clock = clock

    async def on_flag_raised(self, event: FlagRaised, delivery_count: int) -> AsyncIterator[Event]:
        """Invalidate what quotes the address of an objection, and remove the words."""
        if event.issue_type != ISSUE or event.url_sha256 is None:
            return
        async for found in self._log.citing(event.url_sha256, self._clock.now() - KEPT):
            yield AssertionInvalidated(assertion_id=found.assertion_id, analysis_id=found.analysis_id, why=ISSUE)
            await self._texts.remove(found.body)
