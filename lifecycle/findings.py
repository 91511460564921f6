"""The states of a published finding: the fold of its changes, and which change may follow. Pure.

One credible doubt suspends a finding at once. Its release is possible a day later, so that it is not switched on and
off with every objection, and at most twice; after that it can only be retracted, which is final.
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
    """The history of a published finding, which is shown while its state is RELEASED.

    Shapes: `changed_at`, `note` and `sequence` are of the newest change, None or 0 without one.
    """

    claim_id: UUID
    investigation_id: UUID
    state: FindingState = "RELEASED"
    changed_at: datetime | None = None
    note: str | None = None
    releases: int = 0
    sequence: int = 0

    def fold(self, facts: Iterable[LoggedEvent]) -> FindingHistory:
        """The finding after these facts, given in the order of the log; facts about anything else change nothing."""
        found = self
        for fact in facts:
            found = found.apply(fact.sequence, fact.envelope.occurred_at, fact.envelope.event)
        return found

    def apply(self, sequence: int, at: datetime, event: Event) -> FindingHistory:
        """The finding after the next fact; a repeated fact changes nothing."""
        if not isinstance(event, FindingChanged) or event.claim_id != self.claim_id or sequence <= self.sequence:
            return self
        released = self.releases + (event.state == "RELEASED")
        return replace(self, state=event.state, changed_at=at, note=event.note, releases=released, sequence=sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The state that is asked for. `mistake`: the suspension was a slip, not a doubt about the finding."""

    state: FindingState
    cause: FindingCause
    note: str
    mistake: bool = False


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The finding is in this state already."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The state may not follow now. `why` is the reason, and what can be done."""

    why: str


def change(history: FindingHistory, wanted: Wanted, now: datetime) -> FindingChanged | Unchanged | Refused:
    """The event that changes a finding to the wanted state, or why there is none."""
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
    """Why a suspended finding may not be released now; None if it may.

    An operator's slip says nothing about the finding, so its release needs no wait. It still counts as a release, or
    it would be a way around the limit.
    """
    if history.releases >= RELEASES:
        return Refused(f"it was released {RELEASES} times already; now it can only be retracted")
    due = now if wanted.mistake or history.changed_at is None else history.changed_at + HOLD
    if due > now:
        return Refused(f"a suspension lasts 24 hours; it can be released after {due:%Y-%m-%d %H:%M} UTC")
    return None
