"""Records what makes entries of the catalogue stale beside the edits and decisions of people.

The tables are compared as a whole, so nothing is missed whatever happened meanwhile. They count once they hold what the
log held at the comparison before, and of two curators the stream refuses one.
"""

from __future__ import annotations

from typing import Final

import structlog

from analyses.claim_audit import ClaimAudit
from contracts.v1 import EntryStaled
from kit.clock import Clock
from lifecycle.audits.entries import STALE_BY
from services.curator.ports import Log
from services.curator.record.entries import Cause, SqlEntries

PAGE: Final = 1_000
PROMPTS: Final = frozenset(step.prompt.sha256 for step in (ClaimAudit.analyse, ClaimAudit.analyse_deep))
"""The instructions that claims are analysed with now."""

log = structlog.get_logger(__name__)


class Staleness:
    """Publishes what is not recorded yet."""

    def __init__(self, record: SqlEntries, log_: Log, clock: Clock) -> None:
        self._record = record
        self._log = log_
        self._clock = clock
        self._since: int | None = None

    async def run_once(self) -> int:
        """Compare once; how many entries became stale."""
        if self._since is None:
            self._since = await self._record.newest()
        if not await self._record.holds(self._since):
            return 0
        staled, correlation = 0, self._clock.new_id()
        for cause in await self._record.causes(PROMPTS, ClaimAudit.rules, PAGE):
            staled += await self._log.publish(make_stale(cause), correlation)
        self._since = await self._record.newest()
        if staled:
            log.info("entries are stale", entries=staled)
        return staled


def make_stale(cause: Cause) -> EntryStaled:
    """The event that says so."""
    return EntryStaled(
        follows=cause.staled_sequence,
        entry_id=cause.entry_id,
        parts=STALE_BY[cause.trigger],
        trigger=cause.trigger,
        cause_id=cause.cause_id,
    )
