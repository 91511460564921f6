"""A variant is displayed as much as it has earned, and a WRONG takes some of it back."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accuracy.bounds import upper_bound
from accuracy.facts import Control, GateTier, Verdict
from accuracy.volume import Full, Limited, Observed, Shadow, ShadowRun, Volume, advance, quota

RUN, RIGHT, PARTLY, WRONG = ShadowRun(), Verdict.RIGHT, Verdict.PARTLY, Verdict.WRONG
SILENT, FLAGGED = Control("v", False), Control("v", True)
PROVEN: list[Observed] = [GateTier.CLEAN, *[SILENT] * 150, *[RUN] * 200]


def after(observed: Iterable[Observed], volume: Volume | None = None) -> Volume:
    """The volume at the end."""
    return reduce(advance, observed, Shadow() if volume is None else volume)


def quotas(observed: Iterable[Observed]) -> list[int | None]:
    """The quota after each observation, from the first one beyond the shadow."""
    found, volume = [], after(PROVEN)
    for each in observed:
        volume = advance(volume, each)
        found.append(quota(volume))
    return found


@pytest.mark.requirement("TR-46")
@pytest.mark.parametrize("missing", [GateTier.CLEAN, SILENT, RUN])
def test_a_variant_starts_in_the_shadow_until_all_is_proven(missing: Observed) -> None:
    """TR-46: A variant starts in the shadow and earns its volume by reviews, and a WRONG takes some of it back."""
    before = list(PROVEN)
    before.remove(missing)
    assert quota(Shadow()) == quota(after(before)) == 0
    assert quota(after([*before, missing])) == 10


@pytest.mark.parametrize("failure", [FLAGGED, GateTier.FAILED, WRONG])
def test_what_fails_in_the_shadow_begins_it_again(failure: Observed) -> None:
    before = PROVEN[:-1]
    assert quota(after([*before, failure, RUN])) == 0
    assert quota(after([*before, failure, *PROVEN])) == 10


@pytest.mark.requirement("TR-46")
def test_the_quota_doubles_for_each_thirty_reviews_until_there_is_none() -> None:
    """TR-46: A variant starts in the shadow and earns its volume by reviews, and a WRONG takes some of it back."""
    found = quotas([RIGHT, PARTLY] * 150)
    assert [found[place] for place in (28, 29, 58, 59, 269, 297)] == [10, 20, 20, 40, 5_120, 5_120]
    assert found.index(None) + 1 == 299
    assert upper_bound(0, 299) < 0.01 < upper_bound(0, 298)


@pytest.mark.requirement("TR-46")
def test_a_wrong_is_a_step_back_and_the_reviews_are_counted_anew() -> None:
    """TR-46: A variant starts in the shadow and earns its volume by reviews, and a WRONG takes some of it back."""
    found = quotas([*[RIGHT] * 80, WRONG, *[RIGHT] * 298, RIGHT])
    assert (found[79], found[80], found[109], found[110]) == (40, 20, 20, 40)
    assert (found[-2], found[-1]) == (5_120, None)
    assert quotas([*[RIGHT] * 299, WRONG])[-2:] == [None, 5_120]
    assert quotas([WRONG]) == [0]


@pytest.mark.requirement("TR-46")
@pytest.mark.parametrize(("between", "left"), [(0, 0), (98, 0), (99, 1_280)])
def test_two_wrong_in_a_hundred_lead_to_the_shadow(between: int, left: int) -> None:
    """TR-46: A variant starts in the shadow and earns its volume by reviews, and a WRONG takes some of it back."""
    found = quotas([*[RIGHT] * 200, WRONG, *[RIGHT] * between, WRONG])
    assert (found[199], found[200], found[-1]) == (640, 320, left)


@pytest.mark.parametrize("failure", [FLAGGED, GateTier.FAILED])
@pytest.mark.parametrize("volume", [Limited(4), Full()])
def test_a_flagged_control_and_a_failed_gate_tier_lead_to_the_shadow(failure: Observed, volume: Volume) -> None:
    assert isinstance(advance(volume, failure), Shadow)
    assert after([GateTier.CLEAN, GateTier.PENDING, SILENT, RUN], volume) == volume


observations = st.lists(st.sampled_from([RIGHT] * 60 + [PARTLY] * 20 + [RUN, SILENT, GateTier.CLEAN, WRONG]))


@pytest.mark.requirement("TR-46")
@given(st.lists(observations, max_size=20).map(lambda lists: [each for some in lists for each in some]))
def test_volume_is_earned_by_reviews_alone_and_never_by_a_wrong(observed: list[Observed]) -> None:
    """TR-46: A variant starts in the shadow and earns its volume by reviews, and a WRONG takes some of it back."""
    volumes = [after(PROVEN)]
    for each in observed:
        volumes.append(advance(volumes[-1], each))
    sizes = [float("inf") if quota(volume) is None else float(quota(volume) or 0) for volume in volumes]
    for each, (before, now) in zip(observed, pairwise(sizes), strict=True):
        if before and now > before:
            assert each in (RIGHT, PARTLY)
            assert now == 2 * before or before == 5_120
        if each is WRONG:
            assert now < before or now == before == 0


@pytest.mark.parametrize(("step", "clean"), [(-1, 0), (10, 0), (0, -1), (0, 299)])
def test_a_step_that_does_not_exist_is_refused(step: int, clean: int) -> None:
    with pytest.raises(ValueError, match="step"):
        Limited(step, clean)
