"""What a fact names of what was bought from a model."""

from __future__ import annotations

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
)
from contracts.v1.parts import TextRef

_TRANSCRIBED: Final = (
    ClaimApproved,
    ClaimRejected,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    InvestigationDrafted,
    InvestigationRetryScheduled,
    InvestigationFailed,
)


def transcript(event: Event) -> TextRef | None:
    """The exchange with a model that the fact names as its record."""
    return event.transcript if isinstance(event, _TRANSCRIBED) else None


def bought(event: Event) -> TextRef | None:
    """The model's answers that the fact names, so that nobody pays for them again."""
    return event.stretch if isinstance(event, InvestigationAdvanced) else transcript(event)


def usd(micro: int) -> str:
    """Money for a reason that people read."""
    return f"{micro / 1_000_000:.4f} USD"
