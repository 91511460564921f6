"""A worker that dies between storing an answer and telling of it leaves no second bill, whichever provider it asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from uuid import uuid4

import pytest

from contracts.transcript import Transcript
from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    Envelope,
    Event,
    InvestigationAdvanced,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRetryScheduled,
)
from kit.history import StoredFact
from kit.models.base import Model
from kit.models.failover import Failover
from services.commands.investigation.comparison import Comparison
from services.commands.investigation.replay import replay
from services.validator.handlers import Validator
from tests.support.factories import NOW, OTHER_QUOTE, QUOTE, VERSION_ID, payload, proposed, requested, snapshot, started
from tests.support.fakes import (
    ListedSources,
    MemoryKeys,
    MemoryLog,
    MemoryTexts,
    StillClock,
    handled,
    investigator_over,
)
from tests.support.openai_server import Answer, HttpError, Turn, call, message
from tests.support.providers import APIS, CHAT, OPENAI, SUBMIT, Api, provider

LONG = " Really." * 2_500
"""So much that no answer travels inside a fact."""
USAGE = {"input_tokens": 1000, "output_tokens": 500, "total_tokens": 1500}


def submitted(quote: str, call_id: str) -> Answer:
    handed_in = call(SUBMIT, payload(quote).model_dump(mode="json"), call_id)
    return Answer((message("Let me see." + LONG), handed_in), usage=USAGE)


FIRST, SECOND = submitted(QUOTE, "a"), submitted(OTHER_QUOTE, "b")
LAST = Answer((message("done" + LONG),), usage=USAGE)
APPROVED = Answer((message(json.dumps({"approved": True, "reason": LONG})),), usage=USAGE)
UNUSABLE = Answer((message(json.dumps({"approved": "perhaps", "reason": LONG})),), usage=USAGE)


@dataclass(frozen=True)
class Killed:
    """A worker is lost when it was about to tell its nth fact of a kind."""

    kind: type[Event]
    nth: int = 1


class Place:
    """A log, and a store."""

    def __init__(self, *events: Event) -> None:
        self.log = MemoryLog(*events, versions={VERSION_ID: snapshot()})
        self.texts = MemoryTexts()
        self.clock = StillClock()
        self.deliveries = 0

    async def told(self, work: AsyncIterator[Event], until: Killed | None = None) -> list[Event]:
        """What one delivery tells before its worker dies."""
        facts: list[Event] = []
        if until is None:
            return (await handled(work, self.log, self.clock)).facts
        async with aclosing(work) as events:  # type: ignore[type-var]  # async generators have aclose
            async for event in events:
                facts.append(event)
                if sum(isinstance(fact, until.kind) for fact in facts) == until.nth:
                    return facts
                self.log.publish(event)
        raise AssertionError("it was not killed")

    async def investigated(self, model: Model, until: Killed | None = None) -> list[Event]:
        self.deliveries += 1
        worker = investigator_over(self.log, self.texts, model, clock=self.clock)
        return await self.told(worker.on_investigation_requested(requested(), self.deliveries), until)

    async def judged(self, model: Model, until: Killed | None = None) -> list[Event]:
        self.deliveries += 1
        worker = Validator(self.log, self.texts, MemoryKeys(), model, ListedSources(), self.clock)
        return await self.told(worker.on_claim_proposed(proposed(), self.deliveries), until)

    async def replayed(self) -> list[Comparison]:
        past = [
            StoredFact(entry.sequence, Envelope(id=uuid4(), occurred_at=NOW, correlation=uuid4(), event=entry.event))
            for entry in self.log.entries
        ]
        return [each async for each in replay(past, self.texts)]

    def quotes(self) -> list[str]:
        return [event.payload.text for event in self.log.events if isinstance(event, ClaimProposed)]

    def spent(self) -> int:
        told = (InvestigationAdvanced, InvestigationDrafted, InvestigationFailed, InvestigationRetryScheduled)
        most: dict[int, int] = {}
        for event in self.log.events:
            if isinstance(event, told) and event.usage is not None:
                most[event.attempt] = max(most.get(event.attempt, 0), event.usage.total_tokens or 0)
        return sum(most.values())


@pytest.mark.requirement("2.6-15", "3.6-03")
@pytest.mark.parametrize("api", APIS, ids=repr)
@pytest.mark.parametrize(
    "killed",
    [Killed(InvestigationAdvanced), Killed(InvestigationAdvanced, 2), Killed(InvestigationDrafted)],
    ids=["first", "second", "last"],
)
async def test_no_answer_of_a_run_is_bought_again_that_was_stored(api: Api, killed: Killed) -> None:
    """2.6-15: A request during a run starts no second one.
    3.6-03: A run whose worker died is taken up again.
    """
    place = Place(requested())
    async with provider(api, FIRST, SECOND, LAST) as (model, server):
        await place.investigated(model, killed)
        facts = await place.investigated(model)
    assert len(server.requests) == 3, "each answer was asked for once"
    draft = facts[-1]
    assert isinstance(draft, InvestigationDrafted)
    assert place.quotes() == [QUOTE, OTHER_QUOTE]
    assert place.spent() == 4500, "and counted once"
    transcript = Transcript.model_validate_json(await place.texts.get_text(draft.transcript))
    assert len(transcript.calls) == 3
    compared = await place.replayed()
    assert all(each.same for each in compared), compared
    assert compared[1].facts == len(facts)


@pytest.mark.requirement("2.6-15", "3.6-03")
async def test_nor_over_several_deaths() -> None:
    """2.6-15: A request during a run starts no second one.
    3.6-03: A run whose worker died is taken up again.
    """
    place = Place(requested())
    async with provider(OPENAI, FIRST, SECOND, LAST) as (model, server):
        for killed in (Killed(InvestigationAdvanced), Killed(InvestigationAdvanced, 2), Killed(InvestigationDrafted)):
            await place.investigated(model, killed)
        facts = await place.investigated(model)
    assert len(server.requests) == 3
    assert isinstance(facts[-1], InvestigationDrafted)
    assert place.quotes() == [QUOTE, OTHER_QUOTE]


@pytest.mark.requirement("2.6-15", "3.6-03")
@pytest.mark.parametrize("again", [None, Killed(InvestigationDrafted)], ids=["once", "twice"])
async def test_nor_of_a_provider_that_stands_in(again: Killed | None) -> None:
    """2.6-15: A request during a run starts no second one.
    3.6-03: A run whose worker died is taken up again.
    """
    place = Place(requested())
    down = (HttpError(503),)
    async with provider(OPENAI, *down) as (first, one), provider(CHAT, FIRST, LAST) as (second, other):
        model = Failover(first, second)
        await place.investigated(model, Killed(InvestigationAdvanced))
        if again is not None:
            await place.investigated(model, again)
        facts = await place.investigated(model)
    assert (len(one.requests), len(other.requests)) == (1, 2)
    draft = facts[-1]
    assert isinstance(draft, InvestigationDrafted)
    transcript = Transcript.model_validate_json(await place.texts.get_text(draft.transcript))
    assert transcript.instead_of is not None


@pytest.mark.requirement("3.7-03")
async def test_an_answer_that_failed_for_good_is_told_and_not_asked_for_again() -> None:
    """3.7-03: A refused key or request fails at once."""
    place = Place(requested())
    async with provider(OPENAI, FIRST, Answer((), "incomplete", "max_output_tokens", usage=USAGE)) as (model, server):
        await place.investigated(model, Killed(InvestigationFailed))
        facts = await place.investigated(model)
    assert len(server.requests) == 2
    end = facts[-1]
    assert isinstance(end, InvestigationFailed)
    assert end.failure == "PARTIAL"


@pytest.mark.requirement("3.7-02")
async def test_one_that_failed_for_now_is_asked_for_again() -> None:
    """3.7-02: Attempts follow after 10, 20 and 40 seconds."""
    place = Place(requested())
    async with provider(OPENAI, FIRST, HttpError(500), LAST) as (model, server):
        await place.investigated(model, Killed(InvestigationRetryScheduled))
        facts = await place.investigated(model)
    assert len(server.requests) == 3
    assert isinstance(facts[-1], InvestigationDrafted)


async def test_a_conversation_that_the_provider_forgot_is_not_taken_up_from_the_store() -> None:
    """Its first answer was told; that it lies in the store is no reason to go on from it."""
    gone = {
        "error": {"message": "Previous response with id 'resp_1' not found.", "code": "previous_response_not_found"}
    }
    place = Place(requested())
    async with provider(OPENAI, FIRST, HttpError(400, gone), FIRST, LAST) as (model, server):
        await place.investigated(model)
        facts = await place.investigated(model)
    assert len(server.requests) == 4
    assert isinstance(facts[-1], InvestigationDrafted)


async def test_a_new_round_begins_anew() -> None:
    place = Place(requested())
    async with provider(OPENAI, LAST, FIRST, LAST) as (model, server):
        await place.investigated(model, Killed(InvestigationDrafted))
        place.log.publish(_given_up())
        again = requested(round=2, follows=1)
        place.log.publish(again)
        worker = investigator_over(place.log, place.texts, model)
        await place.told(worker.on_investigation_requested(again, 1), Killed(ClaimProposed))
        facts = await place.told(worker.on_investigation_requested(again, 2))
    assert len(server.requests) == 3, "what was stored in the round before is another's"
    assert isinstance(facts[-1], InvestigationDrafted)


def _given_up() -> InvestigationFailed:
    return InvestigationFailed(
        follows=0,
        investigation_id=requested().investigation_id,
        version_id=VERSION_ID,
        attempt=1,
        failure="TRANSIENT",
        reason="every attempt was cut short",
    )


@pytest.mark.requirement("2.6-15", "3.6-03")
@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_no_review_is_bought_again_whose_answer_was_stored(api: Api) -> None:
    """2.6-15: A request during a run starts no second one.
    3.6-03: A run whose worker died is taken up again.
    """
    place = Place(requested(), started(), proposed())
    async with provider(api, APPROVED) as (model, server):
        await place.judged(model, Killed(ClaimApproved))
        (_, verdict) = await place.judged(model)
    assert len(server.requests) == 1
    assert isinstance(verdict, ClaimApproved)
    assert verdict.usage is not None
    assert verdict.usage.total_tokens == 1500, "nobody has counted it before"


@pytest.mark.requirement("2.6-15", "3.6-03")
async def test_nor_one_of_a_provider_that_stands_in() -> None:
    """2.6-15: A request during a run starts no second one.
    3.6-03: A run whose worker died is taken up again.
    """
    place = Place(requested(), started(), proposed())
    async with provider(OPENAI, HttpError(503)) as (first, one), provider(CHAT, APPROVED) as (second, other):
        model = Failover(first, second)
        await place.judged(model, Killed(ClaimApproved))
        await place.judged(model, Killed(ClaimApproved))
        (_, verdict) = await place.judged(model)
    assert (len(one.requests), len(other.requests)) == (1, 1)
    assert isinstance(verdict, ClaimApproved)


@pytest.mark.requirement("3.7-03")
async def test_nor_one_whose_answer_was_of_no_use() -> None:
    """3.7-03: A refused key or request fails at once."""
    place = Place(requested(), started(), proposed())
    async with provider(OPENAI, UNUSABLE) as (model, server):
        await place.judged(model, Killed(ClaimValidationFailed))
        (_, verdict) = await place.judged(model)
    assert len(server.requests) == 1
    assert isinstance(verdict, ClaimValidationFailed)


@pytest.mark.requirement("3.7-02")
async def test_a_review_that_failed_for_now_is_tried_again_whether_it_was_told_or_not() -> None:
    """3.7-02: Attempts follow after 10, 20 and 40 seconds."""
    place = Place(requested(), started(), proposed())
    async with provider(OPENAI, HttpError(500), HttpError(500), APPROVED) as (model, server):
        await place.judged(model, Killed(ClaimValidationRetryScheduled))
        await place.judged(model)
        (_, verdict) = await place.judged(model)
    assert len(server.requests) == 3
    assert isinstance(verdict, ClaimApproved)


@pytest.mark.requirement("3.6-03")
@pytest.mark.parametrize("turns", [(FIRST, SECOND, LAST), (LAST,)], ids=["three answers", "one answer"])
async def test_where_nobody_died_nothing_more_is_stored_told_or_looked_for(turns: Sequence[Turn]) -> None:
    """3.6-03: A run whose worker died is taken up again."""
    place = Place(requested())
    async with provider(OPENAI, *turns) as (model, _):
        facts = await place.investigated(model)
    stored = [event for event in facts if isinstance(event, InvestigationAdvanced | InvestigationDrafted)]
    assert len(place.texts.steps) == len(stored) == len(turns)
    assert place.texts.looked_for == []
    place = Place(requested(), started(), proposed())
    async with provider(OPENAI, APPROVED) as (model, _):
        assert len(await place.judged(model)) == 2
    assert (len(place.texts.steps), place.texts.looked_for) == (1, [])
