"""The client for programs on asyncio: the same as `Client`, with `await`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeVar

import anyio
import httpx

from openerrata_client.calls import (
    CANCEL_S,
    QUIET_S,
    TIMEOUT_S,
    analyze_call,
    build_request,
    choose_server,
    estimate_call,
    is_named,
    read_environment,
    read_redirects,
    standard_headers,
)
from openerrata_client.documents import OpenErrataError
from openerrata_client.errors import ApiConnectionError, ApiError
from openerrata_client.events import CUT, NOTHING_MORE, Event, EventCursor, open_stream
from openerrata_client.exchanges import (
    Call,
    Exchange,
    Outcome,
    Pause,
    RetryPolicy,
    job_path,
    read_output,
    request,
    take_back,
    to_error,
    wait_for_end,
)
from openerrata_client.rate_limits import RateLimit, read_rate_limits
from openerrata_client.results import read_accepted, read_result
from openerrata_client.types import (
    CacheOnlyResult,
    ClientLabels,
    Credit,
    Estimate,
    FullResult,
    Health,
    JobAccepted,
    JobFinished,
    JobRepeated,
    JobView,
    Options,
    PublicKeys,
)

T = TypeVar("T")


class AsyncClient:
    """Talks to one instance. Close it, or use it as a context manager.

    `api_key`, `server`: None takes `OPENERRATA_API_KEY` and `OPENERRATA_SERVER`. `http`: a client of the caller's own,
    for proxies and certificates; it is not closed. Units: `timeout_s` for connecting, and between parts of an answer.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        server: str | None = None,
        timeout_s: float = TIMEOUT_S,
        retry: RetryPolicy | None = None,
        http: httpx.AsyncClient | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._server = choose_server(server)
        self._headers = standard_headers(api_key)
        self._timeout_s = timeout_s
        self._retry = retry or RetryPolicy()
        with read_environment():
            self._http = http or httpx.AsyncClient()
        self._is_own = http is None
        self._sleep = sleep
        self.rate_limits: Mapping[str, RateLimit] = {}
        """The rate limits that the server last stated, by policy."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        if self._is_own:
            await self._http.aclose()

    async def analyze(
        self,
        *,
        url: str | None = None,
        text: str | None = None,
        options: Options | None = None,
        labels: ClientLabels | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncJob:
        """Have an article analysed: exactly one of `url` and `text`. Retries never start a second job.

        If it is cancelled before the job's id is known, it takes up to 10 seconds to cancel the job, unless
        `idempotency_key` or a request id in `labels` finds the job again.

        Raises: ApiError: `CreditExhaustedError`, `RateLimitError`, … ApiConnectionError.
        """
        call = analyze_call(url, text, options, labels, idempotency_key)
        try:
            answer = await self._run(request(call, self._retry))
        except asyncio.CancelledError:
            if not is_named(labels, idempotency_key):
                with anyio.move_on_after(CANCEL_S, shield=True), suppress(OpenErrataError):
                    await self._run(take_back(call))
            raise
        accepted = read_accepted(answer)
        return AsyncJob(self, accepted.job_id, accepted)

    def job(self, job_id: str) -> AsyncJob:
        """A job that was started before. Sends no request."""
        return AsyncJob(self, job_id)

    async def estimate(
        self, *, url: str | None = None, text: str | None = None, options: Options | None = None
    ) -> Estimate:
        """What an analysis would cost; buys nothing. Raises: ApiError, ApiConnectionError."""
        return Estimate.read(await self.fetch(estimate_call(url, text, options)))

    async def credit(self) -> Credit:
        """What the account may still spend this month. Raises: ApiError, ApiConnectionError."""
        return Credit.read(await self.fetch(Call("GET", "/v1/user/credit")))

    async def health(self) -> Health:
        """Whether the server answers; needs no key. Raises: ApiError, ApiConnectionError."""
        return Health.read(await self.fetch(Call("GET", "/v1/health")))

    async def receipt_keys(self) -> PublicKeys:
        """The keys that receipts are verified with. Raises: ApiError, ApiConnectionError."""
        return PublicKeys.read(await self.fetch(Call("GET", "/.well-known/openerrata-receipts.json")))

    async def fetch(self, call: Call) -> bytes:
        """Send a request that has no method of its own; the answer's body. Raises: ApiError, ApiConnectionError."""
        return (await self._run(request(call, self._retry))).content

    async def _run(self, exchange: Exchange[T]) -> T:
        outcome: Outcome = None
        while True:
            try:
                step = exchange.send(outcome)
            except StopIteration as end:
                result: T = end.value
                return result
            if isinstance(step, Pause):
                await self._sleep(step.seconds)
                outcome = None
            else:
                outcome = await self._send(step)

    async def _send(self, call: Call) -> Outcome:
        try:
            with read_redirects():
                response = await self._http.send(self._build(call), follow_redirects=False)
        except httpx.RequestError as error:
            return error
        self.rate_limits = {**self.rate_limits, **read_rate_limits(response.headers)}
        return response

    def _build(self, call: Call, timeout_s: float | None = None) -> httpx.Request:
        whole = Call(call.method, self._server + call.path, call.body, {**self._headers, **call.headers}, call.wait_s)
        return build_request(self._http, whole, timeout_s or self._timeout_s)

    async def _follow(self, cursor: EventCursor) -> AsyncIterator[Event]:
        while not cursor.has_ended:
            try:
                with read_redirects():
                    response = await self._http.send(
                        self._build(cursor.call(), QUIET_S), stream=True, follow_redirects=False
                    )
                try:
                    if response.status_code == NOTHING_MORE:
                        return
                    if response.is_success:
                        async for sent in open_stream(response).aiter_sse():
                            event = cursor.take(sent)
                            if event is not None:
                                yield event
                            if cursor.has_ended:
                                return
                        error: ApiConnectionError | ApiError = ApiConnectionError(CUT)
                    else:
                        await response.aread()
                        error = to_error(response)
                finally:
                    await response.aclose()
            except httpx.RequestError as cut:
                error = to_error(cut)
            await self._sleep(cursor.pause_after(error))


class AsyncJob:
    """A job of the server. `accepted`: the answer to `analyze`; None for a job that was started before."""

    def __init__(
        self, client: AsyncClient, job_id: str, accepted: JobAccepted | JobFinished | JobRepeated | None = None
    ) -> None:
        self.id = job_id
        self.accepted = accepted
        self._client = client

    async def read(self) -> JobView:
        """The job's state and progress. Raises: ApiError, ApiConnectionError."""
        return JobView.read(await self._client.fetch(Call("GET", job_path(self.id))))

    def events(self, *, last_event_id: str = "") -> AsyncIterator[Event]:
        """The events of the job until its end, from the first or after `last_event_id`; reconnects if it is cut off.

        Raises: ApiError, ApiConnectionError: it could not reconnect.
        """
        return self._client._follow(EventCursor(self.id, last_event_id, self._client._retry))

    async def wait(self, timeout_s: float | None = None) -> JobView:
        """Wait for the end of the job, however it ends. Raises: JobTimeoutError, ApiError, ApiConnectionError."""
        return await self._client._run(wait_for_end(self.id, timeout_s, time.monotonic, self._client._retry))

    async def result(self, timeout_s: float | None = None) -> FullResult | CacheOnlyResult:
        """Wait for the result. Raises: JobFailedError, JobTimeoutError, ExpiredError, ApiError, ApiConnectionError."""
        return read_result((await self._output("result", timeout_s)).content)

    async def report(self, timeout_s: float | None = None) -> str:
        """Wait for the result as Markdown. Raises: as `result`."""
        return (await self._output("report", timeout_s)).text

    async def cancel(self) -> None:
        """Cancel the job; the server removes its texts. Raises: ApiError, ApiConnectionError."""
        await self._client.fetch(Call("DELETE", job_path(self.id)))

    async def _output(self, name: str, timeout_s: float | None) -> httpx.Response:
        return await self._client._run(read_output(self.id, name, timeout_s, time.monotonic, self._client._retry))
