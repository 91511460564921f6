"""What a validator makes of what the log says: one suite for the log in memory and the real one.

The real one is not kinder than the fake: it is read anew or remembered, and a first delivery can come late.
"""

from __future__ import annotations

import pytest

from contracts.v1 import ClaimApproved, ClaimRejected, Event
from kit.errors import Retry
from tests.support.factories import (
    INVESTIGATION_ID,
    approved,
    claim_of,
    completed,
    failed,
    payload,
    proposed,
    rejected,
    requested,
    started,
    validation_failed,
)
from tests.support.fakes import handled
from tests.support.judging import Journal, Judge

KEY = "sk-of-a-reader"


class JudgingSuite:
    """Subclasses give it a `journal`."""

    @pytest.mark.parametrize("delivery", [1, 2], ids=["late", "repeated"])
    @pytest.mark.parametrize(
        "verdict", [approved(), rejected(), validation_failed()], ids=lambda fact: type(fact).__name__
    )
    async def test_a_claim_judged_before_is_not_judged_again(
        self, journal: Journal, verdict: Event, delivery: int
    ) -> None:
        """A worker that was stopped meanwhile takes the delivery that it gets for the first."""
        await journal.tell(requested(), started(), verdict)
        judge = Judge(journal)
        outcome = await judge.judge(attempt=delivery)
        assert (outcome.facts, outcome.gave_up) == ([], None)
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
        (lost,) = (await handled(judge.validator.on_claim_proposed(proposed(), 1))).facts
        (stored,) = (await judge.judge(attempt=2)).facts
        assert lost.event_id() == stored.event_id()

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
