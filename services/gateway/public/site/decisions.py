"""The page of the decision log: the newest note, and the newest decisions without their words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from services.gateway.public.site.rendering import Values
from services.gateway.record.decision_log import LogEntry
from services.gateway.record.repository import PublicRecord
from tlog.checkpoint import Checkpoint
from tlog.encoding import encode_base64
from tlog.note import Note

PATH: Final = "/log"
PAGE: Final = 50
MEANINGS: Final = {
    "found": "errors were found",
    "nothing_found": "nothing was found wrong",
    "failed": "an investigation failed",
    "cancelled": "an investigation was cancelled",
    "held": "a finding was held before it was shown",
    "hold_ended": "the hold of a finding ended",
    "released": "a finding was released",
    "suspended": "a finding was suspended",
    "retracted": "a finding was retracted",
    "appeal_opened": "a reader appealed against a result",
    "appeal_decided": "an appeal was decided",
    "review_sampled": "findings were drawn for review",
    "review_decided": "a reviewer judged a finding",
    "variant": "the volume of a variant changed",
    "breaker": "a breaker opened or closed",
    "control_committed": "a list of controls, or of posts for the bench, was committed to",
    "control_opened": "a list of controls was opened",
    "log": "the log began, or its key changed",
    "redacted": "decisions about a post were erased",
    "erased": "a decision that was erased before it was logged",
}


@dataclass(frozen=True, slots=True)
class DecisionView:
    """A leaf with the further values of its template."""

    entry: LogEntry

    @property
    def meaning(self) -> str:
        """What was decided, in words."""
        return MEANINGS[self.entry.leaf.k]

    @property
    def at(self) -> datetime:
        """When the event log stored the decision."""
        return datetime.fromtimestamp(self.entry.leaf.t / 1_000, UTC)


async def list_decisions(record: PublicRecord, before: int | None) -> Values:
    """Values of the template; `before`: older than the leaf of this index."""
    async with record.open() as session:
        note = await session.decision_log.newest()
        end = 0 if note is None else note.size if before is None else min(before, note.size)
        entries = await session.decision_log.before(end, PAGE)
    checkpoint = None if note is None else Checkpoint.parse(Note.parse(note.note).text)
    oldest = entries[-1].index if entries else 0
    return {
        "section": None,
        "note": note,
        "origin": checkpoint.origin if checkpoint else None,
        "root": encode_base64(checkpoint.root) if checkpoint else None,
        "decisions": [DecisionView(each) for each in entries],
        "later": before is not None,
        "older": f"{PATH}?before={oldest}" if oldest else None,
    }
