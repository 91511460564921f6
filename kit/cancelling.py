"""Ending tasks that do not end by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from contextlib import suppress
from typing import Any

AGAIN_S = 1.0


async def cancelled(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel until it is heard: before Python 3.12 a `wait_for` that ends at that moment swallows a cancellation."""
    while unfinished := [task for task in tasks if not task.done()]:
        for task in unfinished:
            task.cancel()
        await asyncio.wait(unfinished, timeout=AGAIN_S)


async def together(*coroutines: Coroutine[Any, Any, None]) -> None:
    """Run these until the first one ends; all have ended when this returns.

    A task group cancels its tasks once and then waits for them, for ever if one of them did not hear it.

    Raises: what the first one raised.
    """
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        ended = [task for task in tasks if task.done()]
    finally:
        ending = asyncio.create_task(cancelled(tasks))
        while not ending.done():  # whoever cancels us again must not leave them behind
            with suppress(asyncio.CancelledError):
                await asyncio.wait({ending})
    for task in ended:
        task.result()
