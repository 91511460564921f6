"""A task that missed its cancellation is told again, so that a process can always end."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from kit.cancelling import cancel_and_wait, run_until_first_ends


async def test_a_swallowed_cancellation_is_repeated() -> None:
    heard = 0

    async def deaf_once() -> None:
        nonlocal heard
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                heard += 1
                if heard == 2:
                    raise

    task = asyncio.create_task(deaf_once())
    await asyncio.sleep(0)
    await asyncio.wait_for(cancel_and_wait([task]), timeout=30)
    assert task.cancelled()
    with suppress(asyncio.CancelledError):
        await task
    assert heard == 2


async def test_tasks_that_run_together_end_together_though_one_missed_its_cancellation() -> None:
    heard: list[str] = []

    async def deaf_once(name: str) -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                heard.append(name)
                if heard.count(name) == 2:
                    raise

    running = asyncio.create_task(run_until_first_ends(deaf_once("a"), deaf_once("b")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await asyncio.wait_for(cancel_and_wait([running]), timeout=30)
    assert running.cancelled()
    assert sorted(heard) == ["a", "a", "b", "b"]


async def test_of_tasks_that_run_together_the_first_that_ends_ends_all() -> None:
    ended = asyncio.Event()

    async def failing() -> None:
        raise ValueError("broken")

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(ValueError, match="broken"):
        await run_until_first_ends(endless(), failing())
    assert ended.is_set()
