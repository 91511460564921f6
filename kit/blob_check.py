"""Check that the blob store works, by a read, an occasional write, and recent failures of other requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from time import monotonic

WRITE_EVERY_S = 30.0
"""Interval of writes while all is well: stores free overwritten objects late."""
FAILED_S = 2.0
"""How long a failure counts: a store may fail permanently in one folder only."""


class BlobsUnavailable(Exception):
    """The store does not answer now; retrying later is right."""


class StoreCheck:
    """The health check of a blob store.

    Shapes: `look` returns the problem or None; `look` and `write` call `failed` before they raise BlobsUnavailable.
    """

    def __init__(self, look: Callable[[], Awaitable[str | None]], write: Callable[[], Awaitable[None]]) -> None:
        self._look = look
        self._write = write
        self._checking: asyncio.Task[str | None] | None = None
        self._written_at = -inf
        self._failed_at = -inf
        self._failure = ""

    def failed(self, reason: str) -> None:
        """Record that a request failed, a check's or another one."""
        self._written_at, self._failed_at, self._failure = -inf, monotonic(), reason

    async def problem(self) -> str | None:
        """The current problem in a sentence, None if there is none.

        Concurrent callers share one check, which a cancelled caller does not end.
        """
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check())
        return await asyncio.shield(self._checking)

    def close(self) -> None:
        """Cancel a check in progress."""
        if self._checking is not None:
            self._checking.cancel()

    async def _check(self) -> str | None:
        began = monotonic()
        if began - self._failed_at < FAILED_S:
            return self._failure
        try:
            if began - self._written_at < WRITE_EVERY_S:
                return await self._look()
            await self._write()
        except BlobsUnavailable:
            return self._failure
        self._written_at = began
        return None
