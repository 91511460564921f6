"""What the look-up of a claim leads to: bought once, joined by all others, and only as old as the account accepts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import AssertionAnalysed, AssertionAnalysisRequested, AssertionInvalidated
from contracts.v1.assertion import AnalysedScenario, Shape
from contracts.v1.ids import analysis_run_id, assertion_id
from contracts.v1.job import AuditOptions, CachePreference, Volatility
from contracts.v1.parts import Usage
from contracts.v1.run import RunEnd, StageModel
from lifecycle.audits.cache import (
    HORIZONS,
    LIFETIME,
    LONGEST_RUN,
    Analysed,
    Asked,
    Cached,
    Hit,
    Invalidated,
    Join,
    Miss,
    Request,
    Requested,
    Unusable,
    fall_back,
    look,
    shape_of,
)
from tests.support.audits import hash_of, words
from tests.support.factories import NOW

CLAIM = assertion_id("v1norm1", "en", hash_of("canonical"), hash_of("guard"))
MINE, OTHER = UUID(int=1), UUID(int=2)
JOB_SEQUENCE = 100
SECOND = timedelta(seconds=1)
SMALL, STANDARD = Shape(scenarios=1, evidence=3), Shape(scenarios=2, evidence=6)
LARGE = Shape(scenarios=5, evidence=10, depth="DEEP")
MODEL = StageModel(step="CLAIM_AUDIT/analyse", provider="demo", model="demo", max_tokens=1)
SHAPES = st.builds(
    Shape, scenarios=st.integers(1, 5), evidence=st.integers(3, 10), depth=st.sampled_from(["STANDARD", "DEEP"])
)
PREFERENCES: tuple[CachePreference, ...] = get_args(CachePreference)
CLASSES: tuple[Volatility, ...] = get_args(Volatility)


def asks(
    preference: CachePreference = "PREFER_CACHE",
    *,
    may_buy: bool = True,
    shape: Shape = STANDARD,
    volatility: Volatility = "SLOW",
    job: UUID = MINE,
) -> Asked:
    return Asked(CLAIM, job, JOB_SEQUENCE, shape, volatility, preference, may_buy)


def request(
    sequence: int = 10, *, follows: int = 0, by: UUID = OTHER, shape: Shape = STANDARD, at: datetime = NOW
) -> Requested:
    event = AssertionAnalysisRequested(
        follows=follows,
        assertion_id=CLAIM,
        run_id=analysis_run_id(CLAIM, follows),
        published_key=f"claim:v1norm1:en:{hash_of('canonical')}",
        norm_version="v1norm1",
        language="en",
        canonical_sha256=hash_of("canonical"),
        guard_sha256=hash_of("guard"),
        volatility="SLOW",
        words=words("words"),
        shape=shape,
        model=MODEL,
        requested_by=by,
    )
    return Requested(sequence, at, event)


def analysis(
    sequence: int = 20,
    *,
    follows: int = 0,
    shape: Shape = STANDARD,
    volatility: Volatility = "SLOW",
    at: datetime = NOW,
) -> Analysed:
    run = analysis_run_id(CLAIM, follows)
    event = AssertionAnalysed(
        assertion_id=CLAIM,
        analysis_id=run,
        shape=shape,
        volatility=volatility,
        expires_at=at + LIFETIME,
        body=words("body"),
        scenarios=(AnalysedScenario(ordinal=1, confidence=0.2, label="UNSUBSTANTIATED"),),
        recommended=1,
        rollup="INCONCLUSIVE",
        score_epoch=0,
        end=RunEnd(run_id=run, attempt=1, model="demo", usage=Usage()),
    )
    return Analysed(sequence, at, event)


RUN = analysis_run_id(CLAIM, 0)
DONE = Cached(request(), analysis())


def test_a_run_is_open_until_the_analysis_behind_it() -> None:
    assert Cached().open_run is None
    assert Cached(request()).open_run == Cached(request(30), analysis(20)).open_run == RUN
    assert DONE.open_run is None


def test_a_claim_without_words_is_never_looked_up() -> None:
    assert look(NOW, replace(asks(), assertion_id=None), DONE) == Unusable()


@pytest.mark.parametrize("preference", PREFERENCES)
def test_what_is_not_there_is_bought_or_missed(preference: CachePreference) -> None:
    bought = Miss() if preference == "CACHE_ONLY" else Request(RUN, 0, STANDARD)
    assert look(NOW, asks(preference), Cached()) == bought
    assert look(NOW, asks(preference, may_buy=False), Cached()) == Miss()


@pytest.mark.requirement("FH-146")
@pytest.mark.parametrize("preference", PREFERENCES)
@pytest.mark.parametrize("of_claim", CLASSES)
@pytest.mark.parametrize("of_analysis", CLASSES)
def test_an_analysis_is_fresh_within_the_horizon_of_the_more_volatile(
    preference: CachePreference, of_claim: Volatility, of_analysis: Volatility
) -> None:
    """FH-146: Horizons FAST 1 h, SLOW 7 d, DATED and TIMELESS 90 d. Under `prefer_cache` an older entry is recomputed;
    where nothing may be bought (cache-only, `allow_partial`, too little credit) it is returned with `stale` true

    FH-146: An analysis is fresh within the horizon of its class.
    """
    hours = {"FAST": 1, "SLOW": 7 * 24, "DATED": 90 * 24, "TIMELESS": 90 * 24}
    horizon = timedelta(hours=min(hours[of_claim], hours[of_analysis]))
    cached = Cached(request(), analysis(volatility=of_analysis))
    who = asks(preference, volatility=of_claim)
    poor = replace(who, may_buy=False)
    anew = Request(analysis_run_id(CLAIM, 10), 10, STANDARD)
    for age in (SECOND, horizon - SECOND):
        assert look(NOW + age, who, cached) == (anew if preference == "SKIP_CACHE" else Hit(RUN))
        assert look(NOW + age, poor, cached) == Hit(RUN)
    if horizon < LIFETIME:
        recomputed = preference in ("PREFER_CACHE", "SKIP_CACHE")
        assert look(NOW + horizon, who, cached) == (anew if recomputed else Hit(RUN, stale=True))
        assert look(NOW + horizon + SECOND, poor, cached) == Hit(RUN, stale=True)


@pytest.mark.requirement("FH-56")
@pytest.mark.parametrize("preference", PREFERENCES)
def test_after_ninety_days_nothing_serves(preference: CachePreference) -> None:
    """FH-56: An entry lives 90 days = 7,776,000 s; a second later it is a miss"""
    assert LIFETIME.total_seconds() == 7_776_000
    who = asks(preference, may_buy=False, volatility="TIMELESS")
    cached = Cached(request(), analysis(volatility="TIMELESS"))
    assert look(NOW + LIFETIME - SECOND, who, cached) == Hit(RUN)
    assert look(NOW + LIFETIME + SECOND, who, cached) == Miss()
    assert fall_back(NOW + LIFETIME - SECOND, who, cached) == RUN
    assert fall_back(NOW + LIFETIME + SECOND, who, cached) is None


def test_an_analysis_serves_no_longer_than_its_body_is_kept() -> None:
    kept = analysis()
    cached = Cached(request(), replace(kept, event=kept.event.model_copy(update={"expires_at": NOW + SECOND})))
    who = asks("CACHE_ONLY")
    assert look(NOW, who, cached) == Hit(RUN)
    assert look(NOW + SECOND, who, cached) == Miss()
    assert fall_back(NOW + SECOND, who, cached) is None


@pytest.mark.requirement("FH-70")
def test_a_run_that_is_under_way_is_joined() -> None:
    """FH-70: One claim in two articles or from two accounts causes one stage-2 call within its lifetime, also
    concurrently: the second joins the first if that one's shape satisfies it, else it follows after it

    FH-70: One claim causes one call within its lifetime, also concurrently.
    """
    for may_buy in (True, False):
        assert look(NOW + SECOND, asks(may_buy=may_buy), Cached(request())) == Join(RUN)
    larger = look(NOW + SECOND, asks(shape=LARGE), Cached(request()))
    assert larger == Request(analysis_run_id(CLAIM, 10), 10, LARGE)


def test_a_run_that_failed_or_was_lost_is_not_joined() -> None:
    anew = Request(analysis_run_id(CLAIM, 10), 10, STANDARD)
    assert look(NOW, asks(), Cached(replace(request(), failed=True))) == anew
    assert look(NOW + LONGEST_RUN - SECOND, asks(), Cached(request())) == Join(RUN)
    assert look(NOW + LONGEST_RUN, asks(), Cached(request())) == anew


@pytest.mark.parametrize(
    "cached",
    [
        Cached(request(by=MINE)),
        Cached(replace(request(by=MINE), failed=True)),
        Cached(request(by=MINE), analysis()),
        Cached(request(by=MINE, at=NOW - LONGEST_RUN)),
    ],
    ids=["under way", "failed", "done", "lost"],
)
@pytest.mark.parametrize("preference", PREFERENCES)
def test_a_repeated_delivery_finds_its_own_request(cached: Cached, preference: CachePreference) -> None:
    """Whatever became of it, it is not bought again."""
    assert look(NOW, asks(preference), cached) == Join(RUN, own=True)


@pytest.mark.requirement("FH-68")
def test_skip_cache_takes_only_what_was_requested_after_the_job() -> None:
    """It asks for the analysis of now; two such jobs at once still buy one.

    FH-68: `prefer_cache` uses hits, `skip_cache` computes everything.
    """
    early, late = request(), request(JOB_SEQUENCE + 5)
    anew = look(NOW, asks("SKIP_CACHE"), Cached(early))
    assert anew == Request(analysis_run_id(CLAIM, 10), 10, STANDARD)
    assert look(NOW, asks("SKIP_CACHE"), Cached(late)) == Join(RUN)
    assert look(NOW, asks("SKIP_CACHE"), Cached(early, analysis())) == anew
    assert look(NOW, asks("SKIP_CACHE"), Cached(late, analysis(JOB_SEQUENCE + 9))) == Hit(RUN)


@pytest.mark.requirement("FH-71")
def test_small_large_small_are_two_requests() -> None:
    """FH-71: An entry records the shape that made it (scenarios, evidence limit, depth), and a hit must be at least as
    large. Shapes only grow: a new analysis is requested with the maximum of both. What `browsing: off` produces never
    enters the cache

    FH-71: A hit is at least as large as what was asked for, and shapes only grow.
    """
    first = look(NOW, asks(shape=SMALL), Cached())
    assert first == Request(RUN, 0, SMALL)
    small = Cached(request(shape=SMALL), analysis(shape=SMALL))
    wide = Shape(scenarios=1, evidence=10)
    second = look(NOW, asks(shape=wide), small)
    assert second == Request(analysis_run_id(CLAIM, 10), 10, wide)
    large = Cached(request(30, follows=10, shape=wide), analysis(40, follows=10, shape=wide))
    assert look(NOW, asks(shape=SMALL), large) == Hit(analysis_run_id(CLAIM, 10))
    old = NOW + timedelta(days=8)
    assert look(old, asks(shape=SMALL), large) == Request(analysis_run_id(CLAIM, 30), 30, wide)


@given(SHAPES, SHAPES, SHAPES)
def test_shapes_only_grow(asked: Shape, analysed: Shape, requested: Shape) -> None:
    now = NOW + timedelta(days=8)
    cached = Cached(request(30, follows=10, shape=requested, at=now), analysis(shape=analysed))
    outcome = look(now, asks(shape=asked), cached)
    if isinstance(outcome, Request):
        assert all(outcome.shape.covers(each) for each in (asked, analysed, requested))
    else:
        assert outcome == Join(analysis_run_id(CLAIM, 10))
        assert requested.covers(asked)


@given(SHAPES, SHAPES)
def test_the_join_of_two_shapes_is_the_least_that_covers_both(one: Shape, other: Shape) -> None:
    both = one.join(other)
    assert both.covers(one)
    assert both.covers(other)
    assert both == other.join(one)
    assert (both == one) == one.covers(other)


@pytest.mark.parametrize(
    ("analysis_id", "sequence", "serves"),
    [(None, 21, False), (RUN, 21, False), (UUID(int=7), 21, True), (None, 19, True), (RUN, 19, True)],
    ids=["all", "this one", "another one", "all before it", "this one before it"],
)
def test_what_was_invalidated_does_not_serve(analysis_id: UUID | None, sequence: int, serves: bool) -> None:
    event = AssertionInvalidated(assertion_id=CLAIM, analysis_id=analysis_id, why="RIGHTS")
    cached = replace(DONE, invalidated=Invalidated(sequence, event))
    anew = Request(analysis_run_id(CLAIM, 10), 10, STANDARD)
    assert look(NOW, asks(), cached) == (Hit(RUN) if serves else anew)
    assert (fall_back(NOW, asks(), cached) is not None) == serves


STATES = st.builds(
    Cached,
    requested=st.none()
    | st.builds(
        lambda sequence, shape, failed, age: replace(
            request(sequence, shape=shape, at=NOW - timedelta(minutes=age)), failed=failed
        ),
        st.integers(1, 200),
        SHAPES,
        st.booleans(),
        st.integers(0, 40),
    ),
    analysed=st.none()
    | st.builds(
        lambda sequence, shape, days, volatility: analysis(
            sequence, shape=shape, at=NOW - timedelta(days=days), volatility=volatility
        ),
        st.integers(1, 200),
        SHAPES,
        st.integers(0, 100),
        st.sampled_from(CLASSES),
    ),
).filter(lambda cached: cached.requested is not None or cached.analysed is None)  # each analysis was requested


@given(STATES, st.sampled_from(PREFERENCES), st.booleans(), SHAPES)
def test_whatever_stands_there(cached: Cached, preference: CachePreference, may_buy: bool, shape: Shape) -> None:
    who = asks(preference, may_buy=may_buy, shape=shape)
    outcome = look(NOW, who, cached)
    if isinstance(outcome, Request):
        assert may_buy
        assert preference != "CACHE_ONLY"
        assert outcome.follows == (cached.requested.sequence if cached.requested is not None else 0)
        stored = replace(request(201, follows=outcome.follows, by=MINE, shape=outcome.shape))
        assert look(NOW, who, replace(cached, requested=stored)) == Join(outcome.run_id, own=True)
        rival = replace(
            cached, requested=replace(stored, event=stored.event.model_copy(update={"requested_by": OTHER}))
        )
        assert look(NOW, who, rival) == Join(outcome.run_id), "the one that is refused joins the one that was stored"
    if isinstance(outcome, Hit):
        assert cached.analysed is not None
        assert cached.analysed.event.shape.covers(shape)
        assert NOW - cached.analysed.at < LIFETIME
        fresh = NOW - cached.analysed.at < min(HORIZONS["SLOW"], HORIZONS[cached.analysed.event.volatility])
        assert outcome.stale == (not fresh)
    if isinstance(outcome, Miss):
        assert not may_buy or preference == "CACHE_ONLY"


def test_the_shape_of_a_job_is_that_of_its_options() -> None:
    options = AuditOptions(scenarios_per_claim=3, max_evidence_per_scenario=7, depth="DEEP")
    assert shape_of(options) == Shape(scenarios=3, evidence=7, depth="DEEP")
