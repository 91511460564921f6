"""Keeps entries of the catalogue current: marks stale ones, records newer analyses, renews at the instance's cost.

The tables are compared as a whole, so nothing is missed whatever happened meanwhile. They are used only once they hold
the log, and each event follows the newest one about its entry or claim, so of two curators the stream refuses one.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, Protocol

import structlog

from analyses.claim_audit import ClaimAudit
from contracts.jobs.words import Remark
from contracts.v1 import AssertionAnalysisRequested, EditMade, EntryStaled
from contracts.v1.ids import analysis_run_id, reanalysis_edit_id
from contracts.v1.parts import EphemeralRef
from kit.clock import Clock
from lifecycle.audits.cache import LIFETIME
from lifecycle.audits.entries import MANY_STALE, STALE_BY, Entry, choose_renewals, words_until
from services.curator.ports import Log
from services.curator.record.entries import Cause, Due, Reanalysed, SqlEntries

PAGE: Final = 1_000
PROMPTS: Final = frozenset(step.prompt.sha256 for step in (ClaimAudit.analyse, ClaimAudit.analyse_deep))
"""The hashes of the current prompts that claims are analysed with."""
REASON: Final = "The claim was analysed again."
DAY: Final = timedelta(days=1)
WORDS_KEPT: Final = LIFETIME + DAY
"""A claim whose newest request is older has no words left: it cannot be renewed, and would block others for ever."""

log = structlog.get_logger(__name__)


class KeptTexts(Protocol):
    """Texts that expire. Raises: BusError."""

    async def get(self, ref: EphemeralRef) -> str:
        """Raises: LookupError: it has expired or was removed."""

    async def put(self, text: str, until: datetime) -> EphemeralRef: ...


class Staleness:
    """Marks entries as stale for causes other than edits and decisions of people."""

    def __init__(self, record: SqlEntries, log_: Log, clock: Clock) -> None:
        self._record = record
        self._log = log_
        self._clock = clock
        self._since: int | None = None

    async def run_once(self) -> int:
        """Compare once; return how many entries became stale."""
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
    """The event that marks parts of an entry as stale."""
    return EntryStaled(
        follows=cause.staled_sequence,
        entry_id=cause.entry_id,
        parts=STALE_BY[cause.trigger],
        trigger=cause.trigger,
        cause_id=cause.cause_id,
    )


class Reanalyses:
    """Records each newer analysis of a claim as an edit of its entry, by the system.

    Such an edit changes no words: it keeps those of the newest edit, or those that the entry was published with.
    """

    def __init__(self, record: SqlEntries, texts: KeptTexts, log: Log, clock: Clock) -> None:
        self._record = record
        self._texts = texts
        self._log = log
        self._clock = clock

    async def run_once(self) -> int:
        """Record one newer analysis of each entry; return how many. Waits until the tables hold all of the log."""
        if not await self._record.holds(await self._record.newest()):
            return 0
        recorded = 0
        for each in await self._record.reanalysed(PAGE):
            entry = await self._record.entry(each.entry_id)
            if entry is not None:
                event = await self._make(entry, each)
                recorded += await self._log.publish(event, self._clock.new_id())
        return recorded

    async def _make(self, entry: Entry, found: Reanalysed) -> EditMade:
        now, newest, edit_id = self._clock.now(), entry.newest, reanalysis_edit_id(found.entry_id, found.analysis_id)
        if newest is None or newest.after.has_expired(now):
            words = await self._texts.put(entry.published_words.model_dump_json(), words_until(now))
        else:
            words = newest.after
        reason = await self._texts.put(Remark(about=edit_id, text=REASON).model_dump_json(), words.until)
        return EditMade(
            follows=entry.newest_sequence,
            entry_id=found.entry_id,
            edit_id=edit_id,
            entity_type="ANALYSIS",
            entity_id=found.analysis_id,
            version=entry.version + 1,
            edit_type="SYSTEM_REANALYSIS",
            fields=("analysis",),
            hidden=entry.is_hidden,
            reworded=newest is not None and newest.reworded,
            reason=reason,
            before=words,
            after=words,
        )


class Renewals:
    """Has claims of stale entries analysed again, by repeating their newest request.

    Jobs that need the claim meanwhile join. Limits of calls and tries hold as for any analysis.
    Units: `a_day` is the limit of analyses of entries' claims in 24 hours, those that jobs requested included.
    """

    def __init__(self, record: SqlEntries, texts: KeptTexts, log_: Log, clock: Clock, *, a_day: int) -> None:
        self._record = record
        self._texts = texts
        self._log = log_
        self._clock = clock
        self._a_day = a_day

    async def run_once(self) -> int:
        """Request the analyses that are due; return how many. Waits until the tables hold all of the log."""
        if not await self._record.holds(await self._record.newest()):
            return 0
        now, requested = self._clock.now(), 0
        due = await self._record.stale(now - WORDS_KEPT, now - DAY, MANY_STALE)
        # Counted last, so that what another curator has requested meanwhile counts against the limit.
        most = max(0, self._a_day - await self._record.requested(now - DAY))
        for each in choose_renewals(due, now, most):
            event = await self._renew(each, now)
            if event is not None and await self._log.publish(event, self._clock.new_id()):
                log.info("a stale entry is analysed again", entry=str(each.entry_id), run=str(event.run_id))
                requested += 1
        return requested

    async def _renew(self, due: Due, now: datetime) -> AssertionAnalysisRequested | None:
        """The new request; None if another one came first, or the claim's words have expired."""
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
