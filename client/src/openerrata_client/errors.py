"""What can go wrong, as exceptions that say what to do about it.

`OpenErrataError` is the base of all. What a server refuses is an `ApiError`, by its status; what never reached a
server is an `ApiConnectionError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Final

import httpx
from pydantic import JsonValue

from openerrata_client.documents import OpenErrataError, parse_json
from openerrata_client.rate_limits import read_rate_limits
from openerrata_client.types import ADVICE, CreditLimitReached, JobView, ProblemDocument

RETRYABLE: Final = frozenset({408, 429, 500, 502, 503, 504})
NOT_SERVED: Final = "This is not the address of an instance, or its operator has not turned this interface on"


class ApiConnectionError(OpenErrataError):
    """The server was not reached, or its answer did not arrive whole."""


class JobTimeoutError(OpenErrataError):
    """The job did not end within the time that was given. It goes on: `client.job(id)` finds it again."""


class JobFailedError(OpenErrataError):
    """The job failed or was cancelled, so that it has no result. `job` says why."""

    def __init__(self, job: JobView) -> None:
        reason = f"{job.error.code}: {job.error.message}" if job.error is not None else "it was cancelled"
        super().__init__(f"Job {job.job_id} has no result: {reason}")
        self.job = job


class ApiError(OpenErrataError):
    """A server refused.

    `code`: as in the interface's list of problems. `advice`: what to do. `instance`: names the request to the operator.
    `retry_after_s`: when to try again, if the server says so.
    """

    def __init__(
        self,
        response: httpx.Response,
        code: str,
        message: str,
        details: Mapping[str, JsonValue] | None = None,
        instance: str | None = None,
    ) -> None:
        self.status = response.status_code
        self.code = code
        self.message = message
        self.details: Mapping[str, JsonValue] = details or {}
        self.instance = instance
        self.advice = ADVICE.get(code, "")
        self.retry_after_s = _read_retry_after(response)
        named = f" ({instance})" if instance else ""
        said = " ".join(f"{each.rstrip('.')}." for each in (message, self.advice) if each)
        super().__init__(f"{self.status} {code}: {said}{named}")


class InvalidRequestError(ApiError):
    """The request can never succeed as it is."""


class IdempotencyError(ApiError):
    """The idempotency key was used for another request."""


class AuthenticationError(ApiError):
    """There is no usable key."""


class PermissionDeniedError(ApiError):
    """The key or the account may not do this."""


class NotFoundError(ApiError):
    """The thing that was asked for does not exist, or belongs to another account."""


class NotReadyError(ApiError):
    """The job has not ended."""


class NoResultError(ApiError):
    """The job ended without a result."""


class ExpiredError(ApiError):
    """The result is no longer kept."""


class RateLimitError(ApiError):
    """Too many requests, jobs, or articles without credit."""


class ServerError(ApiError):
    """The server is broken or busy."""


class CreditExhaustedError(ApiError):
    """The month's credit is used up. Units: `credit_remaining` in US dollars."""

    def __init__(self, response: httpx.Response, found: CreditLimitReached) -> None:
        super().__init__(response, "CREDIT_LIMIT_REACHED", found.message, None, found.instance)
        self.credit_remaining: Decimal = found.credit_remaining
        self.reset_date: datetime = found.reset_date


_BY_CODE: Final[Mapping[str, type[ApiError]]] = {
    "NOT_READY": NotReadyError,
    "NO_RESULT": NoResultError,
}
_BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: IdempotencyError,
    410: ExpiredError,
    429: RateLimitError,
}


def read_error(response: httpx.Response) -> ApiError:
    """The error of an answer, be it a problem document or another one, such as a proxy's page."""
    body = response.content
    try:
        if response.status_code == 402:
            return CreditExhaustedError(response, CreditLimitReached.read(body))
        found = ProblemDocument.read(body)
    except ValueError:
        return _class_of(response.status_code, "")(response, *_read_other_error(response))
    error = found.error
    return _class_of(response.status_code, error.code)(
        response, error.code, error.message, error.details, found.instance
    )


def _read_other_error(response: httpx.Response) -> tuple[str, str]:
    """Code and message of an answer that is not a problem document: a procedure's error, or a proxy's page."""
    if response.has_redirect_location:
        return "UNKNOWN", f"The server redirects to {response.headers['location']}; give the address of the instance"
    try:
        error = parse_json(response.content)["error"]
        return str(error["data"]["code"]), " ".join(str(error["message"]).split())
    except (KeyError, TypeError, ValueError):
        return "UNKNOWN", NOT_SERVED if response.status_code == 404 else response.reason_phrase or "no explanation"


def _class_of(status: int, code: str) -> type[ApiError]:
    if status >= 500:
        return ServerError
    return _BY_CODE.get(code) or _BY_STATUS.get(status, InvalidRequestError)


def _read_retry_after(response: httpx.Response) -> float | None:
    """How long to wait: the header Retry-After, else until a used-up quota is reset. Units: seconds."""
    stated = response.headers.get("retry-after", "")
    if stated.isascii() and stated.isdigit():
        return float(stated)
    wait_s = _seconds_until(stated, response.headers.get("date", ""))
    if wait_s is not None or response.status_code != 429:
        return wait_s
    spent = [each.reset_s for each in read_rate_limits(response.headers).values() if each.remaining == 0]
    return max((wait for wait in spent if wait is not None), default=None)


def _seconds_until(date: str, sent_at: str) -> float | None:
    """How long it is until a date, by the clock of the server; None if one of both is no date."""
    try:
        return max(0.0, (parsedate_to_datetime(date) - parsedate_to_datetime(sent_at)).total_seconds())
    except (TypeError, ValueError, OverflowError):  # TypeError: one has a zone and the other has none
        return None
