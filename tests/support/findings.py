"""Facts of short investigations, for whoever follows them."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from contracts.v1 import ClaimApproved, ClaimProposed, Event, InvestigationCompleted, InvestigationRequested
from contracts.v1.parts import ModelName
from tests.unit.gateway.fakes import payload

VERSION, POST = UUID(int=7), UUID(int=8)


def facts(number: int, *, long: int = 0) -> Sequence[Event]:
    """A short investigation: one thing nobody is shown, and three that everybody is."""
    investigation, claim = UUID(int=1_000 + number), UUID(int=2_000 + number)
    found = payload().model_copy(update={"reasoning": "because\n" + "x" * long})
    return (
        InvestigationRequested(
            investigation_id=investigation,
            version_id=VERSION,
            post_id=POST,
            analysis="FACT_CHECK",
            requested_by="SELECTOR",
        ),
        ClaimProposed(
            investigation_id=investigation,
            claim_id=claim,
            version_id=VERSION,
            analysis="FACT_CHECK",
            attempt=1,
            ordinal=0,
            payload=found,
        ),
        ClaimApproved(investigation_id=investigation, claim_id=claim, version_id=VERSION, payload=found),
        InvestigationCompleted(
            investigation_id=investigation,
            version_id=VERSION,
            post_id=POST,
            analysis="FACT_CHECK",
            attempt=1,
            model=ModelName(provider="demo", model="demo"),
        ),
    )
