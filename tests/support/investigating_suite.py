"""What an investigator makes of what the log says: one suite for the log in memory and the real one.

Deliveries repeat, come late and overtake one another; a worker that was believed lost goes on telling facts. The fake
is no kinder than the real log: both refuse a once-event that does not follow, and both show what was told in its order.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from contracts.v1 import (
    ClaimProposed,
    Event,
    InvestigationAdvanced,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRetryScheduled,
    InvestigationStarted,
)
from contracts.v1.parts import ClaimPayload, Usage
from kit.errors import Retry, Superseded
from kit.models.base import Checkpoint, Decision
from kit.publisher import PublishConflict
from tests.support.factories import (
    NOW,
    OTHER_QUOTE,
    QUOTE,
    claim_of,
    completed,
    drafted,
    failed,
    payload,
    proposed,
    requested,
    retry_scheduled,
    started,
    text_ref,
)
from tests.support.fakes import transient
from tests.support.investigating import Journal, Looker


def submit(quote: str, call_id: str = "call-1") -> Decision[ClaimPayload | UUID]:
    """The decision with which a model submits a claim."""
    return Decision(call_id, payload(quote))


def kinds(facts: list[Event]) -> list[str]:
    """Class names."""
    return [type(fact).__name__ for fact in facts]


class InvestigatingSuite:
    """Subclasses give it a `journal`."""

    @pytest.mark.requirement("2.8-01", "2.6-15")
    async def test_a_request_delivered_again_runs_nothing(self, journal: Journal) -> None:
        await journal.tell(requested())
        looker = Looker(journal, [submit(QUOTE)])
        await looker.deliver()
        for delivery in (1, 2, 3):
            try:
                again = await looker.deliver(delivery)
            except PublishConflict:  # what had been the first of its subject: delivery asks once more, as the next one
                again = await looker.deliver(delivery + 1)
            assert (again.facts, again.gave_up) == ([], None)
        assert len(looker.model.briefs) == 1

    @pytest.mark.requirement("2.6-15", "3.6-03")
    @pytest.mark.parametrize("late", [1, 2], ids=["first", "second"])
    async def test_a_delivery_that_another_overtook_begins_nothing(self, journal: Journal, late: int) -> None:
        await journal.tell(requested(), started(delivery_count=3))
        looker = Looker(journal, [submit(QUOTE)])
        try:
            outcome = await looker.deliver(late)
        except PublishConflict:
            outcome = await looker.deliver(late + 1)
        assert isinstance(outcome.gave_up, Superseded)
        assert (outcome.facts, looker.model.briefs) == ([], [])
        assert kinds((await looker.deliver(4)).facts)[-1] == "InvestigationDrafted", "a later one takes over"

    @pytest.mark.parametrize(
        "end",
        [(failed(),), (drafted(), completed()), (failed(), requested(round=2))],
        ids=["failed", "completed", "asked-for-again"],
    )
    @pytest.mark.parametrize("delivery", [2, 5])
    async def test_a_request_that_is_over_runs_nothing_however_late(
        self, journal: Journal, end: tuple[Event, ...], delivery: int
    ) -> None:
        await journal.tell(requested(), started(), *end)
        looker = Looker(journal, [submit(QUOTE)])
        outcome = await looker.deliver(delivery)
        assert (outcome.facts, outcome.gave_up, looker.model.briefs) == ([], None, [])

    async def test_a_log_that_lags_is_waited_for(self, journal: Journal) -> None:
        looker = Looker(journal)
        outcome = await looker.deliver(2)
        assert isinstance(outcome.gave_up, Retry)
        assert outcome.gave_up.after_s < 1
        assert looker.model.briefs == []

    @pytest.mark.requirement("3.7-01", "3.7-02")
    async def test_a_passing_failure_is_tried_four_times_with_growing_delays(self, journal: Journal) -> None:
        await journal.tell(requested())
        looker = Looker(journal, [transient()])
        outcomes = [await looker.deliver(delivery) for delivery in range(1, 5)]
        delays = [outcome.gave_up.after_s for outcome in outcomes if isinstance(outcome.gave_up, Retry)]
        assert delays == [10.0, 20.0, 40.0]
        assert [event.retry_at - NOW for event in await looker.told(InvestigationRetryScheduled)] == [
            timedelta(seconds=seconds) for seconds in (10, 10 + 20, 10 + 20 + 40)
        ]
        (end,) = await looker.told(InvestigationFailed)
        assert (end.attempt, end.failure, end.status_code) == (4, "TRANSIENT", 500)
        assert outcomes[-1].gave_up is None
        assert len(looker.model.briefs) == 4
        assert (await looker.deliver(5)).facts == []

    @pytest.mark.requirement("3.7-02")
    async def test_a_delivery_that_comes_too_early_waits_for_the_rest_of_the_delay(self, journal: Journal) -> None:
        """Its worker died after it had told of the next attempt, and before it had told the broker when that is."""
        later = NOW + timedelta(seconds=60)
        await journal.tell(requested(), started(delivery_count=1), retry_scheduled(retry_at=later))
        looker = Looker(journal, [submit(QUOTE)])
        looker.clock.pass_by(45)
        early = await looker.deliver(2)
        assert isinstance(early.gave_up, Retry)
        assert (early.gave_up.after_s, early.facts, looker.model.briefs) == (15.0, [], [])
        assert looker.clock.now() == later
        assert kinds((await looker.deliver(3)).facts)[-1] == "InvestigationDrafted"

    async def test_a_second_attempt_tells_only_what_is_new_and_drafts_everything(self, journal: Journal) -> None:
        await journal.tell(requested())
        looker = Looker(journal, [submit(QUOTE), transient()], [submit(OTHER_QUOTE), submit(QUOTE, "call-2")])
        await looker.deliver(1)
        outcome = await looker.deliver(2)
        assert kinds(outcome.facts) == ["InvestigationStarted", "ClaimProposed", "InvestigationDrafted"]
        begun, _, draft = outcome.facts
        assert isinstance(begun, InvestigationStarted)
        assert isinstance(draft, InvestigationDrafted)
        assert (begun.attempt, draft.attempt) == (2, 2)
        assert draft.claim_ids == (claim_of(OTHER_QUOTE), claim_of(QUOTE))

    async def test_what_a_lost_worker_tells_late_is_not_told_again(self, journal: Journal) -> None:
        """Its claim and its failure come after the next attempt has begun."""
        await journal.tell(
            requested(), started(delivery_count=1), started(2, delivery_count=2), proposed(), retry_scheduled()
        )
        looker = Looker(journal, [submit(QUOTE), submit(OTHER_QUOTE, "call-2")])
        outcome = await looker.deliver(3)
        assert [event.claim_id for event in outcome.facts if isinstance(event, ClaimProposed)] == [
            claim_of(OTHER_QUOTE)
        ]
        draft = outcome.facts[-1]
        assert isinstance(draft, InvestigationDrafted)
        assert (draft.attempt, draft.claim_ids) == (3, (claim_of(QUOTE), claim_of(OTHER_QUOTE)))

    async def test_a_run_that_was_cut_off_goes_on_as_the_next_attempt(self, journal: Journal) -> None:
        await journal.tell(requested())
        looker = Looker(journal, [submit(QUOTE)])
        run = looker.investigator.on_investigation_requested(requested(), 1)
        for _ in range(2):
            await journal.publish(await anext(run))
        outcome = await looker.deliver(2)
        assert kinds(outcome.facts) == ["InvestigationStarted", "InvestigationDrafted"]
        draft = outcome.facts[-1]
        assert isinstance(draft, InvestigationDrafted)
        assert (draft.attempt, draft.claim_ids) == (2, (claim_of(),))
        await run.aclose()  # type: ignore[attr-defined]  # async generators have aclose

    async def test_attempts_that_were_all_cut_off_are_given_up(self, journal: Journal) -> None:
        await journal.tell(requested(), *(started(number, delivery_count=number) for number in range(1, 5)))
        looker = Looker(journal)
        (end,) = (await looker.deliver(5)).facts
        assert isinstance(end, InvestigationFailed)
        assert (end.attempt, end.failure) == (4, "TRANSIENT")
        assert looker.model.briefs == []

    async def test_of_two_workers_one_begins(self, journal: Journal) -> None:
        await journal.tell(requested())
        looker = Looker(journal, [submit(QUOTE)])
        slow = looker.investigator.on_investigation_requested(requested(), 1)
        begun_too_late = await anext(slow)
        await looker.deliver(2)
        with pytest.raises(PublishConflict):
            await journal.publish(begun_too_late)
        assert len(looker.model.briefs) == 1

    @pytest.mark.requirement("2.6-14")
    async def test_another_round_judges_everything_anew(self, journal: Journal) -> None:
        await journal.tell(requested())
        looker = Looker(journal, [submit(QUOTE)])
        await looker.deliver()
        await journal.tell(failed(), requested(round=2))
        outcome = await looker.deliver(1, requested(round=2))
        assert kinds(outcome.facts) == ["InvestigationStarted", "ClaimProposed", "InvestigationDrafted"]
        first, second = await looker.told(ClaimProposed)
        assert (first.claim_id, first.round) == (second.claim_id, 1)
        assert second.round == 2

    @pytest.mark.requirement("3.6-03", "2.12-04")
    async def test_what_is_on_record_is_gone_on_from(self, journal: Journal) -> None:
        await journal.tell(requested())
        one, two = (Checkpoint(f"segment {n}".encode(), n == 1, n, Usage(total_tokens=n)) for n in (1, 2))
        looker = Looker(journal, [one, two, transient()], [Checkpoint(b"segment 3", False, 3, Usage(total_tokens=1))])
        await looker.deliver(1)
        await looker.deliver(2)
        names = [text_ref(f"segment {number}").sha256 for number in (1, 2)]
        assert [event.before for event in await looker.told(InvestigationAdvanced)] == [None, *names]
