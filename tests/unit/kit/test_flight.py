"""Answers that are shared by all who ask meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from kit.flight import SingleFlight


async def test_a_failure_is_shared_but_not_kept() -> None:
    flights: SingleFlight[str, int] = SingleFlight()
    calls = 0

    async def fail() -> int:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0)
        raise ValueError("once")

    outcomes = await asyncio.gather(*(flights.run("k", fail) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(outcome, ValueError) for outcome in outcomes)
    assert calls == 1
    with pytest.raises(ValueError, match="once"):
        await flights.run("k", fail)
    assert calls == 2


async def test_a_caller_that_leaves_does_not_take_the_answer_along() -> None:
    flights: SingleFlight[str, int] = SingleFlight()
    ready = asyncio.Event()

    async def make() -> int:
        await ready.wait()
        return 7

    first = asyncio.create_task(flights.run("k", make))
    second = asyncio.create_task(flights.run("k", make))
    await asyncio.sleep(0)
    first.cancel()
    ready.set()
    assert await second == 7


async def test_what_is_under_way_ends_with_the_close() -> None:
    flights: SingleFlight[str, bool] = SingleFlight()
    caller = asyncio.create_task(flights.run("k", asyncio.Event().wait))
    await asyncio.sleep(0)
    assert flights.under_way("k")
    await flights.close()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert not flights.under_way("k")
