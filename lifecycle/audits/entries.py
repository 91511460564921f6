"""Fold an entry of the catalogue from its events, and decide what makes it stale and when it is renewed. Pure."""

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
"""The type of flags that submit a claim, for the entry that the claim would have."""
MANY_FLAGS: Final = 5
"""When this many accounts object to an entry after its newest analysis, its risk is stale before a decision."""
SCORE_MOVED: Final = 10
"""A change of a publisher's score by more than this makes the judgements based on it stale. Units: points of 100."""
MANY_STALE: Final = 1_000
"""With this many stale entries, none is analysed again at night, only when somebody asks for its claim."""
_NIGHT: Final = range(1, 5)
"""Hours in UTC."""


class StaleEntry(Protocol):
    """An entry with stale parts."""

    @property
    def stale(self) -> Collection[str]:
        """The parts that are stale."""


S = TypeVar("S", bound=StaleEntry)


class Readers(NamedTuple):
    """The jobs that made a claim known: succeeded ones of articles at public addresses, and the number of accounts."""

    public_jobs: int
    accounts: int


def may_be_published(readers: Readers) -> bool:
    """Whether a claim may get a page: it is in a public article, or several accounts asked for it. No draft counts."""
    return readers.public_jobs > 0 or readers.accounts > 1


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry after its newest edit. Shapes: the edit's `words` are None if they have expired."""

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
        """The words it was published with, which it has again once those of its newest edit have expired."""
        first = self.published
        return EntryWords(entry_id=first.entry_id, wording=first.wording, domain=first.domain)


def fold_entry(newest: Iterable[tuple[int, Event]]) -> Entry | None:
    """Fold an entry from the newest event of each kind, with its sequence; None if it was not published."""
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
    """An edit, with its words and not the references to them."""

    edit_type: EditType
    before: EntryWords
    after: EntryWords
    was_hidden: bool
    hidden: bool

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields that the edit changes."""
        names = tuple(
            name for name in ("wording", "domain", "summary") if getattr(self.before, name) != getattr(self.after, name)
        )
        return (*names, "hidden") if self.was_hidden != self.hidden else names

    @property
    def changes_words(self) -> bool:
        """Whether the edit changes the entry's words."""
        return self.before != self.after


def words_until(now: datetime) -> datetime:
    """The expiry of words that are written now."""
    return now + WORDS_KEPT


def choose_renewals(stale: Sequence[S], now: datetime, most: int) -> list[S]:
    """The entries of `stale` (at most `MANY_STALE` of them) to analyse again now, at most `most`, in order.

    Edited ones are analysed at once, others at night if they are few. Entries that are stale because of new
    instructions wait until somebody asks for the claim, since that is the whole catalogue. Source: requirement FH-127.
    """
    edited = [each for each in stale if "SUMMARY" in each.stale]
    is_night = now.astimezone(UTC).hour in _NIGHT and len(stale) < MANY_STALE
    others = [each for each in stale if "EVIDENCE" not in each.stale and each not in edited] if is_night else []
    return [*edited, *others][:most]
