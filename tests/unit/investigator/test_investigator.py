"""One attempt, from request to draft, and what a later one does about it."""

from __future__ import annotations

from uuid import UUID

import pytest

from analyses import flagging_kind
from contracts.v1 import (
    ClaimProposed,
    InvestigationDrafted,
    InvestigationStarted,
)
from contracts.v1.parts import Objection
from kit.errors import Reject
from kit.models.base import Article
from kit.publisher import PublishConflict
from tests.support.attempts import World, kinds, submit
from tests.support.factories import (
    INVESTIGATION_ID,
    MODEL,
    OTHER_QUOTE,
    QUOTE,
    TEXT,
    VERSION_ID,
    drafted,
    requested,
    snapshot,
    started,
    text_ref,
)
from tests.support.fakes import (
    MemoryKeys,
    transient,
)


def subjects(world: World) -> list[str]:
    """The words that the model was asked about, each time."""
    return [brief.subject.text for brief in world.model.briefs if isinstance(brief.subject, Article)]


@pytest.mark.requirement("2.4.3-04", "2.12-01", "2.12-02", "2.12-03")
async def test_a_run_tells_each_candidate_when_it_comes_and_then_its_draft() -> None:
    """2.4.3-04: Candidates are visible as they are submitted.
    2.12-01: Input text and contentHash persisted.
    2.12-02: Prompt version/hash/text persisted.
    2.12-03: Provider/model/version metadata.
    """
    world = World([submit(QUOTE), submit(OTHER_QUOTE, "call-2")])
    outcome = await world.deliver()
    assert kinds(outcome.facts) == ["InvestigationStarted", "ClaimProposed", "ClaimProposed", "InvestigationDrafted"]
    begun, first, second, draft = outcome.facts
    assert isinstance(begun, InvestigationStarted)
    assert (begun.attempt, begun.worker, begun.model, begun.input) == (1, "worker-1", MODEL, snapshot())
    assert begun.prompt.text == world.model.briefs[0].instructions
    assert isinstance(first, ClaimProposed)
    assert isinstance(second, ClaimProposed)
    assert [(claim.ordinal, claim.payload.text) for claim in (first, second)] == [(0, QUOTE), (1, OTHER_QUOTE)]
    assert isinstance(draft, InvestigationDrafted)
    assert draft.claim_ids == (first.claim_id, second.claim_id)
    assert await world.texts.get_text(draft.transcript) == "{}"
    assert world.model.keys == [None], "the instance's own key"


async def test_the_model_is_asked_about_the_text_of_the_snapshot() -> None:
    world = World()
    await world.deliver()
    assert subjects(world) == [TEXT]
    assert TEXT in world.model.briefs[0].words


async def test_markdown_goes_to_the_model_where_there_is_some() -> None:
    world = World()
    marked = snapshot(markdown_source="SERVER_HTML", markdown=text_ref("# A mountain"))
    world.log.versions[VERSION_ID] = marked
    await world.deliver()
    assert "# A mountain" in world.model.briefs[0].words
    assert subjects(world) == [TEXT], "quotes are held against the plain text"


@pytest.mark.requirement("2.4.4-05")
async def test_quotes_are_brought_to_the_words_of_the_text() -> None:
    """2.4.4-05: Markdown signs are taken out of quotes before they are stored."""
    world = World([submit(f"**{QUOTE}**", context=f"> {QUOTE}")])
    await world.deliver()
    (claim,) = world.told(ClaimProposed)
    assert isinstance(claim, ClaimProposed)
    assert claim.payload.text == QUOTE
    assert claim.payload.context in TEXT


@pytest.mark.requirement("2.6-15")
async def test_the_same_claim_with_other_words_around_it_is_one_in_a_run_and_in_the_next() -> None:
    """A model describes the surroundings as it likes, and otherwise each time.

    2.6-15: A request during a run starts no second one.
    """
    around = f"Some history. {QUOTE}"
    world = World(
        [submit(QUOTE), submit(QUOTE, "call-2", context=around), transient()],
        [submit(QUOTE, context=around)],
    )
    await world.deliver()
    draft = (await world.deliver()).facts[-1]
    assert isinstance(draft, InvestigationDrafted)
    (only,) = world.told(ClaimProposed)
    assert isinstance(only, ClaimProposed)
    assert draft.claim_ids == (only.claim_id,)


async def test_the_same_claim_handed_in_twice_is_one() -> None:
    world = World([submit(QUOTE), submit(QUOTE, "call-2", summary="Said otherwise."), submit(OTHER_QUOTE, "call-3")])
    draft = (await world.deliver()).facts[-1]
    assert isinstance(draft, InvestigationDrafted)
    assert len(world.told(ClaimProposed)) == len(draft.claim_ids) == 2


async def test_a_version_that_nobody_registered_is_rejected() -> None:
    world = World()
    world.log.versions.clear()
    outcome = await world.deliver()
    assert isinstance(outcome.gave_up, Reject)
    assert outcome.facts == []


@pytest.mark.requirement("2.4.4-03")
async def test_a_later_attempt_sees_what_the_first_one_saw() -> None:
    """2.4.4-03: The input is frozen and reused by later attempts."""
    world = World([transient()], [])
    await world.deliver()
    world.log.versions[VERSION_ID] = snapshot("Another text.")
    await world.deliver()
    assert subjects(world) == [TEXT, TEXT]


@pytest.mark.requirement("2.1-08")
async def test_a_reader_pays_with_their_own_key() -> None:
    """2.1-08: User OpenAI key path."""
    keys = MemoryKeys(**{str(INVESTIGATION_ID): "sk-of-a-reader"})
    world = World(request=requested(key_source="USER"), keys=keys)
    outcome = await world.deliver()
    assert world.model.keys == ["sk-of-a-reader"]
    assert not any("sk-of-a-reader" in fact.model_dump_json() for fact in outcome.facts)


async def test_what_is_drafted_by_another_worker_is_not_run_again() -> None:
    world = World()
    world.log.publish(started())
    world.log.publish(started(2, follows=2))
    world.log.publish(drafted(1, [UUID(int=1)]))
    with pytest.raises(PublishConflict):
        await world.deliver()
    assert (await world.deliver()).facts == []
    assert world.model.briefs == []


@pytest.mark.requirement("2.4.2-02")
async def test_the_model_gets_the_instructions_of_the_kind() -> None:
    """2.4.2-02: the request says to rest on concrete evidence, to leave out satire and disputes, to prefer silence.

    2.4.2-02: Instructions demand concrete evidence, leave out satire and dispute, prefer silence.
    """
    world = World([])
    await world.deliver()
    (brief,) = world.model.briefs
    assert brief.instructions == flagging_kind("FACT_CHECK").look.prompt.text
    for demand in ("evidence", "satire", "dispute", "silent"):
        assert demand in brief.instructions


@pytest.mark.requirement("2.4-04")
@pytest.mark.parametrize("has_video", [True, False])
async def test_the_model_is_told_of_a_video(has_video: bool) -> None:
    """2.4-04: Video not analysed."""
    world = World()
    world.log.versions[VERSION_ID] = snapshot(has_video=has_video)
    await world.deliver()
    assert f'"hasVideo": {str(has_video).lower()}' in world.model.briefs[0].words


@pytest.mark.requirement("TR-35")
async def test_a_run_that_looks_into_an_appeal_is_given_its_words_in_every_attempt() -> None:
    """TR-35: An appeal leaves the original unchanged, and there is one open at a time"""
    said = Objection(appeal_id=UUID(int=9), kind="CONTEXT", text="It was said in jest, by Zora.")
    world = World(
        [transient()], [submit(QUOTE)], request=requested(origin="APPEAL", origin_id=UUID(int=9), objection=said)
    )
    await world.deliver()
    await world.deliver()
    assert [each.input.objection for each in world.told(InvestigationStarted)] == [said, said]
    assert [said.text in brief.words for brief in world.model.briefs] == [True, True]
