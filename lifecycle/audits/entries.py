"""An entry of the catalogue, folded from its events, and what the next edit of it is. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, Protocol, TypeVar

from contracts.jobs.words import EntryWords
from contracts.v1 import EditMade, EntryPublished, EntryStaled, Event
from contracts.v1.edit import EditType
from contracts.v1.entry import STALE_PARTS, StalePart, StaleTrigger

WORDS_KEPT: Final = timedelta(days=5 * 365)
"""How long the words of edits and flags are kept. Source: requirements FH-121."""
STALE_BY: Final[Mapping[StaleTrigger, tuple[StalePart, ...]]] = {
    "EDIT": STALE_PARTS,
    "FLAGS": ("RISK",),
    "EVIDENCE": ("SCENARIOS", "VERDICT", "CONFIDENCE"),
    "SOURCES": ("VERDICT", "CONFIDENCE"),
    "IMPROVEMENT": ("SCENARIOS", "EVIDENCE", "VERDICT", "CONFIDENCE"),
}
"""The parts that each cause makes stale. Source: requirement FH-127."""
EVIDENCE: Final = "EVIDENCE"
"""The type of flags that suggest evidence."""
SUBMITTED: Final = "CLAIM"
"""The type of flags that submit a claim, for the entry that it would have."""
MANY_FLAGS: Final = 5
"""So many accounts that object to an entry since its newest analysis make its risk stale before anybody decides."""
SCORE_MOVED: Final = 10
"""A publisher's score that moved by more than this makes stale what was judged by it. Units: points of 100."""
MANY_STALE: Final = 1_000
"""So many stale entries are not analysed again by themselves at night; each is when somebody asks for its claim."""
_NIGHT: Final = range(1, 5)
"""Hours in UTC."""


class StaleEntry(Protocol):
    """An entry that is not as it should be."""

    @property
    def stale(self) -> Collection[str]:
        """The parts that are stale."""


S = TypeVar("S", bound=StaleEntry)


class Readers(NamedTuple):
    """Who made a claim known: succeeded jobs that are no drafts, of articles at addresses, and by so many accounts."""

    public_jobs: int
    accounts: int


def may_be_published(readers: Readers) -> bool:
    """Whether a claim may get a page: it stands at a public address, or more than one account asked. Never a draft."""
    return readers.public_jobs > 0 or readers.accounts > 1


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry as its newest edit left it. Shapes: `words` None of the newest edit: they have expired."""

    published: EntryPublished
    newest: EditMade | None = None
    newest_sequence: int = 0
    staled_sequence: int = 0

    @property
    def version(self) -> int:
        """The version that an edit must name."""
        return 1 if self.newest is None else self.newest.version

    @property
    def is_hidden(self) -> bool:
        """Whether only moderators see it."""
        return self.newest is not None and self.newest.hidden

    @property
    def published_words(self) -> EntryWords:
        """What it said first, and says again once the words of its newest edit have expired."""
        first = self.published
        return EntryWords(entry_id=first.entry_id, wording=first.wording, domain=first.domain)


def fold_entry(newest: Iterable[tuple[int, Event]]) -> Entry | None:
    """An entry from the newest event of each kind with its sequence; None: it was not published."""
    published: EntryPublished | None = None
    edit: EditMade | None = None
    edited_at = staled_at = 0
    for sequence, event in newest:
        match event:
            case EntryPublished():
                published = event
            case EditMade():
                edit, edited_at = event, sequence
            case EntryStaled():
                staled_at = sequence
            case _:
                pass
    return None if published is None else Entry(published, edit, edited_at, staled_at)


class Change(NamedTuple):
    """The next edit, without the places of its words."""

    edit_type: EditType
    before: EntryWords
    after: EntryWords
    was_hidden: bool
    hidden: bool

    @property
    def fields(self) -> tuple[str, ...]:
        """What differs."""
        names = tuple(
            name for name in ("wording", "domain", "summary") if getattr(self.before, name) != getattr(self.after, name)
        )
        return (*names, "hidden") if self.was_hidden != self.hidden else names

    @property
    def changes_words(self) -> bool:
        """Whether it says something else afterwards."""
        return self.before != self.after


def words_until(now: datetime) -> datetime:
    """When words written now expire."""
    return now + WORDS_KEPT


def choose_renewals(stale: Sequence[S], now: datetime, most: int) -> list[S]:
    """Which of at most `MANY_STALE` stale entries are analysed again now, in order.

    Those that were edited are at once, others at night if they are few. What is stale because instructions are new
    waits until somebody asks for the claim: that is all of the catalogue at once. Source: requirement FH-127.
    """
    edited = [each for each in stale if "SUMMARY" in each.stale]
    is_night = now.astimezone(UTC).hour in _NIGHT and len(stale) < MANY_STALE
    others = [each for each in stale if "EVIDENCE" not in each.stale and each not in edited] if is_night else []
    return [*edited, *others][:most]
