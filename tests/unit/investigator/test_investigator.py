"""One attempt, from request to draft or failure, and what a later one does about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import TypeVar
from uuid import UUID

import pytest

from analyses import analysis
from analyses.diff import NO_CHANGES
from contracts.v1 import (
    ClaimProposed,
    ClaimRetained,
    Event,
    InvestigationAdvanced,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
)
from contracts.v1.investigation import KeySource, RequestedBy
from contracts.v1.parts import PublishedClaim, Usage
from kit.bus import AlreadyThere
from kit.errors import Reject, Retry
from kit.models.base import KEY_UNUSABLE, Advance, Failure, Limits, ModelError, Retention, Submission
from services.investigator.domain import RETRY_MAX_S, Prior
from tests.support.factories import (
    INVESTIGATION_ID,
    MODEL,
    NOW,
    OTHER_QUOTE,
    POST_ID,
    QUOTE,
    TEXT,
    VERSION_ID,
    claim_of,
    drafted,
    failed,
    payload,
    rejected,
    requested,
    snapshot,
    started,
    text_ref,
)
from tests.support.fakes import (
    FixedPriors,
    Handled,
    MemoryKeys,
    MemoryLog,
    MemoryTexts,
    Run,
    ScriptedModel,
    final,
    handled,
    investigator_over,
    partial,
    transient,
    without_credit,
)

E = TypeVar("E", bound=Event)


def submit(quote: str, call_id: str = "call-1", **given: object) -> Submission:
    """The model hands in a claim."""
    return Submission(call_id, payload(quote, **given))


class World:
    """A log with a version and a request, and an investigator over it."""

    def __init__(
        self,
        *runs: Run,
        request: InvestigationRequested | None = None,
        keys: MemoryKeys | None = None,
        prior: Prior | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.request = request or requested()
        self.log = MemoryLog(self.request, versions={VERSION_ID: snapshot()})
        self.deliveries = 0
        self.texts = MemoryTexts()
        self.model = ScriptedModel(runs or ((),))
        self.priors = FixedPriors(prior)
        self.investigator = investigator_over(self.log, self.texts, self.model, keys, self.priors, limits)

    async def deliver(self) -> Handled:
        """The request is delivered, for the first time or once more."""
        self.deliveries += 1
        return await handled(self.investigator.on_investigation_requested(self.request, self.deliveries), self.log)

    def told(self, kind: type[E]) -> list[E]:
        """Facts of a class, in the order of the log."""
        return [event for event in self.log.events if isinstance(event, kind)]


def kinds(facts: Sequence[Event]) -> list[str]:
    """Class names."""
    return [type(fact).__name__ for fact in facts]


@pytest.mark.requirement("2.4.3-04", "2.12-01", "2.12-02", "2.12-03")
async def test_a_run_tells_each_candidate_when_it_comes_and_then_its_draft() -> None:
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
    assert world.model.briefs[0].text == TEXT
    assert TEXT in world.model.briefs[0].message


async def test_markdown_goes_to_the_model_where_there_is_some() -> None:
    world = World()
    marked = snapshot(markdown_source="SERVER_HTML", markdown=text_ref("# A mountain"))
    world.log.versions[VERSION_ID] = marked
    await world.deliver()
    assert "# A mountain" in world.model.briefs[0].message
    assert world.model.briefs[0].text == TEXT, "quotes are held against the plain text"


@pytest.mark.requirement("2.4.4-05")
async def test_quotes_are_brought_to_the_words_of_the_text() -> None:
    world = World([submit(f"**{QUOTE}**", context=f"> {QUOTE}")])
    await world.deliver()
    (claim,) = world.told(ClaimProposed)
    assert isinstance(claim, ClaimProposed)
    assert claim.payload.text == QUOTE
    assert claim.payload.context in TEXT


@pytest.mark.requirement("2.6-15")
async def test_the_same_claim_with_other_words_around_it_is_one_in_a_run_and_in_the_next() -> None:
    """A model describes the surroundings as it likes, and otherwise each time."""
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


@pytest.mark.requirement("3.7-03", "3.7-06")
@pytest.mark.parametrize(
    ("error", "failure"), [(final(), "NON_RETRYABLE"), (partial(), "PARTIAL")], ids=["refused", "cut-short"]
)
async def test_a_failure_that_will_not_pass_ends_the_investigation(error: ModelError, failure: str) -> None:
    world = World([submit(QUOTE), error])
    outcome = await world.deliver()
    end = outcome.facts[-1]
    assert isinstance(end, InvestigationFailed)
    assert (end.failure, end.attempt, end.round, end.follows) == (failure, 1, 1, 0)
    assert outcome.gave_up is None
    assert (await world.deliver()).facts == []


@pytest.mark.requirement("2.4.4-03")
async def test_a_later_attempt_sees_what_the_first_one_saw() -> None:
    world = World([transient()], [])
    await world.deliver()
    world.log.versions[VERSION_ID] = snapshot("Another text.")
    await world.deliver()
    assert [brief.text for brief in world.model.briefs] == [TEXT, TEXT]


@pytest.mark.requirement("2.1-08")
async def test_a_reader_pays_with_their_own_key() -> None:
    keys = MemoryKeys(**{str(INVESTIGATION_ID): "sk-of-a-reader"})
    world = World(request=requested(key_source="USER"), keys=keys)
    outcome = await world.deliver()
    assert world.model.keys == ["sk-of-a-reader"]
    assert not any("sk-of-a-reader" in fact.model_dump_json() for fact in outcome.facts)


@pytest.mark.requirement("3.7-07")
async def test_a_readers_key_that_is_gone_fails_the_run_and_costs_nobody_else() -> None:
    world = World(request=requested(key_source="USER"))
    outcome = await world.deliver()
    end = outcome.facts[-1]
    assert isinstance(end, InvestigationFailed)
    assert end.failure == "NON_RETRYABLE"
    assert "expired" in end.reason
    assert world.model.briefs == []


@pytest.mark.requirement("2.2-03")
async def test_an_analysis_that_is_not_known_here_is_nobodys_failure() -> None:
    """A newer service may have asked: the delivery is repeated, the investigation does not fail."""
    world = World(request=requested(analysis="UNHEARD_OF"))
    with pytest.raises(LookupError):
        await world.deliver()
    assert kinds(world.log.events) == ["InvestigationRequested"]


async def test_what_is_drafted_by_another_worker_is_not_run_again() -> None:
    world = World()
    world.log.publish(started())
    world.log.publish(started(2, follows=2))
    world.log.publish(drafted(1, [UUID(int=1)]))
    with pytest.raises(AlreadyThere):
        await world.deliver()
    assert (await world.deliver()).facts == []
    assert world.model.briefs == []


async def test_a_request_that_is_given_up_ends_as_failed_after_what_was_tried() -> None:
    world = World([transient()])
    await world.deliver()
    outcome = await handled(world.investigator.on_given_up(world.request, "gave up after 12 attempts"), world.log)
    (end,) = outcome.facts
    assert isinstance(end, InvestigationFailed)
    assert (end.attempt, end.round, end.failure) == (1, 1, "NON_RETRYABLE")
    assert end.reason == "gave up after 12 attempts"


OLD = PublishedClaim(claim_id=UUID(int=70), payload=payload(QUOTE, context=f"Long ago. {QUOTE} So they say."))
OLD_OTHER = PublishedClaim(claim_id=UUID(int=71), payload=payload(OTHER_QUOTE))
OLD_GONE = PublishedClaim(claim_id=UUID(int=72), payload=payload("Words that the author has taken back."))
PARENT = UUID(int=7)
PRIOR = Prior(PARENT, TEXT.replace("Some history", "Long ago"), (OLD, OLD_OTHER, OLD_GONE))


def keep(claim: PublishedClaim, call_id: str = "call-k") -> Retention:
    """The model keeps an old claim."""
    return Retention(call_id, claim.claim_id)


@pytest.mark.requirement("2.4-05", "2.4.3-01", "2.12-05")
async def test_an_edited_post_is_looked_at_with_what_was_found_before() -> None:
    world = World(prior=PRIOR)
    begun = (await world.deliver()).facts[0]
    assert isinstance(begun, InvestigationStarted)
    assert begun.input.parent_investigation_id == PARENT
    assert begun.input.old_claims == PRIOR.claims
    assert begun.input.content_diff is not None
    assert "- Long ago.\n+ Some history.\n" in await world.texts.get_text(begun.input.content_diff)
    assert begun.prompt == analysis("FACT_CHECK").update_prompt
    (brief,) = world.model.briefs
    assert brief.instructions == begun.prompt.text
    assert await world.texts.get_text(begun.input.content_diff) in brief.message
    assert [str(claim.claim_id) in brief.message for claim in PRIOR.claims] == [True] * 3
    assert '"isUpdate": true' in brief.message
    assert world.priors.asked == [(POST_ID, VERSION_ID, "FACT_CHECK")]
    assert "retain_correction" in {tool.name for tool in brief.tools}


@pytest.mark.requirement("2.4.3-03", "2.4.3-05")
async def test_a_first_run_knows_nothing_of_updates() -> None:
    world = World()
    begun = (await world.deliver()).facts[0]
    assert isinstance(begun, InvestigationStarted)
    assert (begun.input.parent_investigation_id, begun.input.content_diff, begun.input.old_claims) == (None, None, ())
    (brief,) = world.model.briefs
    assert brief.instructions == analysis("FACT_CHECK").prompt.text
    assert not any(word in brief.message for word in ("oldClaims", "DIFF"))
    assert {tool.name for tool in brief.tools} == {"fetch_url", "author_history", "submit_correction"}
    assert set(brief.research) == {"fetch_url", "author_history"}


@pytest.mark.requirement("2.4.3-01")
async def test_an_update_of_a_version_without_findings_has_nothing_to_keep() -> None:
    world = World(prior=Prior(PARENT, TEXT, ()))
    await world.deliver()
    (brief,) = world.model.briefs
    assert '"isUpdate": true' in brief.message
    assert NO_CHANGES in brief.message
    assert "retain_correction" not in {tool.name for tool in brief.tools}
    with pytest.raises(ValueError, match="no function"):
        brief.decide("retain_correction", json.dumps({"id": str(PARENT)}))


@pytest.mark.requirement("2.4.3-01", "2.4.4-03")
@pytest.mark.parametrize("requested_by", ["SELECTOR", "READER"])
async def test_later_attempts_see_the_same_earlier_findings_whoever_asked(requested_by: RequestedBy) -> None:
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


@pytest.mark.requirement("2.12-04")
@pytest.mark.parametrize("failure", ["TRANSIENT", "NON_RETRYABLE", "PARTIAL"])
async def test_a_failed_attempt_keeps_what_was_paid_for(failure: Failure) -> None:
    said = "é" * 20_000
    error = ModelError(
        failure, "it broke", name="Broken", status_code=500, usage=Usage(total_tokens=9), transcript=said.encode()
    )
    world = World([submit(QUOTE), error])
    end = (await world.deliver()).facts[-1]
    assert isinstance(end, InvestigationFailed | InvestigationRetryScheduled)
    assert (end.usage, end.error_name, end.status_code) == (Usage(total_tokens=9), "Broken", 500)
    assert end.transcript is not None
    assert await world.texts.get_text(end.transcript) == said


@pytest.mark.requirement("3.7-02")
@pytest.mark.parametrize(("asked_s", "waits_s"), [(None, 10.0), (3.0, 10.0), (60.0, 60.0), (1e9, RETRY_MAX_S)])
async def test_a_provider_that_asks_to_be_left_alone_is(asked_s: float | None, waits_s: float) -> None:
    busy = ModelError("TRANSIENT", "busy", name="Busy", status_code=429, retry_after_s=asked_s)
    world = World([busy])
    outcome = await world.deliver()
    assert isinstance(outcome.gave_up, Retry)
    assert outcome.gave_up.after_s == waits_s
    (scheduled,) = world.told(InvestigationRetryScheduled)
    assert isinstance(scheduled, InvestigationRetryScheduled)
    assert scheduled.retry_at - NOW == timedelta(seconds=waits_s)


@pytest.mark.requirement("3.7-07")
@pytest.mark.parametrize(
    ("key_source", "error", "fault"),
    [
        ("USER", final(401), "USER_KEY"),
        ("USER", final(403), "USER_KEY"),
        ("USER", without_credit(), "USER_KEY"),
        ("USER", final(400), "RUN"),
        ("USER", partial(), "RUN"),
        ("INSTANCE", final(401), "RUN"),
    ],
)
async def test_whose_fault_a_failure_is(key_source: KeySource, error: ModelError, fault: str) -> None:
    keys = MemoryKeys(**{str(INVESTIGATION_ID): "sk-of-a-reader"})
    world = World([error], request=requested(key_source=key_source), keys=keys)
    end = (await world.deliver()).facts[-1]
    assert isinstance(end, InvestigationFailed)
    assert end.fault == fault


@pytest.mark.requirement("3.7-07")
async def test_a_key_that_is_gone_is_the_readers_fault() -> None:
    end = (await World(request=requested(key_source="USER")).deliver()).facts[-1]
    assert isinstance(end, InvestigationFailed)
    assert (end.fault, end.error_name) == ("USER_KEY", KEY_UNUSABLE)


async def test_a_run_is_told_its_limits() -> None:
    world = World()
    limits = Limits(rounds=3, tokens=1_000, cost_micro_usd=250_000)
    run = investigator_over(world.log, world.texts, world.model, limits=limits)
    await handled(run.on_investigation_requested(world.request, 1), world.log)
    assert world.model.briefs[0].limits == limits


@pytest.mark.requirement("2.4-04")
@pytest.mark.parametrize("has_video", [True, False])
async def test_the_model_is_told_of_a_video(has_video: bool) -> None:
    world = World()
    world.log.versions[VERSION_ID] = snapshot(has_video=has_video)
    await world.deliver()
    assert f'"hasVideo": {str(has_video).lower()}' in world.model.briefs[0].message


def advance(calls: int, *, begins: bool = False) -> Advance:
    """The model wants to go on."""
    return Advance(f"stretch {calls}".encode(), begins, calls, Usage(total_tokens=calls))


@pytest.mark.requirement("3.6-03", "2.12-04")
async def test_what_is_on_record_is_told_before_the_model_is_asked_again() -> None:
    world = World([submit(QUOTE), advance(1, begins=True), advance(2), transient()], [advance(3), advance(4)])
    await world.deliver()
    told = world.told(InvestigationAdvanced)
    assert [(event.attempt, event.calls, event.usage.total_tokens) for event in told] == [(1, 1, 1), (1, 2, 2)]
    await world.deliver()
    refs = [event.before for event in world.told(InvestigationAdvanced)]
    names = [text_ref(f"stretch {number}").sha256 for number in range(1, 4)]
    assert refs == [None, *names], "each goes on from the one before, over attempts"
    assert [brief.done for brief in world.model.briefs] == [None, None], "a record that cannot be read is none"


@pytest.mark.requirement("3.7-01")
@pytest.mark.parametrize("end", [failed(reason="cancelled by operator"), failed(reason="validation: no")])
async def test_a_run_that_is_over_is_not_paid_for_any_longer(end: InvestigationFailed) -> None:
    world = World([submit(QUOTE), advance(1, begins=True), submit(OTHER_QUOTE, "call-2"), advance(2)])
    run = world.investigator.on_investigation_requested(world.request, 1)
    facts: list[Event] = []
    async for fact in run:
        world.log.publish(fact)
        facts.append(fact)
        if isinstance(fact, InvestigationAdvanced):
            world.log.publish(end)
    assert kinds(facts) == ["InvestigationStarted", "ClaimProposed", "InvestigationAdvanced"]
    world.deliveries = 1
    assert (await world.deliver()).facts == []


@pytest.mark.requirement("3.7-04")
@pytest.mark.parametrize(("reviews", "goes_on"), [(60, False), (59, True)], ids=["reached", "below"])
async def test_reviews_count_towards_what_a_run_may_cost(reviews: int, goes_on: bool) -> None:
    """The model knows only what it cost itself; what passed is on record, and the start says where the limit was."""
    spent = Usage(total_tokens=1, cost_micro_usd=40)
    world = World(
        [submit(QUOTE), Advance(b"stretch 1", True, 1, spent), submit(OTHER_QUOTE, "call-2")],
        limits=Limits(cost_micro_usd=100),
    )
    told: list[Event] = []
    async for event in world.investigator.on_investigation_requested(world.request, 1):
        world.log.publish(event)
        told.append(event)
        if isinstance(event, ClaimProposed):
            world.log.publish(rejected(QUOTE, usage=Usage(total_tokens=1, cost_micro_usd=reviews)))
    begun = told[0]
    assert isinstance(begun, InvestigationStarted)
    assert begun.cost_limit_micro_usd == 100
    if goes_on:
        assert kinds(told)[-2:] == ["ClaimProposed", "InvestigationDrafted"]
        return
    end = told[-1]
    assert isinstance(end, InvestigationFailed)
    assert (end.failure, end.error_name, end.usage) == ("NON_RETRYABLE", "CostLimit", spent)
    assert "cost 0.0001 USD" in end.reason
    assert kinds(told)[:-1] == ["InvestigationStarted", "ClaimProposed", "InvestigationAdvanced"]
