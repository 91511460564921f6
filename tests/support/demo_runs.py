"""Running the demo model over a text, as the tests of it do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Never
from uuid import UUID

from analyses import flagging_kind
from analyses.flagging import Candidate, Earlier, Material, Review
from contracts.v1.parts import ClaimPayload, PublishedClaim
from kit.models.base import Article, Brief, ClaimInDoubt, Decision, Finished, ask
from kit.models.demo import DemoModel

FACT_CHECK = flagging_kind("FACT_CHECK")
MODEL = DemoModel()


def brief(text: str, old_claims: Sequence[PublishedClaim] = ()) -> Brief[ClaimPayload | UUID, str]:
    """The brief of a look at this text, an update if there are old claims."""
    material = Material("X", "https://x.com", text, earlier=Earlier(tuple(old_claims), ""))
    return Brief(
        step=FACT_CHECK.update.name,
        instructions="instructions",
        parts=("message",),
        read=lambda answer, _: answer,
        turns=FACT_CHECK.update.turns,
        tools=FACT_CHECK.update.tools(material),
        decide=partial(FACT_CHECK.update.decide, material=material),
        subject=Article(text, {claim.claim_id: claim.payload.text for claim in old_claims}),
    )


def doubt(claim: ClaimPayload, text: str) -> Brief[Never, Review]:
    """The brief of a review."""
    review = FACT_CHECK.review
    return Brief(
        step=review.name,
        instructions="instructions",
        parts=("message",),
        read=review.read,
        tools=review.tools(Candidate(claim, text)),
        schema=review.schema,
        subject=ClaimInDoubt(claim, text),
    )


async def investigate(text: str, model: DemoModel = MODEL) -> tuple[list[Decision[ClaimPayload | UUID]], Finished[str]]:
    """All decisions and the end of a run."""
    items = [item async for item in model.converse(brief(text))]
    assert isinstance(items[-1], Finished)
    decisions = [item for item in items[:-1] if isinstance(item, Decision)]
    assert len(decisions) == len(items) - 1
    return decisions, items[-1]


async def submitted(text: str) -> list[ClaimPayload]:
    """All claims that a run submits."""
    return [each.value for each in (await investigate(text))[0] if isinstance(each.value, ClaimPayload)]


async def flagged(text: str) -> list[str]:
    """The quotes of all claims."""
    return [claim.text for claim in await submitted(text)]


async def review(claim: ClaimPayload, text: str) -> Finished[Review]:
    """The answer of a review of a claim."""
    return await ask(MODEL, doubt(claim, text))
