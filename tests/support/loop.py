"""Whether an event loop comes round while something is done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable


async def rounds_during(work: Awaitable[object]) -> int:
    """How often the loop came round until the work was done; work that never yields leaves hardly any rounds."""
    rounds = 0

    async def count() -> None:
        nonlocal rounds
        while True:
            await asyncio.sleep(0)
            rounds += 1

    counting = asyncio.create_task(count())
    try:
        await work
    finally:
        counting.cancel()
    return rounds
