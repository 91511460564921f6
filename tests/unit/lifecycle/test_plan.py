"""What is left to do follows from history alone, however often and by whomever it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import Event, InvestigationRequested, InvestigationStarted
from contracts.v1.investigation import CONVERSATION_LOST
from contracts.v1.parts import Usage
from lifecycle.attempts import ATTEMPTS, NotDue, NothingToDo, OwnedByOtherWorker
from lifecycle.planning import AlreadyPublished, GiveUp, LogLag, Plan, Run, plan, plan_first_delivery
from tests.support.factories import (
    NOW,
    OTHER_QUOTE,
    advanced,
    claim_of,
    completed,
    drafted,
    failed,
    proposed,
    rejected,
    requested,
    retry_scheduled,
    snapshot,
    started,
    validation_retry_scheduled,
)
from tests.support.logged import lived


def step(*events: Event, round_: int = 1, delivery_count: int = 1, now: datetime = NOW) -> Plan:
    """What is left to do after these."""
    return plan(requested(round=round_), lived(events, first=11), delivery_count, now)


def run_of(result: Plan) -> Run:
    assert isinstance(result, Run)
    return result


def test_a_log_that_lags_is_looked_at_again() -> None:
    assert step() == LogLag()
    assert step(requested(), round_=2) == LogLag()


def test_the_first_attempt() -> None:
    run = run_of(step(requested()))
    assert (run.attempt, run.attempt_of_round) == (1, 1)
    assert (run.follows_start, run.follows_draft, run.follows_failure) == (0, 0, 0)
    assert run.input is None
    assert run.proposed == {}


@pytest.mark.requirement("2.6-15")
def test_an_attempt_begun_on_a_later_delivery_is_left_to_its_worker() -> None:
    """2.6-15: A request during a run starts no second one."""
    begun = (requested(), started(delivery_count=2))
    assert step(*begun, delivery_count=1) == step(*begun, delivery_count=2) == OwnedByOtherWorker()
    assert run_of(step(*begun, delivery_count=3)).attempt == 2
    assert run_of(step(requested(), started(), delivery_count=1)).attempt == 2, "of an older start nothing is known"
    anew = (*begun, failed(), requested(round=2))
    assert run_of(step(*anew, round_=2, delivery_count=1)).attempt == 2, "another request counts its own deliveries"
    assert step(*begun, drafted(), delivery_count=1) == NothingToDo()


@pytest.mark.requirement("3.6-03")
def test_what_this_round_has_on_record_is_gone_on_from() -> None:
    """3.6-03: A run whose worker died is taken up again."""
    one, two, three = advanced(1), advanced(2, before=1), advanced(3, before=2)
    begun = (requested(), started(), one, two)
    assert run_of(step(*begun)).done == (one.segment, two.segment)
    assert run_of(step(*begun, started(2), three)).done == (one.segment, two.segment, three.segment)
    apart = advanced(9, before=1)
    assert run_of(step(*begun, started(2), apart)).done == (one.segment, apart.segment), "two went on from the same"
    anew = advanced(5)
    assert run_of(step(*begun, started(2), anew)).done == (anew.segment,), "this one could not go on"
    assert run_of(step(*begun, started(2), advanced(7, before=6))).done == (), "a segment is missing"
    lost = retry_scheduled(error_name=CONVERSATION_LOST)
    assert run_of(step(*begun, lost)).done == ()
    assert run_of(step(*begun, retry_scheduled())).done == (one.segment, two.segment)
    assert run_of(step(*begun, failed(), requested(round=2), round_=2)).done == (), "a new round begins anew"


def test_only_the_first_request_of_an_instances_run_is_begun_without_its_history() -> None:
    assert plan_first_delivery(requested()) is not None
    assert plan_first_delivery(requested(round=2)) is None
    assert plan_first_delivery(requested(key_source="USER")) is None, "it may be over, and would be paid again"


def test_what_an_attempt_has_cost_so_far_counts_once() -> None:
    checkpoints = [advanced(number, usage=Usage(cost_micro_usd=cost)) for number, cost in ((1, 40), (2, 90))]
    assert run_of(step(requested(), started(), *checkpoints, delivery_count=2)).spent_micro_usd == 90
    tried = retry_scheduled(usage=Usage(cost_micro_usd=100))
    assert run_of(step(requested(), started(), *checkpoints, tried)).spent_micro_usd == 100


def test_reviews_that_failed_count_towards_what_the_round_has_cost() -> None:
    tried = retry_scheduled(usage=Usage(cost_micro_usd=1))
    reviews = (validation_retry_scheduled(attempt=number, usage=Usage(cost_micro_usd=10)) for number in (1, 2))
    assert run_of(step(requested(), started(), proposed(), tried, *reviews)).spent_micro_usd == 21


@pytest.mark.parametrize(
    ("events", "over"),
    [
        ((requested(), started()), False),
        ((requested(), started(), failed()), True),
        ((requested(), started(), completed()), True),
        ((requested(), failed(), requested(round=2), started(2)), False),
    ],
)
def test_a_run_whose_round_has_ended_is_over(events: tuple[Event, ...], over: bool) -> None:
    asked = [event for event in events if isinstance(event, InvestigationRequested)][-1]
    found = lived(events)
    assert found is not None
    assert found.is_over(asked.round) is over


def in_s(seconds: float) -> datetime:
    """A moment."""
    return NOW + timedelta(seconds=seconds)


@pytest.mark.requirement("3.7-02")
def test_no_attempt_begins_before_the_moment_that_was_told() -> None:
    """3.7-02: Attempts follow after 10, 20 and 40 seconds."""
    waiting = (requested(), started(delivery_count=1), retry_scheduled(retry_at=in_s(60)))
    assert step(*waiting, delivery_count=2) == NotDue(60.0)
    assert step(*waiting, delivery_count=2, now=in_s(59.5)) == NotDue(0.5)
    assert run_of(step(*waiting, delivery_count=2, now=in_s(60))).attempt == 2
    assert step(*waiting, delivery_count=1) == OwnedByOtherWorker(), "whoever told of it waits"
    assert step(*waiting, drafted(), delivery_count=2) == step(*waiting, failed(), delivery_count=2) == NothingToDo()
    assert run_of(step(*waiting, failed(), requested(round=2), round_=2)).attempt == 2, "a new round begins at once"
    last = (requested(), *(started(number) for number in range(1, 5)), retry_scheduled(4, retry_at=in_s(60)))
    assert step(*last) == GiveUp(4, 0), "there is nothing to wait for"
    assert step(*waiting, delivery_count=2, now=in_s(-86_400)) == NotDue(ATTEMPTS.longest_s), (
        "no rule ever asks for longer"
    )


@given(
    st.lists(
        st.tuples(st.one_of(st.none(), st.floats(0, 2_000)), st.lists(st.floats(0, 60), max_size=2)),
        min_size=1,
        max_size=3,
    )
)
def test_whenever_deliveries_come_attempts_keep_their_distance(course: list[tuple[float | None, list[float]]]) -> None:
    """Each attempt fails; what a provider asks for differs, and workers that die have the request come at any time."""
    events: list[Event] = [requested()]
    now = NOW
    delivery_count = 1
    for asked_s, early in course:
        run = run_of(step(*events, delivery_count=delivery_count, now=now))
        delay_s = ATTEMPTS.delay_s(run.attempt_of_round, "TRANSIENT", asked_s)
        assert delay_s is not None
        began = now
        events += [
            started(run.attempt, delivery_count=delivery_count),
            retry_scheduled(run.attempt, retry_at=began + timedelta(seconds=delay_s)),
        ]
        for after_s in early:
            now, delivery_count = now + timedelta(seconds=after_s), delivery_count + 1
            left = step(*events, delivery_count=delivery_count, now=now)
            assert isinstance(left, NotDue) == (now < began + timedelta(seconds=delay_s))
        delivery_count += 1
        if isinstance(left := step(*events, delivery_count=delivery_count, now=now), NotDue):
            now += timedelta(seconds=left.left_s)
        assert now - began >= timedelta(seconds=delay_s)


@pytest.mark.requirement("2.4.4-03")
def test_after_a_crash_the_next_attempt_continues_with_the_same_input() -> None:
    """2.4.4-03: The input is frozen and reused by later attempts."""
    run = run_of(step(requested(), started(), proposed(), rejected(), proposed(OTHER_QUOTE, ordinal=1)))
    assert (run.attempt, run.follows_start) == (2, 12)
    assert run.input == snapshot()
    assert run.proposed == {claim_of(): 0, claim_of(OTHER_QUOTE): 1}


@pytest.mark.parametrize(
    "events",
    [
        (requested(), started(), drafted()),
        (requested(), started(), retry_scheduled(), started(2), drafted(2)),
        (requested(), started(), started(2), drafted(1)),
        (requested(), started(), drafted(), completed()),
        (requested(), started(), failed()),
        (requested(), failed(0)),
    ],
    ids=["drafted", "drafted-later", "drafted-by-a-slow-worker", "completed", "failed", "failed-before-it-began"],
)
def test_what_is_drafted_or_over_is_left_alone(events: Sequence[Event]) -> None:
    assert step(*events) == NothingToDo()


def test_a_result_that_could_not_be_stored_is_told_again_and_not_looked_for_again() -> None:
    told = (requested(), started(), drafted(), completed(), requested(round=2))
    assert step(*told, round_=2) == AlreadyPublished(14, completed())
    assert step(*told, delivery_count=2) == NothingToDo(), "the request of the first round has nothing to do any more"
    assert step(*told, completed(round=2), round_=2, delivery_count=2) == NothingToDo()
    assert step(*told, completed(round=2), requested(round=3), round_=3) == AlreadyPublished(16, completed(round=2))


@pytest.mark.requirement("3.7-01")
def test_four_attempts_cut_short_are_the_end() -> None:
    """3.7-01: Four attempts, then FAILED."""
    starts = [started(number) for number in range(1, ATTEMPTS.max_attempts + 1)]
    assert run_of(step(requested(), *starts[:-1])).attempt == ATTEMPTS.max_attempts
    assert step(requested(), *starts) == GiveUp(ATTEMPTS.max_attempts, 0)


@pytest.mark.requirement("2.6-14")
def test_another_round_begins_anew_and_keeps_the_numbering() -> None:
    """2.6-14: FAILED is returned unless somebody retries explicitly."""
    first = (requested(), started(), proposed(), started(2), failed(2))
    assert step(*first) == NothingToDo()
    run = run_of(step(*first, requested(round=2), round_=2))
    assert (run.attempt, run.attempt_of_round, run.follows_failure) == (3, 1, 15)
    assert run.proposed == {}, "what was judged in a failed round is judged again"
    assert run.input == snapshot()
    assert step(*first, requested(round=2)) == NothingToDo(), (
        "the request of the first round has nothing to do any more"
    )


def test_a_draft_that_failed_validation_does_not_stand_in_for_another_rounds() -> None:
    first = (requested(), started(), proposed(), drafted(1, [claim_of()]), failed())
    run = run_of(step(*first, requested(round=2), round_=2))
    assert (run.attempt, run.follows_draft) == (2, 14)


def test_another_round_has_four_attempts_of_its_own() -> None:
    first = [requested(), *(started(number) for number in range(1, 5)), failed(4), requested(round=2)]
    assert run_of(step(*first, round_=2)).attempt_of_round == 1
    second = [started(number) for number in range(5, 9)]
    assert run_of(step(*first, *second[:-1], round_=2)).attempt_of_round == ATTEMPTS.max_attempts
    assert step(*first, *second, round_=2) == GiveUp(8, 16)


@pytest.mark.requirement("3.7-02", "3.7-03", "3.7-06")
def test_delays_double_and_only_passing_failures_are_tried_again() -> None:
    """3.7-02: Attempts follow after 10, 20 and 40 seconds.
    3.7-03: A refused key or request fails at once.
    3.7-06: An answer that was cut short is PARTIAL.
    """
    runs = [run_of(step(requested(), *(started(number) for number in range(1, count)))) for count in range(1, 5)]
    assert [ATTEMPTS.delay_s(run.attempt_of_round, "TRANSIENT") for run in runs] == [10.0, 20.0, 40.0, None]
    assert [ATTEMPTS.delay_s(run.attempt_of_round, "NON_RETRYABLE") for run in runs] == [None] * 4
    assert [ATTEMPTS.delay_s(run.attempt_of_round, "PARTIAL") for run in runs] == [None] * 4


def rounds(failing: Sequence[int], last: int) -> list[Event]:
    """A history of failed rounds with so many attempts each, and of one with `last` attempts that drafted."""
    events: list[Event] = []
    attempt = 0
    for number, attempts in enumerate([*failing, last], 1):
        events.append(requested(round=number))
        for _ in range(attempts):
            attempt += 1
            events += [started(attempt), proposed(round=number, attempt=attempt), retry_scheduled(attempt)]
        if number <= len(failing):
            events.append(failed(attempt, round=number))
    return [*events, drafted(attempt, [claim_of()])]


@given(st.lists(st.integers(1, 4), max_size=2), st.integers(1, 4), st.data())
def test_repeated_facts_never_lead_to_a_second_run_of_what_is_drafted(
    failing: list[int], last: int, data: st.DataObject
) -> None:
    events = rounds(failing, last)
    round_ = len(failing) + 1
    assert step(*events, round_=round_) == NothingToDo()
    late = data.draw(st.lists(st.sampled_from(events), max_size=6))
    where = data.draw(st.integers(len(events) - 1, len(events)))
    late = [event for event in late if not isinstance(event, type(failed()))]
    assert step(*events[:where], *late, *events[where:], round_=round_) == NothingToDo()


@given(st.integers(1, 4), st.data())
def test_the_order_of_facts_within_a_round_does_not_matter(attempts: int, data: st.DataObject) -> None:
    request, *rest = rounds([], attempts)
    assert step(request, *data.draw(st.permutations(rest))) == NothingToDo()


@given(st.lists(st.sampled_from(["start", "crash", "retry", "repeat"]), max_size=30), st.integers(0, 2))
def test_no_round_has_more_than_four_attempts(course: list[str], earlier: int) -> None:
    """Whatever interrupts a run, only the plan starts attempts, and it starts four at most."""
    events: list[Event] = rounds([4] * earlier, 1)[:-4] if earlier else [requested()]
    round_ = max(earlier + 1, 1)
    before = sum(isinstance(event, InvestigationStarted) for event in events)
    for what in course:
        now = step(*events, round_=round_)
        if isinstance(now, GiveUp):
            break
        if what == "start":
            events.append(started(run_of(now).attempt))
        elif what == "retry" and isinstance(events[-1], InvestigationStarted):
            events.append(retry_scheduled(events[-1].attempt))
        elif what == "repeat":
            events.append(events[-1])
    attempts = [event.attempt for event in events[0:] if isinstance(event, InvestigationStarted)]
    assert len(set(attempts)) - before <= ATTEMPTS.max_attempts
    assert sorted(set(attempts)) == list(range(1, len(set(attempts)) + 1)), "attempts are numbered without gaps"
