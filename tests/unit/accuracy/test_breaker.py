"""A breaker that is half open closes only after 48 hours in the shadow and a clean trial."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accuracy.breaker import Trial, find_missing, has_failed
from accuracy.facts import GateTier
from accuracy.volume import FIRST_QUOTA, Limited, quota

THEN = datetime(2026, 11, 1, 12, tzinfo=UTC)
LATER = THEN + timedelta(hours=48)
CLEAN = Trial(150, 0, GateTier.CLEAN)


@pytest.mark.requirement("TR-45")
@pytest.mark.parametrize(
    ("trial", "now", "missing"),
    [
        (CLEAN, LATER, []),
        (CLEAN, LATER - timedelta(microseconds=1), ["its 48 hours in the shadow end at 2026-11-03 12:00 UTC"]),
        (Trial(149, 0, GateTier.CLEAN), LATER, ["149 of 150 controls have run"]),
        (Trial(150, 0, GateTier.PENDING), LATER, ["the gate tier is not known to be clean"]),
    ],
)
def test_a_trial_names_what_it_waits_for(trial: Trial, now: datetime, missing: list[str]) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    assert not has_failed(trial)
    assert list(find_missing(THEN, trial, now)) == missing
    assert quota(Limited()) == FIRST_QUOTA == 10


@pytest.mark.requirement("TR-45")
@pytest.mark.parametrize(
    "trial", [Trial(150, 0, GateTier.FAILED), Trial(150, 1, GateTier.CLEAN), Trial(1, 1, GateTier.PENDING)]
)
def test_one_flag_or_a_failed_tier_ends_a_trial_at_once(trial: Trial) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    assert has_failed(trial)


@given(
    st.integers(0, 300).flatmap(lambda controls: st.tuples(st.just(controls), st.integers(0, controls))),
    st.sampled_from(GateTier),
    st.timedeltas(timedelta(0), timedelta(hours=100)),
)
def test_only_a_long_and_clean_trial_waits_for_nothing(
    ran: tuple[int, int], tier: GateTier, in_shadow: timedelta
) -> None:
    trial = Trial(*ran, tier)
    may_close = not has_failed(trial) and not find_missing(THEN, trial, THEN + in_shadow)
    is_clean = ran[0] >= 150 and ran[1] == 0 and tier is GateTier.CLEAN
    assert may_close == (is_clean and in_shadow >= timedelta(hours=48))


@pytest.mark.parametrize(("controls", "flagged"), [(1, 2), (1, -1), (-1, -1)])
def test_a_trial_is_possible(controls: int, flagged: int) -> None:
    with pytest.raises(ValueError, match="controls"):
        Trial(controls, flagged, GateTier.CLEAN)
