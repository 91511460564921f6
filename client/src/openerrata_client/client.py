"""The client for programs that wait for an answer before they go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeVar

import httpx

from openerrata_client.calls import (
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


class Client:
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
        http: httpx.Client | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._server = choose_server(server)
        self._headers = standard_headers(api_key)
        self._timeout_s = timeout_s
        self._retry = retry or RetryPolicy()
        with read_environment():
            self._http = http or httpx.Client()
        self._is_own = http is None
        self._sleep = sleep
        self.rate_limits: Mapping[str, RateLimit] = {}
        """The rate limits that the server last stated, by policy."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        if self._is_own:
            self._http.close()

    def analyze(
        self,
        *,
        url: str | None = None,
        text: str | None = None,
        options: Options | None = None,
        labels: ClientLabels | None = None,
        idempotency_key: str | None = None,
    ) -> Job:
        """Have an article analysed: exactly one of `url` and `text`. Retries never start a second job.

        If it is interrupted before the job's id is known, it cancels the job, unless `idempotency_key` or a request id
        in `labels` finds the job again.

        Raises: ApiError: `CreditExhaustedError`, `RateLimitError`, … ApiConnectionError.
        """
        call = analyze_call(url, text, options, labels, idempotency_key)
        try:
            answer = self._run(request(call, self._retry))
        except KeyboardInterrupt:
            if not is_named(labels, idempotency_key):
                with suppress(OpenErrataError):
                    self._run(take_back(call))
            raise
        accepted = read_accepted(answer)
        return Job(self, accepted.job_id, accepted)

    def job(self, job_id: str) -> Job:
        """A job that was started before. Sends no request."""
        return Job(self, job_id)

    def estimate(self, *, url: str | None = None, text: str | None = None, options: Options | None = None) -> Estimate:
        """What an analysis would cost; buys nothing. Raises: ApiError, ApiConnectionError."""
        return Estimate.read(self.fetch(estimate_call(url, text, options)))

    def credit(self) -> Credit:
        """What the account may still spend this month. Raises: ApiError, ApiConnectionError."""
        return Credit.read(self.fetch(Call("GET", "/v1/user/credit")))

    def health(self) -> Health:
        """Whether the server answers; needs no key. Raises: ApiError, ApiConnectionError."""
        return Health.read(self.fetch(Call("GET", "/v1/health")))

    def receipt_keys(self) -> PublicKeys:
        """The keys that receipts are verified with. Raises: ApiError, ApiConnectionError."""
        return PublicKeys.read(self.fetch(Call("GET", "/.well-known/openerrata-receipts.json")))

    def fetch(self, call: Call) -> bytes:
        """Send a request that has no method of its own; the answer's body. Raises: ApiError, ApiConnectionError."""
        return self._run(request(call, self._retry)).content

    def _run(self, exchange: Exchange[T]) -> T:
        outcome: Outcome = None
        while True:
            try:
                step = exchange.send(outcome)
            except StopIteration as end:
                result: T = end.value
                return result
            if isinstance(step, Pause):
                self._sleep(step.seconds)
                outcome = None
            else:
                outcome = self._send(step)

    def _send(self, call: Call) -> Outcome:
        try:
            with read_redirects():
                response = self._http.send(self._build(call), follow_redirects=False)
        except httpx.RequestError as error:
            return error
        self.rate_limits = {**self.rate_limits, **read_rate_limits(response.headers)}
        return response

    def _build(self, call: Call, timeout_s: float | None = None) -> httpx.Request:
        whole = Call(call.method, self._server + call.path, call.body, {**self._headers, **call.headers}, call.wait_s)
        return build_request(self._http, whole, timeout_s or self._timeout_s)

    def _follow(self, cursor: EventCursor) -> Iterator[Event]:
        while not cursor.has_ended:
            try:
                with read_redirects():
                    response = self._http.send(self._build(cursor.call(), QUIET_S), stream=True, follow_redirects=False)
                try:
                    if response.status_code == NOTHING_MORE:
                        return
                    if response.is_success:
                        for sent in open_stream(response).iter_sse():
                            event = cursor.take(sent)
                            if event is not None:
                                yield event
                            if cursor.has_ended:
                                return
                        error: ApiConnectionError | ApiError = ApiConnectionError(CUT)
                    else:
                        response.read()
                        error = to_error(response)
                finally:
                    response.close()
            except httpx.RequestError as cut:
                error = to_error(cut)
            self._sleep(cursor.pause_after(error))


class Job:
    """A job of the server. `accepted`: the answer to `analyze`; None for a job that was started before."""

    def __init__(
        self, client: Client, job_id: str, accepted: JobAccepted | JobFinished | JobRepeated | None = None
    ) -> None:
        self.id = job_id
        self.accepted = accepted
        self._client = client

    def read(self) -> JobView:
        """The job's state and progress. Raises: ApiError, ApiConnectionError."""
        return JobView.read(self._client.fetch(Call("GET", job_path(self.id))))

    def events(self, *, last_event_id: str = "") -> Iterator[Event]:
        """The events of the job until its end, from the first or after `last_event_id`; reconnects if it is cut off.

        Raises: ApiError, ApiConnectionError: it could not reconnect.
        """
        return self._client._follow(EventCursor(self.id, last_event_id, self._client._retry))

    def wait(self, timeout_s: float | None = None) -> JobView:
        """Wait for the end of the job, however it ends. Raises: JobTimeoutError, ApiError, ApiConnectionError."""
        return self._client._run(wait_for_end(self.id, timeout_s, time.monotonic, self._client._retry))

    def result(self, timeout_s: float | None = None) -> FullResult | CacheOnlyResult:
        """Wait for the result. Raises: JobFailedError, JobTimeoutError, ExpiredError, ApiError, ApiConnectionError."""
        return read_result(self._output("result", timeout_s).content)

    def report(self, timeout_s: float | None = None) -> str:
        """Wait for the result as Markdown. Raises: as `result`."""
        return self._output("report", timeout_s).text

    def cancel(self) -> None:
        """Cancel the job; the server removes its texts. Raises: ApiError, ApiConnectionError."""
        self._client.fetch(Call("DELETE", job_path(self.id)))

    def _output(self, name: str, timeout_s: float | None) -> httpx.Response:
        return self._client._run(read_output(self.id, name, timeout_s, time.monotonic, self._client._retry))
