"""The page of the public rate: what it computes from rows, and that a bound is never rounded down."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accuracy.bounds import anytime_upper_bound, upper_bound
from accuracy.facts import Verdict
from accuracy.reviews import ReviewCounts
from services.gateway.public.site.accuracy import Accuracy, at_most, compute_accuracy, describe_accuracy, show_accuracy
from services.gateway.public.site.rendering import Templates
from services.gateway.record.reviews import Decision, Refusals, ReviewRecord
from services.gateway.record.watched import BreakerShown, ControlCounts, TriggerShown, VariantShown, WatchedRecord

NOW = datetime(2026, 12, 1, tzinfo=UTC)
NOTHING = ReviewRecord((), (), 0)


def said(claim: int, verdict: Verdict, model: str = "gpt-5.4", prompt: str = "v1") -> Decision:
    return Decision(claim_id=UUID(int=claim), verdict=verdict, provider="openai", model=model, prompt_version=prompt)


def text_of(values: dict[str, Any]) -> str:
    return Templates().render("accuracy.html", canonical=None, **values).decode()


def machine_of(known: Accuracy) -> dict[str, Any]:
    machine: dict[str, Any] = orjson.loads(orjson.dumps(describe_accuracy(known)))
    return machine


WATCHED = WatchedRecord(
    (
        BreakerShown(
            scope="ALL",
            state="HALF_OPEN",
            triggers=(TriggerShown(trigger="SECOND_FALSE_FLAG", numbers="two within 41 runs", at=NOW),),
            cause="An index was <empty>.",
            by="A. Operator",
            opened_at=NOW,
            changed_at=NOW,
            provider=None,
            model=None,
            prompt_version=None,
        ),
    ),
    (
        VariantShown(
            variant="5a" * 32,
            provider="openai",
            model="gpt-5.4",
            prompt_version="v9",
            state="LIMITED",
            quota=20,
            why="enough reviews without WRONG",
            by="curator",
            changed_at=NOW,
        ),
    ),
    ControlCounts(lists=3, opened=2, committed=300, ran=199, flagged=1),
)


def test_what_is_stopped_and_what_controls_say_is_shown() -> None:
    known = compute_accuracy(NOW, NOTHING, [], WATCHED)
    page = text_of(show_accuracy(known))
    assert "Some corrections are withheld at present." in page
    assert "All corrections: stopped, on trial" in page
    assert "Second false flag (two within 41 runs)" in page
    assert "An index was &lt;empty&gt;. – A. Operator" in page
    assert "1 of 199 posts in which nothing is wrong was flagged" in page
    assert "2 of 3 lists are open" in page
    assert "20 a day" in page
    machine = machine_of(known)
    assert machine["controls"]["flagged_at_most"] == pytest.approx(upper_bound(1, 199), abs=1e-12)
    assert [each["state"] for each in machine["breakers"]] == ["HALF_OPEN"]
    assert [each["quota"] for each in machine["volumes"]] == [20]


def test_one_control_and_one_list_are_named_as_one() -> None:
    watched = WatchedRecord((), (), ControlCounts(lists=1, opened=1, committed=1, ran=1, flagged=0))
    page = text_of(show_accuracy(compute_accuracy(NOW, NOTHING, [], watched)))
    assert "0 of 1 post in which nothing is wrong were flagged" in page
    assert "1 of 1 list is open" in page


def test_findings_are_counted_once_in_all_and_by_variant() -> None:
    decisions = (
        said(1, Verdict.RIGHT),
        said(1, Verdict.PARTLY),
        said(2, Verdict.RIGHT),
        said(3, Verdict.WRONG, prompt="v2"),
    )
    known = compute_accuracy(NOW, ReviewRecord((), decisions, 9), [Refusals(gate="satire", count=1_234)])
    assert known.counts == ReviewCounts(right=1, partly=1, wrong=1)
    assert [(each.prompt_version, each.counts) for each in known.variants] == [
        ("v1", ReviewCounts(right=1, partly=1)),
        ("v2", ReviewCounts(wrong=1)),
    ]
    page = text_of(show_accuracy(known))
    assert "Satire, in the post or a source" in page
    assert "1,234" in page
    assert "Not measured.</strong> The findings" not in page


def test_a_bound_is_shown_and_given_to_machines() -> None:
    decisions = tuple(said(claim, Verdict.RIGHT) for claim in range(349))
    known = compute_accuracy(NOW, ReviewRecord((), decisions, 349), [])
    assert "At most 1.0 % of shown corrections are wrong" in text_of(show_accuracy(known))
    machine = orjson.loads(orjson.dumps(describe_accuracy(known)))
    assert machine["wrong_at_most"] == pytest.approx(anytime_upper_bound(0, 349), abs=1e-12)
    assert machine["wrong_at_most"] < 0.01
    assert (machine["reviewed"], machine["right"], machine["confidence"]) == (349, 349, 0.95)


@pytest.mark.parametrize("drawn", [0, 4])
def test_without_reviews_it_says_that_nothing_is_measured(drawn: int) -> None:
    known = compute_accuracy(NOW, ReviewRecord((), (), drawn), [])
    page = text_of(show_accuracy(known))
    assert "Not measured." in page
    assert ("wait for their reviewers" in page) is bool(drawn)
    assert "At most" not in page
    assert "Nothing, and nothing was so far." in page
    assert "No list of posts in which nothing is wrong has been committed to" in page
    assert machine_of(known)["controls"]["flagged_at_most"] is None
    machine: dict[str, Any] = orjson.loads(orjson.dumps(describe_accuracy(known)))
    assert (machine["reviewed"], machine["wrong_at_most"], machine["variants"]) == (0, None, [])


@given(st.floats(0, 1))
def test_a_bound_is_rounded_up(bound: float) -> None:
    assert float(at_most(bound).removesuffix(" %")) >= bound * 100 - 1e-9
    assert float(at_most(bound).removesuffix(" %")) <= bound * 100 + 1.0001
