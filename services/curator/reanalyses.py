"""Records each newer analysis of a claim as an edit of its entry, by the system.

Such an edit changes no words: it takes those of the newest edit, or what the entry was published with. It follows the
newest edit, so of two curators, or a curator and an editor, the stream takes one.
"""

from __future__ import annotations

from typing import Final

from contracts.jobs.words import Remark
from contracts.v1 import EditMade
from contracts.v1.ids import reanalysis_edit_id
from kit.clock import Clock
from lifecycle.audits.entries import Entry, words_until
from services.curator.ports import Log
from services.curator.record.entries import Reanalysed, SqlEntries
from services.curator.renewals import KeptTexts

PAGE: Final = 1_000
REASON: Final = "The claim was analysed again."


class Reanalyses:
    """Publishes what is not recorded yet."""

    def __init__(self, record: SqlEntries, texts: KeptTexts, log: Log, clock: Clock) -> None:
        self._record = record
        self._texts = texts
        self._log = log
        self._clock = clock

    async def run_once(self) -> int:
        """Record once, of each entry one analysis; how many. Only tables that hold all of the log say what is new."""
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
