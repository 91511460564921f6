"""Ending tasks that do not end by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

AGAIN_S = 1.0


async def cancelled(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel until it is heard: before Python 3.12 a `wait_for` that ends at that moment swallows a cancellation."""
    while unfinished := [task for task in tasks if not task.done()]:
        for task in unfinished:
            task.cancel()
        await asyncio.wait(unfinished, timeout=AGAIN_S)
