"""What one run has cost and bought, read from its facts: every attempt of a round and every review of its claims.

The investigator and the validator stop at the same limit, so they must count alike.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    InvestigationRequested,
    InvestigationRetryScheduled,
)
from contracts.v1.parts import TextRef, Usage

_TRANSCRIBED: Final = (
    ClaimApproved,
    ClaimRejected,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    InvestigationDrafted,
    InvestigationRetryScheduled,
    InvestigationFailed,
)


def micro_usd(history: Iterable[Event], round_: int) -> int:
    """The money of one round, each step counted once however often it is told; what has no price is not in it.

    Shapes: `history` in the order of the log. Units: millionths of a US dollar.
    """
    at = 1
    steps: dict[object, int] = {}

    def count(step: object, usage: Usage | None) -> None:
        steps[step] = max(steps.get(step, 0), (usage.cost_micro_usd if usage else None) or 0)

    for event in history:
        match event:
            case InvestigationRequested():
                at = max(at, event.round)
            case (
                InvestigationAdvanced() | InvestigationRetryScheduled() | InvestigationDrafted() | InvestigationFailed()
            ):
                if at == round_:
                    count(event.attempt, event.usage)
            case ClaimValidationRetryScheduled():
                if event.round == round_:
                    count((event.claim_id, event.attempt), event.usage)
            case ClaimApproved() | ClaimRejected() | ClaimValidationFailed():
                if event.round == round_:
                    count((event.claim_id, 0), event.usage)
            case _:
                pass
    return sum(steps.values())


def transcript(event: Event) -> TextRef | None:
    """The exchange with a model that the fact names as its record."""
    return event.transcript if isinstance(event, _TRANSCRIBED) else None


def bought(event: Event) -> TextRef | None:
    """The model's answers that the fact names, so that nobody pays for them again."""
    return event.stretch if isinstance(event, InvestigationAdvanced) else transcript(event)


def usd(micro: int) -> str:
    """Money for a reason that people read."""
    return f"{micro / 1_000_000:.4f} USD"
