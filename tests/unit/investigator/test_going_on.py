"""A run on its way: what is told before the model is asked again, and what ends it there."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest

from contracts.v1 import (
    ClaimProposed,
    Event,
    InvestigationAdvanced,
    InvestigationFailed,
    InvestigationStarted,
)
from contracts.v1.parts import Usage
from kit.errors import Outage
from kit.history import StoredFact
from kit.models.base import Checkpoint, Limits
from tests.support.attempts import World, kinds, submit
from tests.support.factories import (
    OTHER_QUOTE,
    QUOTE,
    failed,
    rejected,
    text_ref,
)
from tests.support.fakes import (
    handled,
    investigator_over,
    transient,
)


async def test_a_run_is_told_its_limits() -> None:
    world = World()
    limits = Limits(rounds=3, tokens=1_000, cost_micro_usd=250_000)
    run = investigator_over(world.log, world.texts, world.model, limits=limits)
    await handled(run.on_investigation_requested(world.request, 1), world.log)
    assert world.model.briefs[0].limits == limits


def advance(calls: int, *, begins: bool = False) -> Checkpoint:
    """The model wants to go on."""
    return Checkpoint(f"segment {calls}".encode(), begins, calls, Usage(total_tokens=calls))


@pytest.mark.requirement("3.6-03", "2.12-04")
async def test_what_is_on_record_is_told_before_the_model_is_asked_again() -> None:
    """3.6-03: A run whose worker died is taken up again.
    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    world = World([submit(QUOTE), advance(1, begins=True), advance(2), transient()], [advance(3), advance(4)])
    await world.deliver()
    told = world.told(InvestigationAdvanced)
    assert [(event.attempt, event.calls, event.usage.total_tokens) for event in told] == [(1, 1, 1), (1, 2, 2)]
    await world.deliver()
    refs = [event.before for event in world.told(InvestigationAdvanced)]
    names = [text_ref(f"segment {number}").sha256 for number in range(1, 4)]
    assert refs == [None, *names], "each goes on from the one before, over attempts"
    assert [brief.done for brief in world.model.briefs] == [None, None], "a record that cannot be read is none"


@pytest.mark.requirement("3.7-01")
@pytest.mark.parametrize("end", [failed(reason="cancelled by operator"), failed(reason="validation: no")])
async def test_a_run_that_is_over_is_not_paid_for_any_longer(end: InvestigationFailed) -> None:
    """3.7-01: Four attempts, then FAILED."""
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


async def test_a_log_that_cannot_be_read_for_now_stops_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World([advance(1, begins=True), submit(QUOTE)])

    async def fail(investigation_id: UUID) -> Sequence[StoredFact]:
        raise Outage(1.0, "the log could not be read")

    monkeypatch.setattr(world.log, "history", fail)
    assert kinds((await world.deliver()).facts) == [
        "InvestigationStarted",
        "InvestigationAdvanced",
        "ClaimProposed",
        "InvestigationDrafted",
    ]


@pytest.mark.parametrize(("reviews", "goes_on"), [(60, False), (59, True)], ids=["reached", "below"])
async def test_reviews_count_towards_what_a_run_may_cost(reviews: int, goes_on: bool) -> None:
    """The model knows only what it cost itself; what passed is on record, and the start says where the limit was."""
    spent = Usage(total_tokens=1, cost_micro_usd=40)
    world = World(
        [submit(QUOTE), Checkpoint(b"segment 1", True, 1, spent), submit(OTHER_QUOTE, "call-2")],
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


async def test_what_a_lagging_log_does_not_show_yet_counts_towards_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(
        [Checkpoint(b"segment 1", True, 1, Usage(total_tokens=1, cost_micro_usd=100)), submit(QUOTE)],
        limits=Limits(cost_micro_usd=100),
    )
    history = world.log.history

    async def lag(investigation_id: UUID) -> Sequence[StoredFact]:
        return [past for past in await history(investigation_id) if not isinstance(past.event, InvestigationAdvanced)]

    monkeypatch.setattr(world.log, "history", lag)
    *before, end = (await world.deliver()).facts
    assert kinds(before) == ["InvestigationStarted", "InvestigationAdvanced"]
    assert isinstance(end, InvestigationFailed)
    assert end.error_name == "CostLimit"


@pytest.mark.parametrize(("reviews", "asked"), [(60, 1), (59, 2)], ids=["reached", "below"])
async def test_an_attempt_asks_nothing_that_the_run_can_no_longer_pay_for(reviews: int, asked: int) -> None:
    spent = Usage(total_tokens=1, cost_micro_usd=40)
    world = World(
        [submit(QUOTE), Checkpoint(b"segment 1", True, 1, spent), transient()],
        [submit(OTHER_QUOTE, "call-2")],
        limits=Limits(cost_micro_usd=100),
    )
    await world.deliver()
    world.log.publish(rejected(QUOTE, usage=Usage(total_tokens=1, cost_micro_usd=reviews)))
    end = (await world.deliver()).facts[-1]
    assert len(world.model.briefs) == asked
    assert getattr(end, "error_name", None) == ("CostLimit" if asked == 1 else None)
