"""What a validator makes of what the log says: one suite for the log in memory and the real one.

The real one is not kinder than the fake: it is read anew or remembered, and a first delivery can come late.
"""

from __future__ import annotations

from datetime import timedelta
from types import NoneType

import pytest

from contracts.v1 import ClaimApproved, ClaimRejected, ClaimValidationFailed, Event
from contracts.v1.parts import Usage
from kit.errors import Retry, Superseded
from kit.publisher import PublishConflict
from tests.support.factories import (
    INVESTIGATION_ID,
    NOW,
    advanced,
    approved,
    claim_of,
    completed,
    drafted,
    failed,
    payload,
    proposed,
    rejected,
    requested,
    started,
    validation_failed,
    validation_retry_scheduled,
    validation_started,
)
from tests.support.fakes import handled
from tests.support.judging import Journal, Judge

KEY = "sk-of-a-reader"


def cost(micro_usd: int) -> Usage:
    """Money that was spent."""
    return Usage(total_tokens=1, cost_micro_usd=micro_usd)


class JudgingSuite:
    """Subclasses give it a `journal`."""

    @pytest.mark.parametrize(("delivery", "leaves"), [(1, PublishConflict), (2, NoneType)], ids=["late", "repeated"])
    @pytest.mark.parametrize(
        "verdict", [approved(), rejected(), validation_failed()], ids=lambda fact: type(fact).__name__
    )
    async def test_a_claim_judged_before_is_not_judged_again(
        self, journal: Journal, verdict: Event, delivery: int, leaves: type
    ) -> None:
        """A worker that was stopped meanwhile takes the delivery that it gets for the first."""
        await journal.tell(requested(), started(), validation_started(), verdict)
        judge = Judge(journal)
        outcome = await judge.judge(attempt=delivery)
        assert outcome.facts == []
        assert type(outcome.gave_up) is leaves
        assert judge.model.reviews == []

    async def test_a_run_that_is_repeated_does_not_buy_a_verdict_again(self, journal: Journal) -> None:
        await journal.tell(requested(), started(), approved(), started(2))
        judge = Judge(journal)
        outcome = await judge.judge(proposed(attempt=2, payload=payload(summary="Said again.")))
        assert (outcome.facts, outcome.gave_up) == ([], None)
        assert (judge.model.reviews, judge.sources.asked) == ([], [])

    async def test_a_delivery_repeated_before_its_verdict_was_stored_gives_the_same_fact(
        self, journal: Journal
    ) -> None:
        await journal.tell(requested(), started())
        judge = Judge(journal)
        *_, lost = (await handled(judge.validator.on_claim_proposed(proposed(), 1))).facts
        (stored,) = (await judge.judge(attempt=2)).facts
        assert lost.event_id() == stored.event_id()

    @pytest.mark.requirement("2.6-15", "3.6-03")
    @pytest.mark.parametrize(("late", "leaves"), [(1, PublishConflict), (2, Superseded)], ids=["first", "second"])
    async def test_a_late_delivery_buys_no_review_beside_another_s(
        self, journal: Journal, late: int, leaves: type
    ) -> None:
        """Another worker got a later delivery of the claim and is at it; only one later still takes over."""
        await journal.tell(requested(), started(), validation_started(delivery_count=2))
        judge = Judge(journal)
        outcome = await judge.judge(attempt=late)
        assert type(outcome.gave_up) is leaves
        assert (outcome.facts, judge.begun, judge.model.reviews) == ([], [], [])
        (fact,) = (await judge.judge(attempt=3)).facts
        assert isinstance(fact, ClaimApproved)
        assert len(judge.model.reviews) == 1

    @pytest.mark.requirement("3.7-02")
    async def test_a_delivery_that_comes_too_early_waits_for_the_rest_of_the_delay(self, journal: Journal) -> None:
        """Its worker died after it had told of the next try, and before it had told the broker when that is."""
        later = NOW + timedelta(seconds=60)
        other = validation_retry_scheduled("Other words.", retry_at=NOW + timedelta(seconds=90))
        mine = validation_started(delivery_count=1), validation_retry_scheduled(retry_at=later)
        await journal.tell(requested(), started(), *mine, other)
        judge = Judge(journal)
        judge.clock.pass_by(45)
        early = await judge.judge(attempt=2)
        assert isinstance(early.gave_up, Retry)
        assert early.gave_up.after_s == 15.0
        assert (early.facts, judge.begun, judge.sources.asked, judge.model.reviews) == ([], [], [], [])
        (fact,) = (await judge.judge(attempt=3)).facts
        assert isinstance(fact, ClaimApproved)

    @pytest.mark.requirement("2.6-15", "3.6-03")
    async def test_of_two_that_begin_at_once_one_pays(self, journal: Journal) -> None:
        """Both have read the log before either has told of its review; the stream takes one of them."""
        await journal.tell(requested(), started())
        late, quick = Judge(journal), Judge(journal)
        slow = late.validator.on_claim_proposed(proposed(), 1)
        begun = await anext(slow)
        (fact,) = (await quick.judge(attempt=2)).facts
        assert isinstance(fact, ClaimApproved)
        with pytest.raises(PublishConflict):
            await journal.publish(begun)
        await slow.aclose()  # type: ignore[attr-defined]  # async generators have aclose
        assert (late.model.reviews, len(quick.model.reviews)) == ([], 1)

    @pytest.mark.requirement("2.6-15")
    async def test_reviews_of_one_run_do_not_stand_in_one_another_s_way(self, journal: Journal) -> None:
        await journal.tell(requested(), started(), validation_started("Other words.", delivery_count=4))
        (fact,) = (await Judge(journal).judge()).facts
        assert isinstance(fact, ClaimApproved)

    async def test_a_review_of_an_earlier_round_is_none_of_this_one(self, journal: Journal) -> None:
        await journal.tell(
            requested(), started(), validation_started(delivery_count=4), failed(), requested(round=2), started(2)
        )
        (fact,) = (await Judge(journal).judge(proposed(round=2, attempt=2))).facts
        assert isinstance(fact, ClaimApproved)

    @pytest.mark.requirement("2.4.3-10")
    @pytest.mark.parametrize("spent", [50, 51], ids=["reached", "passed"])
    async def test_no_review_is_bought_beyond_what_the_run_may_cost(self, journal: Journal, spent: int) -> None:
        """What the attempts and the other reviews of the round have cost, each counted once."""
        limited = started(cost_limit_micro_usd=100)
        earlier = advanced(1, usage=cost(20)), advanced(2, 1, usage=cost(30))
        other = rejected("Other words.", usage=cost(spent)), rejected("Other words.", usage=cost(spent))
        await journal.tell(requested(), limited, *earlier, drafted(usage=cost(50)), *other)
        judge = Judge(journal)
        (fact,) = (await judge.judge()).facts
        assert isinstance(fact, ClaimValidationFailed)
        assert (fact.failure, fact.fault) == ("NON_RETRYABLE", "RUN")
        assert "its limit is 0.0001 USD" in fact.reason
        assert (judge.model.reviews, judge.begun) == ([], [])

    async def test_below_the_limit_a_review_is_bought(self, journal: Journal) -> None:
        """Money of an earlier round was another run's."""
        await journal.tell(
            requested(),
            started(),
            failed(usage=cost(1_000)),
            requested(round=2),
            started(2, cost_limit_micro_usd=100),
            drafted(2, usage=cost(50)),
            rejected("Other words.", usage=cost(49), round=2),
        )
        judge = Judge(journal)
        (fact,) = (await judge.judge(proposed(round=2, attempt=2))).facts
        assert isinstance(fact, ClaimApproved)
        (brief,) = judge.model.reviews
        assert brief.limits.cost_micro_usd == 100

    async def test_another_round_is_judged_anew(self, journal: Journal) -> None:
        await journal.tell(requested(), started(), validation_failed(), failed(), requested(round=2), started(2))
        (fact,) = (await Judge(journal).judge(proposed(round=2, attempt=2), attempt=2)).facts
        assert isinstance(fact, ClaimApproved)
        assert (fact.claim_id, fact.round) == (claim_of(), 2)
        assert fact.event_id() != approved().event_id()

    @pytest.mark.parametrize(
        "ends",
        [(failed(),), (completed(),), (failed(), requested(round=2)), (failed(), requested(round=2), started(2))],
        ids=["failed", "completed", "asked-for-again", "begun-again"],
    )
    async def test_nothing_is_bought_for_a_round_that_is_over(self, journal: Journal, ends: tuple[Event, ...]) -> None:
        """A failed or cancelled run publishes nothing, whatever is said of its claims later."""
        await journal.tell(requested(), started(), *ends)
        judge = Judge(journal)
        outcome = await judge.judge()
        assert (outcome.facts, outcome.gave_up) == ([], None)
        assert judge.model.reviews == []

    async def test_another_run_s_end_is_its_own(self, journal: Journal) -> None:
        await journal.tell(requested(), started(), rejected("Other words."))
        (fact,) = (await Judge(journal).judge()).facts
        assert isinstance(fact, ClaimApproved)

    @pytest.mark.parametrize("known", [(), (started(),)], ids=["nothing", "an-older-start"])
    async def test_a_log_that_lags_is_waited_for(self, journal: Journal, known: tuple[Event, ...]) -> None:
        """The start of another round may name another payer."""
        await journal.tell(requested(), *known)
        judge = Judge(journal)
        outcome = await judge.judge(proposed(round=2, attempt=2))
        assert isinstance(outcome.gave_up, Retry)
        assert outcome.gave_up.after_s < 1
        assert judge.model.reviews == []

    @pytest.mark.requirement("2.1-08", "3.7-07")
    @pytest.mark.parametrize("payers", [("USER", "INSTANCE"), ("INSTANCE", "USER")], ids="-then-".join)
    async def test_each_round_is_paid_for_by_whoever_asked_for_it(
        self, journal: Journal, payers: tuple[str, str]
    ) -> None:
        """One process judges both rounds, and remembers how the first was started."""
        judge = Judge(journal)
        for number, payer in enumerate(payers, 1):
            judge.keys.keys.clear()
            if payer == "USER":
                judge.keys.keys[str(INVESTIGATION_ID)] = KEY
            await journal.tell(requested(round=number, key_source=payer), started(number, key_source=payer))
            (fact,) = (await judge.judge(proposed(round=number, attempt=number))).facts
            assert isinstance(fact, ClaimApproved | ClaimRejected), fact
            await journal.tell(failed(number, round=number))
        assert judge.model.keys == [KEY if payer == "USER" else None for payer in payers]
