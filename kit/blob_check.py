"""Whether the blob store serves: it is asked, sometimes written to, and what failed lately counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from time import monotonic

WRITE_EVERY_S = 30.0
"""A check writes so rarely while all is well: stores clear away late what is overwritten."""
FAILED_S = 2.0
"""How long what failed counts: a store may refuse in one folder, for good, and take everything in the next."""


class BlobsUnavailable(Exception):
    """The store does not answer now; asking again later is right."""


class StoreCheck:
    """Shapes: `look` says what is wrong or None; it and `write` raise BlobsUnavailable, after `failed` was called."""

    def __init__(self, look: Callable[[], Awaitable[str | None]], write: Callable[[], Awaitable[None]]) -> None:
        self._look = look
        self._write = write
        self._checking: asyncio.Task[str | None] | None = None
        self._written_at = -inf
        self._failed_at = -inf
        self._failure = ""

    def failed(self, reason: str) -> None:
        """Note that a request of anybody's has failed."""
        self._written_at, self._failed_at, self._failure = -inf, monotonic(), reason

    async def problem(self) -> str | None:
        """What is wrong with the store now, in a sentence.

        Of many who ask at once all get one answer; who waits no longer leaves it to the others.
        """
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check())
        return await asyncio.shield(self._checking)

    def close(self) -> None:
        """End a check that is under way."""
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
