"""The routes of jobs: creating, reading, following and cancelling them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from contracts.jobs.answers import JobAccepted, JobFinished, JobRepeated, job_path
from contracts.jobs.result import Result
from services.gateway.domain import parse_number
from services.gateway.jobs.article import read_article
from services.gateway.jobs.events import encode_events, list_missing
from services.gateway.jobs.exchange import Exchange, Reception, answer, require_json, write
from services.gateway.jobs.intake import Intake, Order, Repeated, choose_key
from services.gateway.jobs.logged import LoggedJob, describe_failure
from services.gateway.jobs.problems import Problem
from services.gateway.jobs.rate_policies import RateLimit
from services.gateway.jobs.reading import RETRY_S, Jobs
from services.gateway.jobs.request_headers import read_key, read_wait_s
from services.gateway.ports import Unavailable
from services.gateway.streaming import HEARTBEAT, serve_events

MARKDOWN: Final = "text/markdown; charset=utf-8"
FOLLOW_S: Final = 3_600.0
"""The longest life of one stream of events; its client resumes where it ended."""
HELLO: Final = b"retry: 1000\n\n"
_REPEATED: Final = "This request was accepted before; nothing new was started or charged."
_RESULT: Final = TypeAdapter[Result](Result)
_SEQUENCE_DIGITS: Final = 19


@dataclass(frozen=True, slots=True, eq=False)
class JobRoutes:
    """Answers requests about jobs. Units: a stream sends an event or a heartbeat at least every `heartbeat_s`."""

    reception: Reception
    intake: Intake
    jobs: Jobs
    started: RateLimit
    reads: RateLimit
    _: KW_ONLY
    heartbeat_s: float
    stall_s: float
    _stopping: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def stop(self) -> None:
        """End all streams of events; clients resume at another process."""
        self._stopping.set()

    async def analyze(self, request: Request) -> Response:
        """Accept an article. The answer to a repeated request is the job that was accepted first."""
        body = await self.reception.read(request)
        principal = await self.reception.admit(request, self.started)
        require_json(request)
        key = read_key(request.headers.getlist("idempotency-key"))
        article = read_article(body, principal)
        exchange: Exchange = request.state.exchange
        order = Order(article, choose_key(key, article), principal, exchange.correlation)
        accepted = await self.intake.accept(order)
        if isinstance(accepted, Repeated):
            return await self._answer_repetition(accepted)
        headers = {"Location": job_path(accepted.job_id), "Retry-After": f"{RETRY_S:g}"}
        wait_s = _read_wait_s(request)
        if wait_s is None:
            return answer(accepted, headers, 202)
        headers |= _applied(wait_s)
        finished = await self._finish(accepted, wait_s)
        return answer(accepted, headers, 202) if finished is None else answer(finished, headers)

    async def show(self, request: Request) -> Response:
        """The status and progress of a job."""
        found = await self._await(request)
        return answer(await self.jobs.describe(found), _applied(_read_wait_s(request)))

    async def result(self, request: Request) -> Response:
        """The result of a job, as it was stored."""
        text = await self.jobs.read_result(await self._await(request))
        return write(text, "application/json", _applied(_read_wait_s(request)))

    async def report(self, request: Request) -> Response:
        """The result of a job as a report in Markdown."""
        text = await self.jobs.read_report(await self._await(request))
        return write(text, MARKDOWN, _applied(_read_wait_s(request)))

    async def events(self, request: Request) -> Response:
        """Follow the progress of a job, from the start or after `Last-Event-ID`."""
        found = await self._find(request)
        after = _read_after(request.headers.get("last-event-id", "").strip())
        if found.job.over is not None and not list_missing(found, after):
            return Response(status_code=204)  # by which a browser knows not to reconnect
        return _Events(self._chunks(found, after), self._stopping, self.stall_s)

    async def cancel(self, request: Request) -> Response:
        """Cancel a job, and delete its texts."""
        found = await self._find(request)
        exchange: Exchange = request.state.exchange
        await self.jobs.cancel(found, exchange.correlation)
        return Response(status_code=204)

    async def _find(self, request: Request) -> LoggedJob:
        """The job as it is now. Raises: Problem, Unavailable."""
        principal = await self.reception.admit(request, self.reads)
        return await self.jobs.find(request.path_params["job_id"], principal.account.account_id)

    async def _await(self, request: Request) -> LoggedJob:
        """The job, once it has ended or the wait that its client asked for is over. Raises: Problem, Unavailable."""
        return await self.jobs.wait(await self._find(request), _read_wait_s(request))

    async def _answer_repetition(self, repeated: Repeated) -> Response:
        found = await self.jobs.read(repeated.job_id)
        if found is None:
            raise Unavailable("the log does not show the job of a key")
        document = JobRepeated(
            job_id=repeated.job_id,
            status=found.status,
            idempotent=True,
            original_request_at=found.created_at,
            message=_REPEATED,
        )
        return answer(document, {"Location": job_path(repeated.job_id), "Idempotent-Replayed": "true"})

    async def _finish(self, accepted: JobAccepted, wait_s: int) -> JobFinished | None:
        """The job with its result if it ends in time, else None. After acceptance an outage only ends the wait."""
        try:
            found = await self.jobs.read(accepted.job_id)
            found = None if found is None else await self.jobs.wait(found, wait_s)
            if found is None or found.job.over is None:
                return None
            over = found.job.over
            result = None if over.result is None else await self.jobs.read_result(found)
        except (Unavailable, Problem):
            return None
        same = {name: getattr(accepted, name) for name in JobAccepted.model_fields}
        ended: dict[str, object] = {
            "status": over.outcome,
            "charged": over.charged_micro_usd,
            "error": describe_failure(over),
        }
        if result is not None:
            ended["result"] = _RESULT.validate_json(result)
        return JobFinished.model_validate(same | ended)

    async def _chunks(self, logged: LoggedJob, after: int) -> AsyncGenerator[bytes, None]:
        """A job's events after a sequence, and heartbeats between them, until it is over."""
        yield HELLO
        sent: set[int] = set()  # a read of the log may show the end of a run before an earlier fact of the job
        async with aclosing(self.jobs.follow(logged, FOLLOW_S, self.heartbeat_s)) as states:
            async for each in states:
                found = [one for one in list_missing(each, after) if one[0] not in sent]
                yield b"".join(encode_events(*one) for one in found) or HEARTBEAT
                sent.update(sequence for sequence, _ in found)


class _Events(Response):
    """A response with a stream of events."""

    def __init__(self, chunks: AsyncGenerator[bytes, None], stopping: asyncio.Event, stall_s: float) -> None:
        super().__init__()
        self._chunks = chunks
        self._stopping = stopping
        self._stall_s = stall_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await serve_events(self._chunks, receive, send, self._stopping, stall_s=self._stall_s)


def _read_wait_s(request: Request) -> int | None:
    return read_wait_s(",".join(request.headers.getlist("prefer")))


def _applied(wait_s: int | None) -> dict[str, str]:
    return {} if wait_s is None else {"Preference-Applied": f"wait={wait_s}"}


def _read_after(last_event_id: str) -> int:
    """The sequence of the last event that a client has. Raises: Problem."""
    sequence = parse_number(last_event_id or "0", _SEQUENCE_DIGITS)
    if sequence is None:
        raise Problem("VALIDATION_ERROR", "Last-Event-ID is the id of an event: a whole number.")
    return sequence
