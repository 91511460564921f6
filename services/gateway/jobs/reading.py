"""Jobs as their accounts read them: from the log, which is consistent at once and needs no table (decision 0073)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Final
from uuid import UUID

from analyses.claims.report import write_report
from contracts.jobs.answers import JobView
from contracts.jobs.ids import parse_job_id
from contracts.jobs.words import RequestWords
from kit.clock import Clock
from lifecycle.audits.words import list_deleted
from services.gateway.jobs.logged import LoggedJob, describe_job, own_subjects
from services.gateway.jobs.ports import JobLog, Words
from services.gateway.jobs.problems import Problem
from services.gateway.jobs.signals import Listener, Signals

LOOK_S: Final = 15.0
"""How long a waiting request relies on signals before it reads the log again."""
RETRY_S: Final = 5.0
"""`Retry-After` for a job that has not ended."""


class Jobs:
    """Reads, awaits and cancels jobs. Each method may raise Unavailable."""

    def __init__(self, log: JobLog, words: Words, signals: Signals, clock: Clock) -> None:
        self._log = log
        self._words = words
        self._signals = signals
        self._clock = clock

    async def find(self, job_id: str, account_id: UUID) -> LoggedJob:
        """A job of an account by its ULID. Raises: Problem: there is none, or it is another account's."""
        parsed = parse_job_id(job_id)
        found = None if parsed is None else await self.read(parsed)
        if found is None or found.request.account_id != account_id:
            raise Problem("NOT_FOUND")
        return found

    async def read(self, job_id: UUID) -> LoggedJob | None:
        """A job with the ends of the runs that its claims wait for."""
        for current in (False, True):  # a replica that lags may not have it yet
            facts = await self._log.latest(*own_subjects(job_id), current=current)
            found = LoggedJob.fold(job_id, facts)
            if found is not None:
                ends = await self._log.read(*found.awaited_subjects(), after=found.request_sequence)
                return LoggedJob.fold(job_id, (*facts, *ends)) if ends else found
        return None

    async def follow(
        self, logged: LoggedJob, timeout_s: float, look_s: float = LOOK_S
    ) -> AsyncGenerator[LoggedJob, None]:
        """Yield the job each time it may have changed, until it ends, `timeout_s` is over or this process stops.

        It is also yielded after every `look_s` seconds without a change.
        """
        end = asyncio.get_running_loop().time() + timeout_s
        async with self._signals.listen(logged.request.account_id) as listener:
            while True:
                logged = await self._read_listening(logged, listener)
                yield logged
                left_s = end - asyncio.get_running_loop().time()
                if logged.job.over is not None or left_s <= 0 or self._signals.is_over:
                    return
                await listener.wait(min(left_s, look_s))

    async def wait(self, logged: LoggedJob, wait_s: float | None) -> LoggedJob:
        """The job once it has ended, or after `wait_s`; at once if `wait_s` is None."""
        if wait_s is not None and logged.job.over is None:
            async for each in self.follow(logged, wait_s):
                logged = each
        return logged

    async def describe(self, logged: LoggedJob) -> JobView:
        """The job, with the client's own labels while they are stored."""
        return describe_job(logged, await self._read_words(logged))

    async def read_result(self, logged: LoggedJob) -> str:
        """The result as it was stored. Raises: Problem: there is no result, not yet, or no longer."""
        over = logged.job.over
        if over is None:
            raise Problem("NOT_READY", retry_after_s=RETRY_S)
        if over.result is None:
            raise Problem("NO_RESULT", details={"code": over.code or over.outcome})
        text = None if logged.has_expired(self._clock.now()) else await self._words.get(over.result)
        if text is None:
            raise Problem("EXPIRED")
        return text

    async def read_report(self, logged: LoggedJob) -> str:
        """The result as Markdown. Raises: Problem: as `read_result`."""
        return write_report(json.loads(await self.read_result(logged)))

    async def cancel(self, logged: LoggedJob, correlation: UUID) -> None:
        """End a job if it has not ended, and remove its words."""
        for fact in await self._log.read(*logged.job.purchase_subjects(), after=logged.request_sequence):
            logged.job.apply(fact.event)  # analyses that it bought are charged, even if its plan is not stored yet
        job = logged.job
        ended = job.cancel()
        if ended is not None and await self._log.publish(ended, correlation=correlation):
            job = replace(job, over=ended)  # who follows it sees the end in the log
        elif ended is not None:  # it ended meanwhile
            facts = await self._log.latest(*own_subjects(job.job_id), current=True)
            job = (LoggedJob.fold(job.job_id, facts) or logged).job
        words = list_deleted(job)
        await asyncio.gather(
            *(self._words.remove_answers(each, logged.request.input.until) for each in words.folders),
            *(self._words.remove(each) for each in words.texts),
        )

    async def _read_listening(self, logged: LoggedJob, listener: Listener) -> LoggedJob:
        """Read the job, again if it then waits for subjects that `listener` did not watch meanwhile."""
        while True:
            listener.keys = logged.watched_keys()
            logged = await self.read(logged.job.job_id) or logged
            if listener.keys == logged.watched_keys():
                return logged

    async def _read_words(self, logged: LoggedJob) -> RequestWords | None:
        if logged.status == "CANCELED" or logged.has_expired(self._clock.now()):
            return None
        text = await self._words.get(logged.request.input)
        return None if text is None else RequestWords.model_validate_json(text)
