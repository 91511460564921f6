"""Facts of short investigations, for tests of clients that follow them."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    Event,
    InvestigationCompleted,
    InvestigationRequested,
)
from contracts.v1.parts import ModelName
from tests.unit.gateway.fakes import payload

VERSION, POST = UUID(int=7), UUID(int=8)
REFUSED = "A sentence that a reviewer found to be right."
SHOWN = 2
"""The number of facts, from the end, that everybody is shown."""


def facts(number: int, *, long: int = 0) -> Sequence[Event]:
    """A short investigation: a request and two suspicions that nobody is shown, then two things that everybody is.

    One of the suspicions is rejected, for a reason that repeats its words.
    """
    investigation, claim, other = UUID(int=1_000 + number), UUID(int=2_000 + number), UUID(int=3_000 + number)
    found = payload().model_copy(update={"reasoning": "because\n" + "x" * long})
    return (
        InvestigationRequested(
            investigation_id=investigation,
            version_id=VERSION,
            post_id=POST,
            analysis="FACT_CHECK",
            origin="ORIGINAL",
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
        ClaimProposed(
            investigation_id=investigation,
            claim_id=other,
            version_id=VERSION,
            analysis="FACT_CHECK",
            attempt=1,
            ordinal=1,
            payload=found.model_copy(update={"text": REFUSED}),
        ),
        ClaimRejected(investigation_id=investigation, claim_id=other, gate="model", reason=f"“{REFUSED}” is right"),
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
