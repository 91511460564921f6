"""What a variant has earned, from what was seen of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accuracy.facts import Verdict
from contracts.v1.variant import TierState, VariantParts, VolumeState
from services.curator.volumes import KnownVariant, ReviewedFinding, Seen, find_change

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
SINCE = NOW - timedelta(days=40)
PARTS = VariantParts(prompt="a" * 64, prompt_version="v1", provider="p", model="m")


def known(state: VolumeState, *, step: int = 0, clean: int = 0, after: bool = False, tier: TierState) -> KnownVariant:
    return KnownVariant(
        variant=PARTS.sha256,
        parts=PARTS,
        state=state,
        quota={"SHADOW": 0, "LIMITED": 10 << step, "FULL": None}[state],
        step=step,
        clean=clean,
        after_wrong=after,
        gate_tier=tier,
        since=SINCE,
        through=100,
        changed_at=SINCE,
        sequence=7,
    )


def reviews(*verdicts: Verdict) -> tuple[ReviewedFinding, ...]:
    return tuple(
        ReviewedFinding(variant=PARTS.sha256, sequence=101 + n, verdict=each) for n, each in enumerate(verdicts)
    )


SHADOW = known("SHADOW", tier="CLEAN")
PROVEN = Seen(runs=200, controls=150)


def test_the_shadow_ends_after_200_runs_150_controls_and_a_clean_gate_tier() -> None:
    event = find_change(SHADOW, PROVEN, NOW)
    assert event is not None
    assert (event.state, event.quota, event.since, event.follows) == ("LIMITED", 10, NOW, 7)
    for less in (Seen(runs=199, controls=150), Seen(runs=200, controls=149)):
        assert find_change(SHADOW, less, NOW) is None
    assert find_change(known("SHADOW", tier="PENDING"), PROVEN, NOW) is None


def test_thirty_reviews_double_the_quota_and_what_was_counted_is_not_counted_again() -> None:
    limited = known("LIMITED", clean=28, tier="CLEAN")
    assert find_change(limited, Seen(reviews=reviews(Verdict.RIGHT)), NOW) is None
    event = find_change(limited, Seen(reviews=reviews(Verdict.RIGHT, Verdict.RIGHT, Verdict.RIGHT)), NOW)
    assert event is not None
    assert (event.state, event.quota, event.step, event.clean) == ("LIMITED", 20, 1, 31)
    assert (event.through, event.since) == (103, SINCE)


@pytest.mark.parametrize(
    ("before", "state", "quota"),
    [
        (known("FULL", tier="CLEAN"), "LIMITED", 5120),
        (known("LIMITED", step=3, clean=95, tier="CLEAN"), "LIMITED", 40),
        (known("LIMITED", step=3, clean=10, after=True, tier="CLEAN"), "SHADOW", 0),
        (SHADOW, "SHADOW", 0),
    ],
)
def test_a_wrong_is_a_step_back_and_counting_starts_anew(before: KnownVariant, state: str, quota: int) -> None:
    event = find_change(before, Seen(reviews=reviews(Verdict.WRONG)), NOW)
    assert event is not None
    assert (event.state, event.quota, event.through) == (state, quota, 101)
    if state == "SHADOW":
        assert (event.since, event.gate_tier) == (NOW, "PENDING")


@given(st.sampled_from([SHADOW, known("LIMITED", step=2, tier="CLEAN"), known("FULL", tier="CLEAN")]))
def test_a_flagged_control_leads_to_a_new_shadow_from_anywhere(before: KnownVariant) -> None:
    event = find_change(before, Seen(runs=200, controls=150, flagged=1), NOW)
    assert event is not None
    assert (event.state, event.quota, event.since, event.why) == ("SHADOW", 0, NOW, "a control was flagged")


@given(st.integers(0, 199), st.integers(0, 149))
def test_nothing_new_changes_nothing(runs: int, controls: int) -> None:
    for before in (SHADOW, known("LIMITED", step=9, clean=280, tier="CLEAN"), known("FULL", tier="CLEAN")):
        assert find_change(before, Seen(runs=runs, controls=controls), NOW) is None
