"""A run over an edited post: what was found before, what is kept of it, and what is new."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

from analyses import flagging_kind
from analyses.diff import NO_CHANGES
from contracts.v1 import (
    ClaimProposed,
    ClaimRetained,
    InvestigationDrafted,
    InvestigationStarted,
)
from contracts.v1.investigation import RequestedBy
from contracts.v1.parts import ClaimPayload, PublishedClaim
from kit.models.base import Decision
from services.investigator.domain import Prior
from tests.support.attempts import World, kinds, submit
from tests.support.factories import (
    OTHER_QUOTE,
    POST_ID,
    QUOTE,
    TEXT,
    VERSION_ID,
    claim_of,
    payload,
    requested,
)
from tests.support.fakes import (
    transient,
)

OLD = PublishedClaim(claim_id=UUID(int=70), payload=payload(QUOTE, context=f"Long before. {QUOTE} So they say."))


OLD_OTHER = PublishedClaim(claim_id=UUID(int=71), payload=payload(OTHER_QUOTE))


OLD_GONE = PublishedClaim(claim_id=UUID(int=72), payload=payload("Words that the author has taken back."))


PARENT = UUID(int=7)


PRIOR = Prior(PARENT, TEXT.replace("Some history", "Long before"), (OLD, OLD_OTHER, OLD_GONE))


def keep(claim: PublishedClaim, call_id: str = "call-k") -> Decision[ClaimPayload | UUID]:
    """The model keeps an old claim."""
    return Decision(call_id, claim.claim_id)


@pytest.mark.requirement("2.4-05", "2.4.3-01", "2.12-05")
async def test_an_edited_post_is_looked_at_with_what_was_found_before() -> None:
    """2.4-05: Incremental update runs for edited posts.
    2.4.3-01: An update run is given old claims, the text and the difference.
    2.12-05: Update lineage stored.
    """
    world = World(prior=PRIOR)
    begun = (await world.deliver()).facts[0]
    assert isinstance(begun, InvestigationStarted)
    assert begun.input.parent_investigation_id == PARENT
    assert begun.input.old_claims == PRIOR.claims
    assert begun.input.content_diff is not None
    assert "- Long before.\n+ Some history.\n" in await world.texts.get_text(begun.input.content_diff)
    assert begun.prompt == flagging_kind("FACT_CHECK").update.prompt
    (brief,) = world.model.briefs
    assert brief.instructions == begun.prompt.text
    assert await world.texts.get_text(begun.input.content_diff) in brief.words
    assert [str(claim.claim_id) in brief.words for claim in PRIOR.claims] == [True] * 3
    assert '"isUpdate": true' in brief.words
    assert world.priors.asked == [(POST_ID, VERSION_ID, "FACT_CHECK")]
    assert "retain_correction" in {tool.name for tool in brief.tools}


@pytest.mark.requirement("2.4.3-03", "2.4.3-05")
async def test_a_first_run_knows_nothing_of_updates() -> None:
    """2.4.3-03: Without a verified earlier result a run is a plain one.
    2.4.3-05: Keeping an old claim is possible in update runs only.
    """
    world = World()
    begun = (await world.deliver()).facts[0]
    assert isinstance(begun, InvestigationStarted)
    assert (begun.input.parent_investigation_id, begun.input.content_diff, begun.input.old_claims) == (None, None, ())
    (brief,) = world.model.briefs
    assert brief.instructions == flagging_kind("FACT_CHECK").look.prompt.text
    assert not any(word in brief.words for word in ("oldClaims", "DIFF"))
    assert {tool.name for tool in brief.tools} == {"fetch_url", "author_history", "submit_correction"}
    assert set(brief.research) == {"fetch_url", "author_history"}


@pytest.mark.requirement("2.4.3-01")
async def test_an_update_of_a_version_without_findings_has_nothing_to_keep() -> None:
    """2.4.3-01: An update run is given old claims, the text and the difference."""
    world = World(prior=Prior(PARENT, TEXT, ()))
    await world.deliver()
    (brief,) = world.model.briefs
    assert '"isUpdate": true' in brief.words
    assert NO_CHANGES in brief.words
    assert "retain_correction" not in {tool.name for tool in brief.tools}
    with pytest.raises(ValueError, match="no function"):
        brief.decide("retain_correction", json.dumps({"id": str(PARENT)}))


@pytest.mark.requirement("2.4.3-01", "2.4.4-03")
@pytest.mark.parametrize("requested_by", ["SELECTOR", "READER"])
async def test_later_attempts_see_the_same_earlier_findings_whoever_asked(requested_by: RequestedBy) -> None:
    """2.4.3-01: An update run is given old claims, the text and the difference.
    2.4.4-03: The input is frozen and reused by later attempts.
    """
    world = World([transient()], [], request=requested(requested_by=requested_by), prior=PRIOR)
    await world.deliver()
    world.priors.known = Prior(UUID(int=8), "Another text.", ())
    await world.deliver()
    first, second = world.told(InvestigationStarted)
    assert isinstance(first, InvestigationStarted)
    assert isinstance(second, InvestigationStarted)
    assert first.input == second.input
    assert len(world.priors.asked) == 1
    assert world.model.briefs[0].parts == world.model.briefs[1].parts


@pytest.mark.requirement("2.4.3-06", "2.4.3-05")
async def test_kept_findings_are_confirmed_at_once_in_one_order_with_new_ones() -> None:
    """2.4.3-06: Old claims that are not kept disappear.
    2.4.3-05: Keeping an old claim is possible in update runs only.
    """
    world = World([keep(OLD_OTHER), submit("Some history.", "call-s"), keep(OLD)], prior=PRIOR)
    outcome = await world.deliver()
    assert kinds(outcome.facts) == [
        "InvestigationStarted",
        "ClaimRetained",
        "ClaimProposed",
        "ClaimRetained",
        "InvestigationDrafted",
    ]
    _, first, second, third, draft = outcome.facts
    assert isinstance(first, ClaimRetained)
    assert isinstance(second, ClaimProposed)
    assert isinstance(third, ClaimRetained)
    assert isinstance(draft, InvestigationDrafted)
    assert [first.ordinal, second.ordinal, third.ordinal] == [0, 1, 2]
    assert (first.retained_from, third.retained_from) == (OLD_OTHER.claim_id, OLD.claim_id)
    assert draft.claim_ids == (first.claim_id, second.claim_id, third.claim_id)
    assert draft.retained_ids == (first.claim_id, third.claim_id)
    assert third.claim_id != OLD.claim_id, "a finding of another version is another finding"
    assert (third.payload.text, third.payload.context in TEXT) == (QUOTE, True), "its context is that of this version"


@pytest.mark.requirement("2.4.3-05")
async def test_what_is_no_longer_in_the_text_or_never_was_cannot_be_kept() -> None:
    """2.4.3-05: Keeping an old claim is possible in update runs only."""
    world = World(prior=PRIOR)
    await world.deliver()
    (brief,) = world.model.briefs
    assert brief.decide("retain_correction", json.dumps({"id": str(OLD.claim_id)})) == OLD.claim_id
    for wrong in (str(OLD_GONE.claim_id), str(UUID(int=99)), "first"):
        with pytest.raises(ValueError, match=r"."):
            brief.decide("retain_correction", json.dumps({"id": wrong}))
    with pytest.raises(ValueError, match="no function"):
        brief.decide("publish_at_once", "{}")


async def test_an_old_finding_is_kept_once_and_what_was_handed_in_as_new_is_judged_as_new() -> None:
    same = keep(OLD_OTHER)
    world = World([same, same, submit(OTHER_QUOTE, "call-s")], prior=PRIOR)
    draft = (await world.deliver()).facts[-1]
    assert isinstance(draft, InvestigationDrafted)
    assert kinds(world.log.events)[2:] == ["ClaimRetained", "InvestigationDrafted"]
    assert draft.claim_ids == draft.retained_ids == (claim_of(OTHER_QUOTE),)

    world = World([submit(OTHER_QUOTE), transient()], [same], prior=PRIOR)
    await world.deliver()
    draft = (await world.deliver()).facts[-1]
    assert isinstance(draft, InvestigationDrafted)
    assert (draft.claim_ids, draft.retained_ids) == ((claim_of(OTHER_QUOTE),), ())
    assert world.told(ClaimRetained) == []


async def test_a_kept_finding_is_told_once_in_all_attempts() -> None:
    world = World([keep(OLD_OTHER), transient()], [keep(OLD_OTHER)], prior=PRIOR)
    await world.deliver()
    draft = (await world.deliver()).facts[-1]
    assert isinstance(draft, InvestigationDrafted)
    assert len(world.told(ClaimRetained)) == 1
    assert draft.retained_ids == (claim_of(OTHER_QUOTE),)
