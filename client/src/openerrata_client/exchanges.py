"""Requests, how their answers are read, and when they are sent again: the same for both clients.

An exchange is a generator. It yields a `Call` to be sent, and is given the response or the transport's error; or it
yields a `Pause`. So it knows neither sockets nor clocks, and the clients know no rules.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, TypeVar
from urllib.parse import quote

import httpx

from openerrata_client.errors import (
    RETRYABLE,
    ApiConnectionError,
    ApiError,
    JobFailedError,
    JobTimeoutError,
    read_error,
)
from openerrata_client.results import read_accepted
from openerrata_client.types import JobView

T = TypeVar("T")

ENDED: Final = frozenset({"SUCCEEDED", "FAILED", "CANCELED"})
LONGEST_WAIT_S: Final = 60
"""How long a server lets one request wait for the end of a job."""
POLL_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Call:
    """A request. Every one of them may be sent again: one that would cost money has an idempotency key."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: int = 0


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait before going on."""

    seconds: float


Outcome = httpx.Response | httpx.RequestError | None
Exchange = Generator[Call | Pause, Outcome, T]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often to retry, and after which waits. Units: seconds; a wait beyond `longest_s` is left to the caller."""

    retries: int = 4
    first_s: float = 0.5
    longest_s: float = 60.0
    jitter: Callable[[], float] = random.random

    def pause_before(self, retry: int, error: ApiConnectionError | ApiError) -> float | None:
        """How long to wait before this retry, counted from 1; None to give up. A wait that the server states counts."""
        if retry > self.retries or (isinstance(error, ApiError) and error.status not in RETRYABLE):
            return None
        stated = error.retry_after_s if isinstance(error, ApiError) else None
        if stated is not None:
            return stated if stated <= self.longest_s else None
        return min(self.longest_s, self.first_s * 2.0 ** (retry - 1)) * (0.5 + self.jitter() / 2)


def request(call: Call, policy: RetryPolicy, left_s: Callable[[], float] = lambda: inf) -> Exchange[httpx.Response]:
    """Send a request, and send it again where that may help. Raises: ApiError, ApiConnectionError.

    TimeoutError: `left_s` seconds, the time that is left, are over before it may be sent again.
    """
    retry = 0
    while True:
        outcome = yield call
        if isinstance(outcome, httpx.Response) and outcome.is_success:
            return outcome
        error = to_error(outcome)
        retry += 1
        seconds = policy.pause_before(retry, error)
        if seconds is None:
            raise error
        left = max(0.0, left_s())
        yield Pause(min(seconds, left))
        if left <= seconds:
            raise TimeoutError(str(error)) from error


def take_back(analyze: Call) -> Exchange[None]:
    """Cancel the job of a request that may have reached the server: sent again, it is answered with that job.

    Raises: ApiError, ApiConnectionError: it is not known whether there is one.
    """
    once = RetryPolicy(retries=0)
    answer = yield from request(analyze, once)
    yield from request(Call("DELETE", job_path(read_accepted(answer).job_id)), once)


def to_error(outcome: Outcome) -> ApiConnectionError | ApiError:
    """The error of an outcome that is not a success."""
    if isinstance(outcome, httpx.Response):
        return read_error(outcome)
    reason = f"{type(outcome).__name__}: {outcome}".rstrip(": ")
    server = "the server" if outcome is None else _name_server(outcome)
    return ApiConnectionError(f"No answer from {server} ({reason}). Is its address right, and does it run?")


def _name_server(error: httpx.RequestError) -> str:
    """The address without the name and password that it may hold."""
    url = error.request.url
    return f"{url.scheme}://{url.netloc.decode()}"


def wait_for_end(
    job_id: str, timeout_s: float | None, now: Callable[[], float], policy: RetryPolicy
) -> Exchange[JobView]:
    """Wait until a job has ended. Raises: JobTimeoutError: it did not end within the time given."""
    began = now()

    def left_s() -> float:
        return inf if timeout_s is None else timeout_s - (now() - began)

    while True:
        wait_s = int(min(LONGEST_WAIT_S, max(0.0, left_s())))
        try:
            answer = yield from request(Call("GET", job_path(job_id), wait_s=wait_s), policy, left_s)
        except TimeoutError as late:
            raise JobTimeoutError(f"The state of job {job_id} is not known: {late}") from late
        job = JobView.read(answer.content)
        if job.status in ENDED:
            return job
        left = left_s()
        if left <= 0:
            raise JobTimeoutError(f"Job {job_id} is {job.status} ({job.progress.stage}); it goes on.")
        if "preference-applied" not in answer.headers:
            yield Pause(min(POLL_S, left))


def read_output(
    job_id: str, name: str, timeout_s: float | None, now: Callable[[], float], policy: RetryPolicy
) -> Exchange[httpx.Response]:
    """Wait for a job, and read an output of it. Raises: JobFailedError, JobTimeoutError, ExpiredError."""
    job = yield from wait_for_end(job_id, timeout_s, now, policy)
    if job.status != "SUCCEEDED":
        raise JobFailedError(job)
    return (yield from request(Call("GET", f"{job_path(job_id)}/{name}"), policy))


def job_path(job_id: str) -> str:
    """The path of a job."""
    return f"/v1/jobs/{quote(job_id, safe='')}"
