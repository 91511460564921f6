"""What becomes of a published finding: the fold of its changes, and which change may follow. Pure.

One credible doubt suspends at once. A release takes a day, so that a finding is not switched on and off with every
objection, and there are two of them at most; then only a retraction is left, which is final.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from contracts.v1 import Event, FindingChanged
from contracts.v1.finding import FindingCause, FindingState
from lifecycle.investigation import LoggedEvent

HOLD: Final = timedelta(hours=24)
RELEASES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingHistory:
    """A published finding. It stands while it is RELEASED.

    Shapes: `changed_at`, `note` and `sequence` are of the newest change, None and 0 without any.
    """

    claim_id: UUID
    investigation_id: UUID
    state: FindingState = "RELEASED"
    changed_at: datetime | None = None
    note: str | None = None
    releases: int = 0
    sequence: int = 0

    def fold(self, facts: Iterable[LoggedEvent]) -> FindingHistory:
        """The finding after these facts, which are in the order of the log; those of other things are passed over."""
        found = self
        for fact in facts:
            found = found.apply(fact.sequence, fact.envelope.occurred_at, fact.envelope.event)
        return found

    def apply(self, sequence: int, at: datetime, event: Event) -> FindingHistory:
        """The finding after the next fact; a repeated one changes nothing."""
        if not isinstance(event, FindingChanged) or event.claim_id != self.claim_id or sequence <= self.sequence:
            return self
        released = self.releases + (event.state == "RELEASED")
        return replace(self, state=event.state, changed_at=at, note=event.note, releases=released, sequence=sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The state that is asked for. `mistake`: the suspension was a slip, and not a doubt about the finding."""

    state: FindingState
    cause: FindingCause
    note: str
    mistake: bool = False


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The finding is in this state already."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The state may not follow now; why, and what can be done."""

    why: str


def change(history: FindingHistory, wanted: Wanted, now: datetime) -> FindingChanged | Unchanged | Refused:
    """The event that brings a finding into a state, if it may follow."""
    if wanted.state == history.state:
        return Unchanged()
    if history.state == "RETRACTED":
        return Refused("it was retracted, which is final; a new investigation may find the error again")
    if wanted.state == "RELEASED" and (refusal := _refuse_release(history, wanted, now)) is not None:
        return refusal
    return FindingChanged(
        follows=history.sequence,
        claim_id=history.claim_id,
        investigation_id=history.investigation_id,
        state=wanted.state,
        cause=wanted.cause,
        note=wanted.note,
        mistake=wanted.mistake and wanted.state == "RELEASED",
    )


def _refuse_release(history: FindingHistory, wanted: Wanted, now: datetime) -> Refused | None:
    """A slip of the operator says nothing about the finding, so nothing is waited for. It counts as a release all the
    same: otherwise it would be the way around the limit.
    """
    if history.releases >= RELEASES:
        return Refused(f"it was released {RELEASES} times already; now it can only be retracted")
    due = now if wanted.mistake or history.changed_at is None else history.changed_at + HOLD
    if due > now:
        return Refused(f"a suspension lasts 24 hours; it can be released after {due:%Y-%m-%d %H:%M} UTC")
    return None
