"""One attempt, from request to draft or failure, and what a later one does about it."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from contracts.v1 import (
    ClaimProposed,
    Event,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
)
from kit.bus import AlreadyThere
from kit.errors import Reject, Retry
from kit.models.base import ModelError, Submission
from services.investigator.handlers import Investigator
from tests.support.factories import (
    INVESTIGATION_ID,
    MODEL,
    NOW,
    OTHER_QUOTE,
    QUOTE,
    TEXT,
    VERSION_ID,
    claim_of,
    drafted,
    failed,
    payload,
    requested,
    snapshot,
    started,
    text_ref,
)
from tests.support.fakes import (
    Handled,
    MemoryKeys,
    MemoryLog,
    MemoryTexts,
    Run,
    ScriptedModel,
    StillClock,
    final,
    handled,
    partial,
    transient,
)


def submit(quote: str, call_id: str = "call-1", **given: object) -> Submission:
    """The model hands in a claim."""
    return Submission(call_id, payload(quote, **given))


class World:
    """A log with a version and a request, and an investigator over it."""

    def __init__(
        self, *runs: Run, request: InvestigationRequested | None = None, keys: MemoryKeys | None = None
    ) -> None:
        self.request = request or requested()
        self.log = MemoryLog(self.request, versions={VERSION_ID: snapshot()})
        self.deliveries = 0
        self.texts = MemoryTexts()
        self.model = ScriptedModel(runs or ((),))
        self.investigator = Investigator(
            self.log, self.texts, keys or MemoryKeys(), self.model, StillClock(), "worker-1"
        )

    async def deliver(self) -> Handled:
        """The request is delivered, for the first time or once more."""
        self.deliveries += 1
        return await handled(self.investigator.on_investigation_requested(self.request, self.deliveries), self.log)

    def told(self, kind: type[Event]) -> list[Event]:
        """Facts of a class, in the order of the log."""
        return [event for event in self.log.events if isinstance(event, kind)]


def kinds(facts: list[Event]) -> list[str]:
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


async def test_the_same_claim_handed_in_twice_is_one() -> None:
    world = World([submit(QUOTE), submit(QUOTE, "call-2", summary="Said otherwise."), submit(OTHER_QUOTE, "call-3")])
    draft = (await world.deliver()).facts[-1]
    assert isinstance(draft, InvestigationDrafted)
    assert len(world.told(ClaimProposed)) == len(draft.claim_ids) == 2


@pytest.mark.requirement("2.8-01", "2.6-15")
async def test_a_request_delivered_again_runs_nothing() -> None:
    world = World([submit(QUOTE)])
    await world.deliver()
    again = await world.deliver()
    assert (again.facts, again.gave_up) == ([], None)
    assert len(world.model.briefs) == 1


async def test_a_log_that_lags_is_waited_for() -> None:
    world = World()
    world.log.entries.clear()
    world.deliveries = 1
    outcome = await world.deliver()
    assert isinstance(outcome.gave_up, Retry)
    assert outcome.gave_up.after_s < 1
    assert world.model.briefs == []


async def test_a_version_that_nobody_registered_is_rejected() -> None:
    world = World()
    world.log.versions.clear()
    outcome = await world.deliver()
    assert isinstance(outcome.gave_up, Reject)
    assert outcome.facts == []


@pytest.mark.requirement("3.7-01", "3.7-02")
async def test_a_passing_failure_is_tried_four_times_with_growing_delays() -> None:
    world = World([transient()])
    outcomes = [await world.deliver() for _ in range(4)]
    delays = [outcome.gave_up.after_s for outcome in outcomes if isinstance(outcome.gave_up, Retry)]
    assert delays == [10.0, 20.0, 40.0]
    scheduled = world.told(InvestigationRetryScheduled)
    assert [event.retry_at - NOW for event in scheduled if isinstance(event, InvestigationRetryScheduled)] == [
        timedelta(seconds=seconds) for seconds in (10, 20, 40)
    ]
    (end,) = world.told(InvestigationFailed)
    assert isinstance(end, InvestigationFailed)
    assert (end.attempt, end.failure, end.status_code) == (4, "TRANSIENT", 500)
    assert outcomes[-1].gave_up is None
    assert len(world.model.briefs) == 4
    assert (await world.deliver()).facts == []


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


async def test_a_second_attempt_tells_only_what_is_new_and_drafts_everything() -> None:
    world = World([submit(QUOTE), transient()], [submit(OTHER_QUOTE), submit(QUOTE, "call-2")])
    await world.deliver()
    outcome = await world.deliver()
    assert kinds(outcome.facts) == ["InvestigationStarted", "ClaimProposed", "InvestigationDrafted"]
    begun, _, draft = outcome.facts
    assert isinstance(begun, InvestigationStarted)
    assert isinstance(draft, InvestigationDrafted)
    assert (begun.attempt, draft.attempt) == (2, 2)
    assert draft.claim_ids == (claim_of(OTHER_QUOTE), claim_of(QUOTE))


@pytest.mark.requirement("2.4.4-03")
async def test_a_later_attempt_sees_what_the_first_one_saw() -> None:
    world = World([transient()], [])
    await world.deliver()
    world.log.versions[VERSION_ID] = snapshot("Another text.")
    await world.deliver()
    assert [brief.text for brief in world.model.briefs] == [TEXT, TEXT]


async def test_a_run_that_was_cut_off_goes_on_as_the_next_attempt() -> None:
    world = World([submit(QUOTE)])
    run = world.investigator.on_investigation_requested(world.request, 1)
    for _ in range(2):
        world.log.publish(await anext(run))
    assert kinds(world.log.events) == ["InvestigationRequested", "InvestigationStarted", "ClaimProposed"]
    world.deliveries = 1
    outcome = await world.deliver()
    assert kinds(outcome.facts) == ["InvestigationStarted", "InvestigationDrafted"]
    draft = outcome.facts[-1]
    assert isinstance(draft, InvestigationDrafted)
    assert (draft.attempt, draft.claim_ids) == (2, (claim_of(),))


async def test_attempts_that_were_all_cut_off_are_given_up() -> None:
    world = World()
    for number in range(1, 5):
        world.log.publish(started(number, follows=world.log.last(started().subject())))
    world.deliveries = 4
    (end,) = (await world.deliver()).facts
    assert isinstance(end, InvestigationFailed)
    assert (end.attempt, end.failure) == (4, "TRANSIENT")
    assert world.model.briefs == []


async def test_of_two_workers_one_begins() -> None:
    world = World([submit(QUOTE)])
    slow = world.investigator.on_investigation_requested(world.request, 1)
    begun_too_late = await anext(slow)
    await world.deliver()
    with pytest.raises(AlreadyThere):
        world.log.publish(begun_too_late)
    assert len(world.model.briefs) == 1


@pytest.mark.requirement("2.6-14")
async def test_another_round_judges_everything_anew() -> None:
    world = World([submit(QUOTE)])
    await world.deliver()
    world.log.publish(failed())
    world.request = requested(round=2, follows=1)
    world.log.publish(world.request)
    world.deliveries = 0
    outcome = await world.deliver()
    assert kinds(outcome.facts) == ["InvestigationStarted", "ClaimProposed", "InvestigationDrafted"]
    first, second = world.told(ClaimProposed)
    assert isinstance(first, ClaimProposed)
    assert isinstance(second, ClaimProposed)
    assert (first.claim_id, first.round) == (second.claim_id, 1)
    assert second.round == 2
    assert first.event_id() != second.event_id()


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
