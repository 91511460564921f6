"""A rule first, then a strict model; no answer is never an approval."""

from __future__ import annotations

import pytest

from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimValidationFailed,
    Event,
)
from contracts.v1.parts import Picture, Source, Usage
from kit.errors import Retry
from kit.models.base import ModelError, Verdict
from services.validator.domain import next_step
from services.validator.handlers import Validator
from tests.support.factories import (
    INVESTIGATION_ID,
    QUOTE,
    TEXT,
    approved,
    claim_of,
    payload,
    proposed,
    rejected,
    snapshot,
    started,
    text_ref,
    validation_failed,
)
from tests.support.fakes import (
    Handled,
    MemoryKeys,
    MemoryLog,
    MemoryTexts,
    ScriptedModel,
    final,
    handled,
    partial,
    transient,
    verdict,
)


class World:
    """A run under way, and a validator."""

    def __init__(self, *verdicts: Verdict | ModelError, log: MemoryLog | None = None, **keys: str) -> None:
        self.log = log or MemoryLog(started())
        self.model = ScriptedModel(verdicts=verdicts)
        self.validator = Validator(self.log, MemoryTexts(), MemoryKeys(**keys), self.model)

    async def judge(self, claim: ClaimProposed | None = None, attempt: int = 1) -> Handled:
        """One delivery."""
        return await handled(self.validator.on_claim_proposed(claim or proposed(), attempt), self.log)


async def only_fact(world: World, claim: ClaimProposed | None = None, attempt: int = 1) -> Event:
    """The one fact that comes of a delivery."""
    outcome = await world.judge(claim, attempt)
    assert outcome.gave_up is None
    (fact,) = outcome.facts
    return fact


@pytest.mark.requirement("2.4.3-09")
async def test_an_approval() -> None:
    world = World(verdict(approved=True))
    fact = await only_fact(world)
    assert fact == approved(transcript=text_ref("{}"), usage=Usage(total_tokens=1))
    (brief,) = world.model.reviews
    assert brief.text == TEXT
    assert QUOTE in brief.message
    assert brief.claim == payload()


async def test_the_reviewer_is_told_of_the_pictures() -> None:
    picture = Picture(
        original_index=0,
        normalized_text_offset=5,
        source_url="https://img.example/0.png",
        status="unavailable",
        reason="http_404",
    )
    world = World(verdict(approved=True), log=MemoryLog(started(input=snapshot(pictures=(picture,)))))
    await only_fact(world)
    (brief,) = world.model.reviews
    assert '"offset": 5, "status": "unavailable", "url": "https://img.example/0.png", "caption": null' in brief.message


async def test_a_rejection_keeps_the_models_reason() -> None:
    fact = await only_fact(World(verdict(approved=False, reason="It is a joke.")))
    assert isinstance(fact, ClaimRejected)
    assert (fact.gate, fact.reason) == ("model", "It is a joke.")


async def test_a_rejection_without_a_reason_says_so() -> None:
    fact = await only_fact(World(verdict(approved=False)))
    assert isinstance(fact, ClaimRejected)
    assert fact.reason


@pytest.mark.requirement("2.4.2-03", "3.2-14")
@pytest.mark.parametrize(
    "wrong",
    [
        payload("Mount Everest was climbed in 1963."),
        payload(context="Other words around it."),
        payload(sources=(Source(url="javascript:alert(1)", title="A page", snippet="Words."),)),
        payload("a", context="a"),
    ],
    ids=["not-verbatim", "context-elsewhere", "no-web-page", "ambiguous"],
)
async def test_what_cannot_be_shown_is_rejected_before_a_model_is_asked(wrong: object) -> None:
    world = World(verdict(approved=True))
    fact = await only_fact(world, proposed(payload=wrong))
    assert isinstance(fact, ClaimRejected)
    assert fact.gate == "rule"
    assert world.model.reviews == []


@pytest.mark.requirement("2.4.3-10", "3.7-02")
async def test_a_passing_failure_is_tried_four_times_and_is_never_an_approval() -> None:
    world = World(transient(503))
    outcomes = [await world.judge(attempt=number) for number in range(1, 5)]
    assert [o.gave_up.after_s for o in outcomes if isinstance(o.gave_up, Retry)] == [10.0, 20.0, 40.0]
    assert [o.facts for o in outcomes[:3]] == [[], [], []]
    (fact,) = outcomes[3].facts
    assert isinstance(fact, ClaimValidationFailed)
    assert (fact.failure, fact.status_code) == ("TRANSIENT", 503)
    assert len(world.model.reviews) == 4


@pytest.mark.requirement("3.7-03", "3.7-04")
@pytest.mark.parametrize("error", [final(), partial()], ids=["refused", "cut-short"])
async def test_a_failure_that_will_not_pass_is_told_at_once(error: ModelError) -> None:
    fact = await only_fact(World(error))
    assert isinstance(fact, ClaimValidationFailed)
    assert (fact.failure, fact.reason, fact.status_code) == (error.failure, error.reason, error.status_code)


async def test_after_a_passing_failure_the_verdict_counts() -> None:
    world = World(transient(), verdict(approved=True))
    await world.judge()
    assert isinstance(await only_fact(world, attempt=2), ClaimApproved)


@pytest.mark.parametrize("judged", [approved(), rejected(), validation_failed()], ids=lambda fact: type(fact).__name__)
async def test_a_claim_judged_before_is_not_judged_again(judged: Event) -> None:
    world = World(log=MemoryLog(started(), judged))
    outcome = await world.judge(attempt=2)
    assert (outcome.facts, outcome.gave_up) == ([], None)
    assert world.model.reviews == []


async def test_a_delivery_repeated_before_its_verdict_was_stored_gives_the_same_fact() -> None:
    world = World(log=MemoryLog(started()))
    lost = await handled(world.validator.on_claim_proposed(proposed(), 1))
    assert [fact.event_id() for fact in lost.facts] == [(await only_fact(world, attempt=2)).event_id()]


async def test_another_round_is_judged_anew() -> None:
    world = World(log=MemoryLog(started(), validation_failed()))
    fact = await only_fact(world, proposed(round=2), attempt=2)
    assert isinstance(fact, ClaimApproved)
    assert (fact.claim_id, fact.round) == (claim_of(), 2)
    assert fact.event_id() != approved().event_id()


async def test_a_log_that_lags_is_waited_for() -> None:
    world = World(log=MemoryLog())
    outcome = await world.judge()
    assert isinstance(outcome.gave_up, Retry)
    assert outcome.gave_up.after_s < 1
    assert world.model.reviews == []


@pytest.mark.requirement("2.1-08")
async def test_a_readers_run_is_judged_with_the_readers_key() -> None:
    world = World(log=MemoryLog(started(key_source="USER")), **{str(INVESTIGATION_ID): "sk-of-a-reader"})
    await world.judge()
    assert world.model.keys == ["sk-of-a-reader"]


@pytest.mark.requirement("3.7-07")
async def test_a_readers_key_that_is_gone_is_a_failure_and_not_an_approval() -> None:
    world = World(log=MemoryLog(started(key_source="USER")))
    fact = await only_fact(world)
    assert isinstance(fact, ClaimValidationFailed)
    assert fact.failure == "NON_RETRYABLE"
    assert world.model.reviews == []


async def test_a_claim_that_is_given_up_fails_its_investigation() -> None:
    world = World()
    told = await handled(world.validator.on_given_up(proposed(), "gave up after 8 attempts"), world.log)
    (fact,) = told.facts
    assert isinstance(fact, ClaimValidationFailed)
    assert (fact.claim_id, fact.round) == (proposed().claim_id, proposed().round)
    assert (fact.failure, fact.reason) == ("NON_RETRYABLE", "gave up after 8 attempts")


def test_delays() -> None:
    assert [next_step(number, "TRANSIENT") for number in range(1, 6)] == [10.0, 20.0, 40.0, None, None]
    assert next_step(1, "NON_RETRYABLE") is next_step(1, "PARTIAL") is None
