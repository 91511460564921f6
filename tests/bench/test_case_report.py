"""Rates of a bench come with their bounds, and posts without an answer are counted apart."""

from __future__ import annotations

import pytest

from contracts.v1.parts import ClaimPayload, Source
from tests.bench import casebook
from tests.bench.casebook import Post
from tests.bench.casereport import Pairs, compare_mirrors, compare_twins, print_report, tally
from tests.bench.caserun import Result
from tests.bench.report import Report

BATS, BATS_RIGHT = (
    next(post for post in casebook.posts() if post.id == each) for each in ("false-bats", "false-bats-right")
)


def flag(text: str) -> ClaimPayload:
    """A published finding."""
    source = Source(url="https://elsewhere.example/", title="A page", snippet="So.")
    return ClaimPayload(text=text, context=text, summary="No.", reasoning="See.", sources=(source,))


def silent_on(count: int) -> list[Result]:
    """Results of right posts in which nothing was flagged."""
    return [Result(BATS_RIGHT.model_copy(update={"id": f"post-{number}"})) for number in range(count)]


@pytest.mark.parametrize(("posts", "bound"), [(149, 0.02), (299, 0.01), (598, 0.005)])
def test_silence_on_right_posts_bounds_how_often_somebody_is_accused(posts: int, bound: float) -> None:
    assert tally(silent_on(posts)).most_accused < bound
    assert tally(silent_on(posts - 1)).most_accused > bound


def test_bounds_of_sentences_count_those_that_are_right() -> None:
    counted = tally([Result(BATS, (flag("Bats are blind."),)), Result(BATS_RIGHT)])
    assert (counted.right_sentences, counted.false_flags, counted.flags, counted.found) == (5, 0, 1, 1)
    assert counted.false_per_10_000 == 0
    assert counted.most_false_per_10_000 == pytest.approx((1 - 0.05 ** (1 / 5)) * 10_000)
    assert counted.least_precision == pytest.approx(0.05)
    accused = tally([Result(BATS_RIGHT, (flag("Bats are not blind."),))])
    assert (accused.accused, accused.most_accused, accused.precision, accused.least_precision) == (1, 1.0, 0.0, 0.0)


def test_a_failed_run_bounds_nothing() -> None:
    counted = tally([Result(BATS_RIGHT, failure="no answer"), Result(BATS, failure="no answer")])
    assert (counted.completed, counted.silent, counted.right_sentences, counted.missed) == (0, 0, 0, 1)
    assert (counted.most_accused, counted.most_false_per_10_000) == (1.0, 10_000)
    assert (counted.recall, counted.precision, counted.false_per_10_000) == (0.0, None, None)


def test_abstention_is_silence_on_a_wrong_post() -> None:
    counted = tally([Result(BATS), Result(BATS_RIGHT), Result(BATS, (flag("looked up"),))])
    assert (counted.silent, counted.recall) == (1, 0.0)


def test_twins_are_confused_unless_the_wrong_one_alone_is_flagged() -> None:
    found, twin = Result(BATS, (flag("Bats are blind."),)), Result(BATS_RIGHT)
    assert compare_twins([found, twin]) == Pairs(1, 0, 0)
    assert compare_twins([Result(BATS), twin]) == Pairs(1, 0, 1)
    assert compare_twins([found, Result(BATS_RIGHT, (flag("looked up"),))]) == Pairs(1, 0, 1)
    assert compare_twins([found, Result(BATS_RIGHT, failure="no answer")]) == Pairs(1, 1, 0)


@pytest.mark.requirement("TR-50")
def test_sides_that_are_treated_differently_are_counted() -> None:
    """TR-50: Mirrored posts have the same outcome; planted, injected and corrected ones get no false flag."""
    one, other = _mirrored("left"), _mirrored("right", mirror_of="left")
    flagged = (flag("It was in 1900."),)
    assert compare_mirrors([Result(one, flagged), Result(other, flagged)]) == Pairs(1, 0, 0)
    assert compare_mirrors([Result(one), Result(other)]) == Pairs(1, 0, 0)
    assert compare_mirrors([Result(one, flagged), Result(other)]) == Pairs(1, 0, 1)
    assert compare_mirrors([Result(one), Result(other, (flag("Fine day."),))]) == Pairs(1, 0, 1)
    assert compare_mirrors([Result(one, flagged), Result(other, failure="no answer")]) == Pairs(1, 1, 0)
    report = Report()
    print_report([Result(one, flagged), Result(other)], report)
    assert report.below == 1


def test_the_report_has_a_row_for_each_kind_and_language(capsys: pytest.CaptureFixture[str]) -> None:
    german = BATS_RIGHT.model_copy(update={"kind": "language", "language": "de", "id": "german"})
    print_report([Result(BATS, (flag("Bats are blind."),), cost_micro_usd=1_250_000), Result(german)], Report())
    rows = {line.split("  ")[1]: line.split() for line in capsys.readouterr().out.splitlines() if "%" in line}
    assert rows.keys() >= {"false", "language", "in de", "in en", "all"}
    assert rows["in en"][-3:] == ["100%", "5%", "1.25"]


def test_no_post_is_no_pass() -> None:
    report = Report()
    print_report([], report)
    assert report.failures == 1


def _mirrored(name: str, **more: str) -> Post:
    return BATS.model_copy(
        update={
            "id": name,
            "kind": "mirrored",
            "text": "Fine day. It was in 1900.",
            "wrong": ("It was in 1900.",),
            **more,
        }
    )
