"""Ending tasks reliably."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from contextlib import suppress
from typing import Never

RETRY_S = 1.0


async def cancel_and_wait(tasks: Collection[asyncio.Task[object]]) -> None:
    """Cancel tasks until they have ended: before Python 3.12 a `wait_for` can swallow a cancellation."""
    while unfinished := [task for task in tasks if not task.done()]:
        for task in unfinished:
            task.cancel()
        await asyncio.wait(unfinished, timeout=RETRY_S)


async def run_until_first_ends(*coroutines: Coroutine[object, Never, None]) -> None:
    """Run these until the first one ends; all have ended when this returns.

    A task group cancels its tasks once and would wait indefinitely for one that swallowed the cancellation.

    Raises: what the first one raised.
    """
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        ended = [task for task in tasks if task.done()]
    finally:
        ending = asyncio.create_task(cancel_and_wait(tasks))
        while not ending.done():  # a second cancellation of this coroutine must not leave the tasks running
            with suppress(asyncio.CancelledError):
                await asyncio.wait({ending})
    for task in ended:
        task.result()
