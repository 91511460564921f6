"""Running the demo model over a text, as the tests of it do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from analyses import analysis
from contracts.v1.parts import ClaimPayload, PublishedClaim
from kit.models.base import Finished, InvestigationBrief, ReviewBrief, Submission, Verdict
from kit.models.demo import DemoModel

FACT_CHECK = analysis("FACT_CHECK")
MODEL = DemoModel()


def brief(text: str, old_claims: Sequence[PublishedClaim] = ()) -> InvestigationBrief:
    """A stage-1 brief whose article is this text, an update if there are old claims."""
    return InvestigationBrief(
        "instructions",
        ("message",),
        text,
        FACT_CHECK.update_tools(old_claims),
        partial(FACT_CHECK.decide, text=text, old_claims=old_claims),
        old_claims={claim.claim_id: claim.payload.text for claim in old_claims},
    )


async def investigate(text: str, model: DemoModel = MODEL) -> tuple[list[Submission], Finished]:
    """All submissions and the end of a run."""
    steps = [step async for step in model.investigate(brief(text))]
    assert isinstance(steps[-1], Finished)
    submissions = [step for step in steps[:-1] if isinstance(step, Submission)]
    assert len(submissions) == len(steps) - 1
    return submissions, steps[-1]


async def flagged(text: str) -> list[str]:
    """The quotes of all submissions."""
    return [each.claim.text for each in (await investigate(text))[0]]


async def review(claim: ClaimPayload, text: str) -> Verdict:
    """The stage-2 verdict about a claim."""
    return await MODEL.review(ReviewBrief("instructions", "message", text, claim, FACT_CHECK.review_schema))
