"""The result is a fold: the same facts give the same result in whatever order verdicts come, and none is missing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import Event, InvestigationCompleted, InvestigationFailed
from contracts.v1.parts import Usage
from lifecycle.conclusion import End, conclude
from lifecycle.investigation import Investigation
from tests.support.factories import (
    approved,
    claim_of,
    completed,
    drafted,
    failed,
    held,
    proposed,
    rejected,
    requested,
    retained,
    retry_scheduled,
    started,
    validation_failed,
)
from tests.support.logged import lived, logged

QUOTES = ("One is wrong.", "Two is wrong.", "Three is wrong.", "Four is wrong.")
CLAIMS = [claim_of(quote) for quote in QUOTES]
DRAFT = drafted(1, CLAIMS)


def folded(events: Sequence[Event]) -> Investigation:
    """Everything known after these facts."""
    found = lived(events)
    assert found is not None
    return found


def decided(*events: Event) -> End | None:
    """What they come to."""
    found = lived(events)
    return None if found is None else conclude(found)


def texts_of(end: End | None) -> list[str]:
    """The quotes of the published claims."""
    assert isinstance(end, InvestigationCompleted)
    return [claim.payload.text for claim in end.claims]


@pytest.mark.requirement("2.4-06")
def test_only_what_was_approved_is_published_in_the_order_of_submission() -> None:
    """2.4-06: Only validated claims are published."""
    end = decided(
        requested(),
        started(),
        approved(QUOTES[3]),
        rejected(QUOTES[1]),
        DRAFT,
        approved(QUOTES[2]),
        approved(QUOTES[0]),
    )
    assert texts_of(end) == [QUOTES[0], QUOTES[2], QUOTES[3]]


@pytest.mark.requirement("3.7-01")
def test_a_run_whose_review_cannot_be_had_ends_before_its_draft() -> None:
    """3.7-01: Four attempts, then FAILED."""
    lost = validation_failed(QUOTES[1], failure="NON_RETRYABLE", status_code=401, fault="USER_KEY")
    end = decided(requested(), started(), proposed(QUOTES[1]), lost)
    assert isinstance(end, InvestigationFailed)
    assert (end.attempt, end.round, end.failure, end.fault, end.status_code) == (1, 1, "NON_RETRYABLE", "USER_KEY", 401)
    assert decided(requested(), proposed(QUOTES[1]), lost) is None, "of a run that nobody began nothing can end"


def test_a_new_round_knows_nothing_of_what_was_kept_or_begun_before() -> None:
    before = [requested(), started(), retained(QUOTES[0]), drafted(1, CLAIMS[:1], retained_ids=tuple(CLAIMS[:1]))]
    state = folded([*before, failed(), requested(round=2)])
    assert (list(state.round.started), state.round.drafted, state.round.candidates) == ([], None, {})
    again = [started(2), drafted(2, CLAIMS[:1], retained_ids=tuple(CLAIMS[:1]))]
    assert decided(*before, failed(), requested(round=2), *again) is None, "what is kept must be told in its round"


def test_a_draft_without_candidates_is_a_result() -> None:
    assert texts_of(decided(requested(), started(), drafted())) == []


@pytest.mark.parametrize(
    "events",
    [
        (),
        (requested(),),
        (requested(), started()),
        (requested(), started(), proposed(), approved()),
        (requested(), started(), retry_scheduled()),
        (requested(), started(), DRAFT),
        (requested(), started(), DRAFT, *(approved(quote) for quote in QUOTES[1:])),
        (requested(), started(), drafted(retained_ids=(claim_of(),))),
        (requested(), DRAFT),
    ],
)
def test_nothing_is_concluded_while_something_is_missing(events: Sequence[Event]) -> None:
    assert decided(*events) is None


@pytest.mark.parametrize("end", [completed(), failed()])
def test_what_is_over_is_not_concluded_again(end: Event) -> None:
    assert decided(requested(), started(), drafted(), end) is None


@pytest.mark.requirement("2.4.3-10")
def test_without_a_verdict_the_investigation_fails_and_nothing_is_approved() -> None:
    """2.4.3-10: An error of a review fails the attempt, it drops no claim."""
    no_verdict = validation_failed(QUOTES[1], failure="NON_RETRYABLE", status_code=401)
    end = decided(
        requested(), started(), *(approved(quote) for quote in QUOTES if quote != QUOTES[1]), no_verdict, DRAFT
    )
    assert isinstance(end, InvestigationFailed)
    assert (end.failure, end.status_code, end.round, end.follows) == ("NON_RETRYABLE", 401, 1, 0)
    assert "validation" in end.reason


def test_the_first_verdict_on_a_claim_counts() -> None:
    draft = drafted(1, CLAIMS[:1])
    assert texts_of(decided(requested(), started(), rejected(QUOTES[0]), approved(QUOTES[0]), draft)) == []
    assert texts_of(decided(requested(), started(), approved(QUOTES[0]), rejected(QUOTES[0]), draft)) == [QUOTES[0]]


@pytest.mark.requirement("2.4.3-06")
def test_kept_and_new_findings_stand_in_the_order_in_which_the_model_named_them() -> None:
    """2.4.3-06: Old claims that are not kept disappear."""
    kept = (CLAIMS[0], CLAIMS[2])
    draft = drafted(1, (CLAIMS[3], CLAIMS[2], CLAIMS[1], CLAIMS[0]), retained_ids=kept)
    facts = [requested(), started(), retained(QUOTES[2]), approved(QUOTES[3]), approved(QUOTES[1]), draft]
    assert decided(*facts) is None, "a kept finding is not known yet"
    assert texts_of(decided(*facts, retained(QUOTES[0]))) == [QUOTES[3], QUOTES[2], QUOTES[1], QUOTES[0]]


@pytest.mark.requirement("3.7-07")
def test_a_readers_key_that_fails_in_review_is_the_readers_fault() -> None:
    """3.7-07: A reader's key that is gone fails the run."""
    refused = validation_failed(QUOTES[0], failure="NON_RETRYABLE", status_code=401, fault="USER_KEY")
    end = decided(requested(key_source="USER"), started(), drafted(1, CLAIMS[:1]), refused)
    assert isinstance(end, InvestigationFailed)
    assert end.fault == "USER_KEY"


def test_a_failed_review_of_a_finding_that_was_retained_ends_nothing() -> None:
    draft = drafted(1, CLAIMS[:1], retained_ids=(CLAIMS[0],))
    facts = [requested(), started(), proposed(QUOTES[0]), retained(QUOTES[0]), draft, validation_failed(QUOTES[0])]
    assert texts_of(decided(*facts)) == [QUOTES[0]]


@pytest.mark.requirement("2.4.3-06")
def test_in_older_drafts_retained_findings_come_first_and_others_of_the_earlier_version_are_gone() -> None:
    """2.4.3-06: Old claims that are not kept disappear."""
    draft = drafted(1, CLAIMS[:1], retained_ids=(CLAIMS[1],))
    end = decided(requested(), started(), retained(QUOTES[1]), retained(QUOTES[2]), approved(QUOTES[0]), draft)
    assert texts_of(end) == [QUOTES[1], QUOTES[0]]


def test_a_verdict_of_a_failed_round_says_nothing_about_the_next() -> None:
    first = [
        requested(),
        started(),
        proposed(QUOTES[0]),
        drafted(1, CLAIMS[:1]),
        validation_failed(QUOTES[0]),
        failed(),
    ]
    second = [requested(round=2), started(2), drafted(2, CLAIMS[:1])]
    assert decided(*first, *second) is None
    assert decided(*first, *second, approved(QUOTES[0])) is None, "a straggler of the first round"
    assert texts_of(decided(*first, *second, approved(QUOTES[0], round=2))) == [QUOTES[0]]


def test_the_end_of_another_round_follows_the_end_of_the_first() -> None:
    second = [requested(round=2), started(2), drafted(2, CLAIMS[:1]), validation_failed(QUOTES[0], round=2)]
    end = decided(requested(), started(), failed(), *second)
    assert isinstance(end, InvestigationFailed)
    assert (end.round, end.follows) == (2, 3)


VERDICTS: list[list[Event]] = [[approved(quote), rejected(quote)] for quote in QUOTES]
verdicts = st.tuples(*(st.sampled_from(pair) for pair in VERDICTS))


@given(verdicts, st.data())
def test_the_result_does_not_depend_on_when_verdicts_come(chosen: tuple[Event, ...], data: st.DataObject) -> None:
    quiet = decided(requested(), started(), *chosen, DRAFT)
    repeated = data.draw(st.lists(st.sampled_from(chosen), max_size=6))
    shuffled = data.draw(st.permutations([*chosen, *repeated, DRAFT, DRAFT, started(), requested(), retry_scheduled()]))
    state = folded([requested(), started()])
    for fact in logged(*shuffled, first=3):
        before = {claim for claim, candidate in state.round.candidates.items() if candidate.is_settled}
        end = conclude(state)
        assert end is None or (state.round.drafted is not None and before == set(CLAIMS)), "a verdict was missing"
        state.apply(fact)
    assert conclude(state) == quiet


@given(verdicts, st.integers(0, 3), st.data())
def test_one_missing_verdict_holds_the_result_back(chosen: tuple[Event, ...], gap: int, data: st.DataObject) -> None:
    rest = [event for place, event in enumerate(chosen) if place != gap]
    shuffled = data.draw(st.permutations([*rest, *rest, DRAFT]))
    assert decided(requested(), started(), *shuffled) is None


@given(verdicts, st.integers(0, 3), st.data())
def test_no_verdict_fails_the_investigation_wherever_it_comes(
    chosen: tuple[Event, ...], which: int, data: st.DataObject
) -> None:
    facts = [*(v for place, v in enumerate(chosen) if place != which), validation_failed(QUOTES[which]), DRAFT]
    assert isinstance(decided(requested(), started(), *data.draw(st.permutations(facts))), InvestigationFailed)


@pytest.mark.requirement("TR-31")
def test_a_run_with_a_held_claim_has_no_end_until_the_hold_has_one() -> None:
    """TR-31: Nothing of a held finding is seen before its release"""
    before = (requested(), started(), approved(QUOTES[1]), held(QUOTES[0]), drafted(1, CLAIMS[:2]))
    assert decided(*before) is None
    assert texts_of(decided(*before, approved(QUOTES[0]))) == [QUOTES[0], QUOTES[1]]
    assert texts_of(decided(*before, rejected(QUOTES[0]))) == [QUOTES[1]]


def test_a_held_claim_was_reviewed_once() -> None:
    cost = Usage(total_tokens=9, cost_micro_usd=700)
    first = folded((requested(), started(), held(usage=cost)))
    both = folded((requested(), started(), held(usage=cost), approved(usage=cost)))
    assert (first.round.micro_usd, both.round.micro_usd) == (700, 700)


def test_an_attempt_whose_review_fails_has_cost_what_its_draft_says() -> None:
    draft = drafted(usage=Usage(cost_micro_usd=700))
    run = folded((requested(), started(), draft, failed()))
    attempt = run.round.attempts[1]
    assert (attempt.micro_usd, attempt.transcript) == (700, draft.transcript)
