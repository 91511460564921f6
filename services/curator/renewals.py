"""Has claims of stale entries analysed again, at the instance's cost.

A renewal is the newest request of an analysis once more, stored only behind it: of two curators, or a curator and a
job, one is taken, and jobs that need the claim meanwhile join. Limits of calls and tries hold as for any analysis.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, Protocol

import structlog

from contracts.v1 import AssertionAnalysisRequested
from contracts.v1.ids import analysis_run_id
from contracts.v1.parts import EphemeralRef
from kit.clock import Clock
from lifecycle.audits.cache import LIFETIME
from lifecycle.audits.entries import MANY_STALE, choose_renewals
from services.curator.ports import Log
from services.curator.record.entries import Due, SqlEntries

DAY: Final = timedelta(days=1)
WORDS_KEPT: Final = LIFETIME + DAY
"""A claim whose newest request is older has no words; it would be in the way of the others for ever."""

log = structlog.get_logger(__name__)


class KeptTexts(Protocol):
    """Texts that expire. Raises: BlobsUnavailable."""

    async def get(self, ref: EphemeralRef) -> str:
        """Raises: LookupError: it has expired or was removed."""

    async def put(self, text: str, until: datetime) -> EphemeralRef: ...


class Renewals:
    """Requests what is due. Units: `a_day` are analyses of entries' claims in 24 hours, requested by any curator."""

    def __init__(self, record: SqlEntries, texts: KeptTexts, log_: Log, clock: Clock, *, a_day: int) -> None:
        self._record = record
        self._texts = texts
        self._log = log_
        self._clock = clock
        self._a_day = a_day

    async def run_once(self) -> int:
        """Request once; how many analyses. Only tables that hold all of the log say how many there were already."""
        if not await self._record.holds(await self._record.newest()):
            return 0
        now, requested = self._clock.now(), 0
        most = self._a_day - await self._record.requested(now - DAY)
        if most <= 0:
            return 0
        due = await self._record.stale(now - WORDS_KEPT, now - DAY, MANY_STALE)
        for each in choose_renewals(due, now, most):
            event = await self._renew(each, now)
            if event is not None and await self._log.publish(event, self._clock.new_id()):
                log.info("a stale entry is analysed again", entry=str(each.entry_id), run=str(event.run_id))
                requested += 1
        return requested

    async def _renew(self, due: Due, now: datetime) -> AssertionAnalysisRequested | None:
        """The request; None: another one came first, or the claim's words are gone."""
        found = await self._record.request(due.assertion_id)
        if found is None or found[0] != due.requested_sequence:
            return None
        sequence, before = found
        try:
            words = await self._texts.get(before.words)
        except LookupError:
            return None
        changes = {
            "follows": sequence,
            "run_id": analysis_run_id(due.assertion_id, sequence),
            "words": await self._texts.put(words, now + WORDS_KEPT),
            "score_epoch": await self._record.closed_epoch(),
            "requested_by": due.entry_id,
        }
        return AssertionAnalysisRequested(**{**dict(before), **changes})
