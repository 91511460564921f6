"""Bounded memory, and look-ups that are shared by all who ask meanwhile."""

from __future__ import annotations

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.cache import Cache
from tests.support.fakes import StillClock

DAY_S = 86_400.0


class LookUp:
    """Counts look-ups and lets the test say when they end."""

    def __init__(self) -> None:
        self.count = 0
        self.go = asyncio.Event()

    async def __call__(self) -> str:
        self.count += 1
        number = self.count
        await self.go.wait()
        return f"outcome {number}"


@given(st.lists(st.tuples(st.integers(0, 5), st.binary(max_size=8)), max_size=50))
def test_a_cache_never_outgrows_its_capacity(entries: list[tuple[int, bytes]]) -> None:
    cache: Cache[int, bytes] = Cache(capacity=10, weigh=len)
    for key, value in entries:
        cache.put(key, value)
        held = [kept for kept in map(cache.get, range(6)) if kept is not None]
        assert sum(map(len, held)) <= 10
        assert cache.get(key) == value


def test_what_is_used_stays() -> None:
    evicted: list[tuple[str, int]] = []
    cache: Cache[str, int] = Cache(capacity=2, on_evict=lambda *entry: evicted.append(entry))
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c"), evicted) == (1, None, 3, [("b", 2)])


def test_what_is_too_heavy_is_not_remembered_nor_what_it_replaces() -> None:
    cache: Cache[str, bytes] = Cache(capacity=3, weigh=len)
    cache.put("a", b"abc")
    cache.put("a", b"abcd")
    assert (cache.get("a"), len(cache)) == (None, 0)
    nothing: Cache[str, int] = Cache(capacity=0)
    nothing.put("a", 1)
    assert nothing.get("a") is None


def test_each_lives_for_its_own_time() -> None:
    clock = StillClock()
    cache: Cache[str, float] = Cache(clock, capacity=9, ttl_s=lambda _, value: value)
    for lifetime_s in (0.0, 5.0, math.inf):
        cache.put(str(lifetime_s), lifetime_s)
    assert (cache.get("0.0"), cache.get("5.0"), len(cache)) == (None, 5.0, 2)
    clock.pass_by(5)
    assert (cache.get("5.0"), cache.get("inf"), len(cache)) == (None, math.inf, 1)
    cache.put("inf", 0.0)
    assert cache.get("inf") is None


@pytest.mark.parametrize("jump_s", [DAY_S, -DAY_S])
def test_a_clock_that_jumps_makes_nothing_older_or_younger(jump_s: float) -> None:
    clock = StillClock()
    cache: Cache[str, int] = Cache(clock, capacity=2, ttl_s=5)
    cache.put("a", 1)
    clock.jump(jump_s)
    assert cache.get("a") == 1
    clock.pass_by(5)
    assert cache.get("a") is None


def test_what_was_looked_up_before_a_clear_is_not_remembered() -> None:
    cache: Cache[str, int] = Cache(capacity=3)
    before = cache.generation
    cache.put("a", 1, generation=before)
    cache.clear()
    cache.put("b", 2, generation=before)
    assert (cache.get("a"), cache.get("b"), len(cache)) == (None, None, 0)
    cache.put("c", 3, generation=cache.generation)
    assert cache.get("c") == 3


async def test_many_share_one_look_up_which_is_remembered() -> None:
    cache: Cache[str, str] = Cache(capacity=3)
    look_up = LookUp()
    asking = [asyncio.create_task(cache.get_or_make("k", look_up)) for _ in range(200)]
    await asyncio.sleep(0)
    assert cache.under_way("k")
    look_up.go.set()
    assert set(await asyncio.gather(*asking)) == {"outcome 1"}
    assert await cache.get_or_make("k", look_up) == "outcome 1"
    assert not cache.under_way("k")


async def test_a_look_up_that_began_before_a_clear_is_neither_joined_nor_remembered() -> None:
    cache: Cache[str, str] = Cache(capacity=3)
    look_up = LookUp()
    before = asyncio.create_task(cache.get_or_make("k", look_up))
    await asyncio.sleep(0)
    cache.clear()
    assert not cache.under_way("k")
    after = asyncio.create_task(cache.get_or_make("k", look_up))
    await asyncio.sleep(0)
    look_up.go.set()
    assert (await before, await after, cache.get("k")) == ("outcome 1", "outcome 2", "outcome 2")


async def test_a_refresh_replaces_what_is_remembered() -> None:
    cache: Cache[str, str] = Cache(capacity=3)
    look_up = LookUp()
    look_up.go.set()
    assert await cache.get_or_make("k", look_up) == "outcome 1"
    assert await cache.refresh("k", look_up) == "outcome 2"
    assert cache.get("k") == "outcome 2"


async def test_a_failure_is_shared_but_not_kept() -> None:
    cache: Cache[str, str] = Cache(capacity=3)
    look_up = LookUp()
    look_up.go.set()

    async def fail() -> str:
        await look_up()
        raise ValueError("once")

    outcomes = await asyncio.gather(*(cache.get_or_make("k", fail) for _ in range(5)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ValueError] * 5
    assert look_up.count == 1
    assert await cache.get_or_make("k", look_up) == "outcome 2"


async def test_a_caller_that_is_cancelled_does_not_take_the_answer_along() -> None:
    cache: Cache[str, str] = Cache(capacity=3)
    look_up = LookUp()
    first, second = (asyncio.create_task(cache.get_or_make("k", look_up)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    look_up.go.set()
    assert await second == "outcome 1"


async def test_what_is_under_way_ends_with_the_close() -> None:
    cache: Cache[str, str] = Cache(capacity=3)
    caller = asyncio.create_task(cache.get_or_make("k", LookUp()))
    await asyncio.sleep(0)
    await cache.close()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert not cache.under_way("k")
