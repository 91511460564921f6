"""Wakes requests that wait for a job. The log is followed only while a request waits; only subjects are read.

A signal says that a job may have changed; its receiver reads from the log what has changed. So nothing is buffered, and
a lost signal only delays the receiver until it reads the log anyway.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final
from uuid import UUID

from contracts.v1 import PREFIX, AssertionAnalysed, RunFailed
from services.gateway.jobs.ports import JobLog
from services.gateway.ports import Unavailable

SUBJECTS: Final = (f"{PREFIX}job.>", f"{AssertionAnalysed.SUBJECT}.>", f"{RunFailed.SUBJECT}.>")
LISTENERS: Final = 1_000
LISTENERS_OF_ACCOUNT: Final = 50


class Listener:
    """One request that waits. `keys` are the last tokens of the subjects that concern it."""

    def __init__(self) -> None:
        self.keys: frozenset[str] = frozenset()
        self.signal = asyncio.Event()

    async def wait(self, timeout_s: float) -> None:
        """Wait for a signal, at most `timeout_s`; one that came since the last wait counts."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.signal.wait()
        self.signal.clear()


class Signals:
    """Follows the log for all listeners of this process."""

    def __init__(self, log: JobLog) -> None:
        self._log = log
        self._after: int | None = None
        self.listeners: set[Listener] = set()
        """Requests that wait now."""
        self.is_over = False
        """Whether this process stops, so that no request may wait any longer."""
        self._of_account: Counter[UUID] = Counter()
        self._wanted = asyncio.Event()

    def stop(self) -> None:
        """Wake all requests, so that they are answered with the current state of their jobs."""
        self.is_over = True
        for listener in self.listeners:
            listener.signal.set()

    async def run(self) -> None:
        """Follow the log while there are listeners; after a restart it resumes where it was."""
        while True:
            await self._wanted.wait()
            assert self._after is not None, "set together"
            async with aclosing(self._log.follow(self._after, SUBJECTS)) as batches:
                async for batch in batches:
                    if not self.listeners:
                        self._after = None
                        self._wanted.clear()
                        break
                    self._wake({subject.rpartition(".")[2] for subject in batch})

    @asynccontextmanager
    async def listen(self, account_id: UUID) -> AsyncIterator[Listener]:
        """Open a listener. Raises: Unavailable: there are too many, or the log cannot be read."""
        if len(self.listeners) >= LISTENERS or self._of_account[account_id] >= LISTENERS_OF_ACCOUNT:
            raise Unavailable("too many requests wait for jobs")
        listener = Listener()
        self.listeners.add(listener)
        self._of_account[account_id] += 1
        try:
            if self._after is None:
                newest = await self._log.newest()
                if self._after is None:
                    self._after = newest
                    self._wanted.set()
            yield listener
        finally:
            self.listeners.discard(listener)
            self._of_account[account_id] -= 1
            if not self._of_account[account_id]:
                del self._of_account[account_id]

    def _wake(self, keys: set[str]) -> None:
        for listener in self.listeners:
            if not listener.keys.isdisjoint(keys):
                listener.signal.set()
