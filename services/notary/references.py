"""What a decision is about, and which earlier facts it refers to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from analyses.fact_check import FactCheck
from contracts.v1 import (
    AppealDecided,
    AppealOpened,
    ClaimHeld,
    ClaimHoldEnded,
    ControlOpened,
    Event,
    FindingChanged,
    InvestigationCompleted,
    ReviewDecided,
)
from contracts.v1.event import event_id
from contracts.v1.ids import investigation_id

_ROUNDS: Final = ("", "2", "3")
"""The identities that the end of a control may have."""


def find_subject(event: Event) -> UUID | None:
    """The id of what a later decision is about; the decision's leaf refers to the first leaf of that id."""
    match event:
        case FindingChanged() | AppealOpened() | AppealDecided():
            return event.investigation_id
        case ReviewDecided():
            return event.claim_id
        case ControlOpened():
            return event.batch_id
        case _:
            return None


def find_references(event: Event) -> Sequence[UUID]:
    """The ids of other events whose leaves an event refers to: those that it ends, and those that must come first."""
    match event:
        case ClaimHoldEnded():
            return [event_id(ClaimHeld, event.investigation_id, f"{event.claim_id}|{event.round}")]
        case InvestigationCompleted():
            return [
                event_id(ClaimHeld, event.investigation_id, f"{each.claim_id}|{event.round}") for each in event.claims
            ]
        case ControlOpened():
            runs = [
                investigation_id(each.version_id, FactCheck.name, "CONTROL", event.batch_id) for each in event.controls
            ]
            return [event_id(InvestigationCompleted, run, round_) for run in runs for round_ in _ROUNDS]
        case _:
            return []
