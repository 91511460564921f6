"""A task that missed its cancellation is told again, so that a process can always end."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from kit.cancelling import cancelled


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
    await asyncio.wait_for(cancelled([task]), timeout=30)
    assert task.cancelled()
    with suppress(asyncio.CancelledError):
        await task
    assert heard == 2
