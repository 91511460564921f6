"""One look-up at a time per key, remembered for as long as it can be believed."""

from __future__ import annotations

import asyncio
import math

import pytest

from services.verifier.memory import Memory


class LookUps:
    """Counts look-ups and lets the test say when they end."""

    def __init__(self, lifetime_s: float = 5.0) -> None:
        self.count = 0
        self._lifetime_s = lifetime_s
        self.go = asyncio.Event()
        self.go.set()

    async def __call__(self) -> tuple[str, float]:
        self.count += 1
        await self.go.wait()
        return f"outcome {self.count}", self._lifetime_s


class Time:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


async def test_many_share_one_look_up() -> None:
    memory, look_up = Memory[str](10), LookUps(0.0)
    look_up.go.clear()
    asking = [asyncio.create_task(memory.get("key", look_up)) for _ in range(200)]
    await asyncio.sleep(0)
    look_up.go.set()
    assert set(await asyncio.gather(*asking)) == {"outcome 1"}
    assert await memory.get("key", look_up) == "outcome 2", "nothing is kept that is not to be believed"


async def test_whoever_leaves_takes_nothing_away() -> None:
    memory, look_up = Memory[str](10), LookUps(1.0)
    look_up.go.clear()
    first, second = (asyncio.create_task(memory.get("key", look_up)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    look_up.go.set()
    assert await second == "outcome 1"


async def test_outcomes_expire() -> None:
    time = Time()
    memory, look_up = Memory[str](10, now_s=time), LookUps(5.0)
    assert [await memory.get("key", look_up) for _ in range(3)] == ["outcome 1"] * 3
    time.now_s = 4.9
    assert await memory.get("key", look_up) == "outcome 1"
    time.now_s = 5.0
    assert await memory.get("key", look_up) == "outcome 2"


async def test_some_never_expire() -> None:
    time = Time()
    memory, look_up = Memory[str](10, now_s=time), LookUps(math.inf)
    await memory.get("key", look_up)
    time.now_s = 1e12
    assert await memory.get("key", look_up) == "outcome 1"


async def test_the_least_used_is_forgotten_first() -> None:
    memory, look_up = Memory[str](2), LookUps(5.0)
    await memory.get("a", look_up)
    await memory.get("b", look_up)
    await memory.get("a", look_up)
    await memory.get("c", look_up)
    assert look_up.count == 3
    await memory.get("a", look_up)
    assert look_up.count == 3
    await memory.get("b", look_up)
    assert look_up.count == 4


async def test_an_error_reaches_all_who_ask_and_is_not_kept() -> None:
    async def broken() -> tuple[str, float]:
        raise OSError("no store")

    memory, look_up = Memory[str](2), LookUps(5.0)
    outcomes = await asyncio.gather(*(memory.get("key", broken) for _ in range(3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [OSError] * 3
    assert await memory.get("key", look_up) == "outcome 1"


async def test_closing_ends_what_is_under_way() -> None:
    memory, look_up = Memory[str](2), LookUps(5.0)
    look_up.go.clear()
    asking = asyncio.create_task(memory.get("key", look_up))
    await asyncio.sleep(0)
    await memory.close()
    with pytest.raises(asyncio.CancelledError):
        await asking
