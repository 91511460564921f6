"""Find the answers bought from a model that an event refers to."""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from contracts.v1 import (
    ClaimApproved,
    ClaimRejected,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    Event,
    InvestigationAdvanced,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRetryScheduled,
    OnceEvent,
    RunAdvanced,
)
from contracts.v1.parts import TextRef

_TRANSCRIBED: Final[frozenset[type[Event]]] = frozenset(
    (
        ClaimApproved,
        ClaimRejected,
        ClaimValidationFailed,
        ClaimValidationRetryScheduled,
        InvestigationDrafted,
        InvestigationRetryScheduled,
        InvestigationFailed,
    )
)
_transcript_of: Final = attrgetter("transcript")


def find_transcript(event: Event) -> TextRef | None:
    """The transcript that an event refers to, None if it refers to none."""
    # By type: `isinstance` of a model class costs a call of its metaclass, for every fact.
    transcript: TextRef | None = _transcript_of(event) if type(event) in _TRANSCRIBED else None
    return transcript


def find_purchased_output(event: Event) -> TextRef | None:
    """The transcript or segment that an event refers to, which must be stored so that it is not bought again."""
    return event.segment if isinstance(event, InvestigationAdvanced) else find_transcript(event)


def must_be_stored_first(event: Event) -> bool:
    """Whether an event must be stored before anything else is bought.

    A worker that takes over a run looks in the blob store for one answer after the last event, not for several.
    """
    return isinstance(event, OnceEvent | RunAdvanced)


def format_usd(micro: int) -> str:
    """Format an amount for a message. Units: millionths of a US dollar."""
    return f"{micro / 1_000_000:.4f} USD"
