"""A rule first, then the pages it cites, then a strict model; no answer is never an approval."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Any, get_args

import pytest

from analyses import flagging_kind
from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    Event,
)
from contracts.v1.parts import Picture, Source, SourceStatus, Usage
from kit.errors import Retry
from kit.models.base import ClaimInDoubt, ModelError
from lifecycle.attempts import REVIEWS
from services.validator.sources import UncheckedSources
from tests.support.factories import (
    INVESTIGATION_ID,
    NOW,
    QUOTE,
    TEXT,
    approved,
    payload,
    proposed,
    requested,
    snapshot,
    started,
    text_ref,
)
from tests.support.fakes import (
    ListedSources,
    MemoryLog,
    Verdict,
    checked,
    final,
    partial,
    transient,
    verdict,
    without_credit,
)
from tests.support.judging import InMemory, Judge


class World(Judge):
    """A run under way, and a validator."""

    def __init__(self, *verdicts: Verdict | ModelError, log: MemoryLog | None = None, **given: Any) -> None:
        super().__init__(InMemory(log or MemoryLog(requested(), started())), *verdicts, **given)


async def only_fact(world: World, claim: ClaimProposed | None = None, attempt: int = 1) -> Event:
    """The one fact that comes of a delivery."""
    outcome = await world.judge(claim, attempt)
    assert outcome.gave_up is None
    (fact,) = outcome.facts
    return fact


@pytest.mark.requirement("2.4.3-09")
async def test_an_approval() -> None:
    """2.4.3-09: A review answers approved or not, nothing else."""
    world = World(verdict(approved=True))
    fact = await only_fact(world)
    (source,) = payload().sources
    assert fact == approved(
        transcript=text_ref("{}"),
        usage=Usage(total_tokens=1),
        sources=(checked(source).source,),
        prompt=flagging_kind("FACT_CHECK").review.prompt,
        rules=flagging_kind("FACT_CHECK").rules,
        unchecked_allowed=False,
    )
    (brief,) = world.model.reviews
    assert '"status": "found", "wordsOnPage": "So: It is otherwise."' in brief.words
    assert brief.subject == ClaimInDoubt(payload(), TEXT)
    assert QUOTE in brief.words


async def test_the_reviewer_is_told_of_the_pictures() -> None:
    picture = Picture(
        original_index=0,
        normalized_text_offset=5,
        source_url="https://img.example/0.png",
        status="unavailable",
        reason="http_404",
    )
    world = World(verdict(approved=True), log=MemoryLog(requested(), started(input=snapshot(pictures=(picture,)))))
    await only_fact(world)
    (brief,) = world.model.reviews
    assert '"offset": 5, "status": "unavailable", "url": "https://img.example/0.png", "caption": null' in brief.words


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
    """2.4.2-03: Claims rest on the text, with pictures too.
    3.2-14: Claims have ≥1 source.
    """
    world = World(verdict(approved=True))
    fact = await only_fact(world, proposed(payload=wrong))
    assert isinstance(fact, ClaimRejected)
    assert fact.gate == "rule"
    assert world.sources.asked == []
    assert world.model.reviews == []


@pytest.mark.requirement("2.4.3-10", "3.7-02", "2.12-04")
@pytest.mark.parametrize("lost", [0, 3], ids=["all-delivered", "some-deliveries-lost"])
async def test_a_passing_failure_is_tried_four_times_and_is_never_an_approval(lost: int) -> None:
    """Each try leaves its trace. What a crash took from a delivery was no try.

    2.4.3-10: An error of a review fails the attempt, it drops no claim.
    3.7-02: Attempts follow after 10, 20 and 40 seconds.
    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    busy = ModelError(
        "TRANSIENT", "busy", name="Http503", status_code=503, usage=Usage(total_tokens=7), transcript=b'{"calls":[]}'
    )
    world = World(busy)
    outcomes = [await world.judge(attempt=lost + number) for number in range(1, 5)]
    assert [o.gave_up.after_s for o in outcomes if isinstance(o.gave_up, Retry)] == [10.0, 20.0, 40.0]
    for number, (outcome, after_s) in enumerate(zip(outcomes[:3], (10, 10 + 20, 10 + 20 + 40), strict=True), 1):
        assert outcome.facts == [
            ClaimValidationRetryScheduled(
                investigation_id=INVESTIGATION_ID,
                claim_id=proposed().claim_id,
                review_attempt=number,
                failure="TRANSIENT",
                reason="busy",
                status_code=503,
                error_name="Http503",
                sources=(checked(payload().sources[0]).source,),
                usage=Usage(total_tokens=7),
                transcript=text_ref('{"calls":[]}'),
                prompt=flagging_kind("FACT_CHECK").review.prompt,
                rules=flagging_kind("FACT_CHECK").rules,
                unchecked_allowed=False,
                retry_at=NOW + timedelta(seconds=after_s),
            )
        ]
    (fact,) = outcomes[3].facts
    assert isinstance(fact, ClaimValidationFailed)
    assert (fact.failure, fact.status_code) == ("TRANSIENT", 503)
    assert len(world.model.reviews) == 4


@pytest.mark.requirement("3.7-03", "3.7-04")
@pytest.mark.parametrize("error", [final(), partial()], ids=["refused", "cut-short"])
async def test_a_failure_that_will_not_pass_is_told_at_once(error: ModelError) -> None:
    """3.7-03: A refused key or request fails at once.
    3.7-04: A malformed submission ends the run.
    """
    fact = await only_fact(World(error))
    assert isinstance(fact, ClaimValidationFailed)
    assert (fact.failure, fact.reason, fact.status_code) == (error.failure, error.reason, error.status_code)
    assert fact.fault == "RUN"
    assert [source.status for source in fact.sources] == ["found"]


@pytest.mark.requirement("2.12-04")
async def test_what_a_failed_review_cost_and_said_is_kept() -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    error = ModelError(
        "PARTIAL", "cut short", name="Incomplete", usage=Usage(total_tokens=7), transcript=b'{"calls":[]}'
    )
    fact = await only_fact(World(error))
    assert isinstance(fact, ClaimValidationFailed)
    assert (fact.usage.total_tokens, fact.transcript) == (7, text_ref('{"calls":[]}'))


async def test_a_provider_that_asks_for_patience_gets_it() -> None:
    busy = ModelError("TRANSIENT", "busy", name="Http429", status_code=429, retry_after_s=90.0)
    outcome = await World(busy).judge()
    assert isinstance(outcome.gave_up, Retry)
    assert outcome.gave_up.after_s == 90.0


async def test_after_a_passing_failure_the_verdict_counts() -> None:
    world = World(transient(), verdict(approved=True))
    await world.judge()
    assert isinstance(await only_fact(world, attempt=2), ClaimApproved)


@pytest.mark.requirement("2.1-08")
async def test_a_readers_run_is_judged_with_the_readers_key() -> None:
    """2.1-08: User OpenAI key path."""
    world = World(
        log=MemoryLog(requested(), started(key_source="USER")), keys={str(INVESTIGATION_ID): "sk-of-a-reader"}
    )
    await world.judge()
    assert world.model.keys == ["sk-of-a-reader"]


@pytest.mark.requirement("3.7-07")
async def test_a_readers_key_that_is_gone_is_a_failure_and_not_an_approval() -> None:
    """3.7-07: A reader's key that is gone fails the run."""
    world = World(log=MemoryLog(requested(), started(key_source="USER")))
    fact = await only_fact(world)
    assert isinstance(fact, ClaimValidationFailed)
    assert (fact.failure, fact.fault) == ("NON_RETRYABLE", "USER_KEY")
    assert world.model.reviews == []


@pytest.mark.requirement("3.7-03", "3.7-07")
@pytest.mark.parametrize("error", [final(401), without_credit()], ids=["refused", "without-credit"])
async def test_a_readers_key_that_is_of_no_use_is_the_keys_fault_at_once(error: ModelError) -> None:
    """3.7-03: A refused key or request fails at once.
    3.7-07: A reader's key that is gone fails the run.
    """
    world = World(
        error, log=MemoryLog(requested(), started(key_source="USER")), keys={str(INVESTIGATION_ID): "sk-of-a-reader"}
    )
    fact = await only_fact(world)
    assert isinstance(fact, ClaimValidationFailed)
    assert fact.fault == "USER_KEY"


async def test_an_instance_without_credit_tries_again() -> None:
    assert isinstance((await World(without_credit()).judge()).gave_up, Retry)


async def test_a_claim_that_is_given_up_fails_its_investigation() -> None:
    world = World()
    told = await world.give_up(proposed(), "gave up after 8 attempts")
    (fact,) = told.facts
    assert isinstance(fact, ClaimValidationFailed)
    assert (fact.claim_id, fact.round) == (proposed().claim_id, proposed().round)
    assert (fact.failure, fact.reason) == ("NON_RETRYABLE", "gave up after 8 attempts")


def cited(*titles: str) -> ClaimProposed:
    """A candidate with these sources."""
    sources = tuple(
        Source(url=f"https://{title}.example/", title=title, snippet=f"words of {title}") for title in titles
    )
    return proposed(payload=payload(sources=sources))


@pytest.mark.requirement("2.4.3-10", "2.12-06")
@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("statuses", list(product(get_args(SourceStatus), repeat=2)), ids="-".join)
async def test_a_claim_needs_a_source_that_counts_and_no_invented_one(
    statuses: tuple[SourceStatus, ...], allowed: bool
) -> None:
    """2.4.3-10: An error of a review fails the attempt, it drops no claim.
    2.12-06: Source snapshots with hash and retrieval time.
    """
    titles = ("one", "two")
    sources = ListedSources(**dict(zip(titles, statuses, strict=True)))
    world = World(sources=sources, unchecked_allowed=allowed)
    claim = cited(*titles)
    fact = await only_fact(world, claim)
    good = {"found", "unavailable", "unchecked"} if allowed else {"found"}
    counting = [title for title, status in zip(titles, statuses, strict=True) if status in good]
    if counting and "missing" not in statuses:
        assert isinstance(fact, ClaimApproved)
        assert [source.title for source in fact.payload.sources] == counting
        assert world.model.reviews[0].subject == ClaimInDoubt(claim.payload, TEXT)
    else:
        assert isinstance(fact, ClaimRejected)
        assert fact.gate == "sources"
        blamed = [source.url for source in claim.payload.sources if source.url in fact.reason]
        lacking = [status for status in statuses if status == "missing"] or statuses
        assert len(blamed) == len(lacking)
        assert world.model.reviews == []
    assert [source.status for source in fact.sources] == list(statuses)
    assert fact.unchecked_allowed is allowed


async def test_a_rejection_by_the_model_keeps_the_sources_too() -> None:
    fact = await only_fact(World(verdict(approved=False, reason="It is a joke.")))
    assert isinstance(fact, ClaimRejected)
    assert [source.status for source in fact.sources] == ["found"]


async def test_a_demonstration_goes_nowhere_and_says_so() -> None:
    evidence = await UncheckedSources().check(payload().sources)
    assert [(each.source.status, each.source.reason, each.words) for each in evidence] == [("unchecked", "demo", None)]


def test_delays() -> None:
    assert [REVIEWS.delay_s(number, "TRANSIENT") for number in range(1, 6)] == [10.0, 20.0, 40.0, None, None]
    assert REVIEWS.delay_s(1, "NON_RETRYABLE") is REVIEWS.delay_s(1, "PARTIAL") is None
    assert [REVIEWS.delay_s(1, "TRANSIENT", asked) for asked in (3.0, 90.0, 86_400.0)] == [10.0, 90.0, 600.0]
