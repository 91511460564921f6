"""Classifying provider failures: listed ones are final, truncated answers are partial, all others are transient.

A failure is classified by the response, not by the client library's exceptions, so all providers share one policy. A
provider's text becomes part of a reason only after keys are redacted, and never for 401 and 403, which quote the key.
Source: requirements 3.7.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Final

from contracts.transcript import Call
from contracts.v1.investigation import CONVERSATION_LOST
from kit.models.base import Failure, ModelError

PICTURE_REFUSED: Final = "PictureRefused"
"""The name of every error about a picture that we sent."""

_FINAL_STATUSES: Final = frozenset({400, 401, 403, 404, 422})
_PICTURE_STATUSES: Final = frozenset({400, 413, 422})
_KEY_REFUSALS: Final = {
    401: "The provider refused the API key.",
    403: "The API key lacks permission for this model.",
}
_FINAL_CODES: Final = frozenset(
    {
        "FAILED_PRECONDITION",
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "PERMISSION_DENIED",
        "UNAUTHENTICATED",
        "authentication_error",
        "bio_policy",
        "content_filter",
        "content_policy_violation",
        "data_residency_mismatch",
        "insufficient_permissions",
        "invalid_api_key",
        "invalid_prompt",
        "invalid_request_error",
        "misalignment_policy_violation",
        "model_not_found",
        "not_found_error",
        "permission_error",
    }
)
_ACCOUNT_CODES: Final = frozenset(
    {
        "PERMISSION_DENIED",
        "UNAUTHENTICATED",
        "access_terminated",
        "account_deactivated",
        "authentication_error",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "insufficient_permissions",
        "insufficient_quota",
        "invalid_api_key",
        "model_not_found",
        "permission_error",
    }
)
"""Codes about the account, not the request. An account without credit gets a 429, but waiting does not help."""
SHORTEST_KEY: Final = 12
"""Units: characters. Shorter keys are placeholders for local servers; no provider issues such keys."""

_KEY_LIKE: Final = re.compile(r"\b(?:sk|sess|org|proj)-[\w*.-]+")
_CONVERSATION_LOST_CODES: Final = frozenset({"previous_response_not_found"})
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,99}")
"""The names of errors that facts accept; servers send any text as a code."""
_SECONDS: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
_REASON_CHARACTERS: Final = 300
_LONGEST_WAIT_S: Final = 86_400.0


def from_wire(call: Call, body: bytes, secret: str) -> ModelError:
    """Classify a failed call by its status or by how it ended."""
    status = call.status
    if status is not None and not 200 <= status < 300:
        code, message = parse_error_body(body)
        reason = _KEY_REFUSALS.get(status) or f"The provider answered {status}: {redact(message, secret)}"
        if code in _CONVERSATION_LOST_CODES:
            return ModelError("TRANSIENT", reason, name=CONVERSATION_LOST, status_code=status)
        about_picture = status in _PICTURE_STATUSES and "image" in f"{code} {message}".lower()
        failure: Failure = "NON_RETRYABLE" if status in _FINAL_STATUSES else "TRANSIENT"
        name = PICTURE_REFUSED if about_picture else f"Http{status}"
        return ModelError(
            failure,
            reason,
            name=name,
            status_code=status if status < 600 else None,  # HTTP has no higher ones, and facts refuse them
            retry_after_s=_first_known(retry_after_s(call.headers), _retry_delay_s(body)),
            of_the_account=code in _ACCOUNT_CODES,
        )
    match call.ending:
        case "timeout":
            return ModelError("TRANSIENT", "The provider did not answer in time.", name="Timeout")
        case "unreached":
            return ModelError("TRANSIENT", "The provider could not be reached.", name="Unreached")
        case "lost":
            return ModelError("TRANSIENT", "The connection to the provider failed.", name="Disconnected")
        case _:
            return ModelError("NON_RETRYABLE", "The provider's answer could not be read.", name="Unreadable")


def from_code(code: str | None, message: str | None, secret: str) -> ModelError:
    """Classify an error inside a stream or a response, where there is no HTTP status."""
    about_picture = code is not None and "image" in code
    final = about_picture or code in _FINAL_CODES
    reason = f"The provider reported {redact(code or 'an error', secret)}: {redact(message or 'no message', secret)}"
    named = redact(code or "error", secret)
    name = PICTURE_REFUSED if about_picture else named if _NAME.fullmatch(named) else "error"
    failure: Failure = "NON_RETRYABLE" if final else "TRANSIENT"
    return ModelError(failure, reason, name=name, of_the_account=code in _ACCOUNT_CODES)


def is_page(call: Call | None) -> bool:
    """Whether the response was an HTML page with status 200."""
    return call is not None and call.status == 200 and call.headers.get("content-type", "").startswith("text/html")


def page() -> ModelError:
    """The error for an HTML page: a proxy answered for the provider, which may pass, or the address is wrong."""
    reason = "A page of HTML came in place of an answer: does a proxy answer for the provider, or is its address wrong?"
    return ModelError("TRANSIENT", reason, name="Page")


def truncated(call: Call | None) -> ModelError:
    """The error for a stream that ended without its final event, or for a response that was not a stream."""
    if is_page(call):
        return page()
    return ModelError("PARTIAL", "The answer ended before it was complete.", name="Truncated")


def incomplete(why: str, secret: str) -> ModelError:
    """The error for an answer that the provider cut short."""
    return ModelError("PARTIAL", f"The answer was cut short ({redact(why, secret)}).", name="Incomplete")


def refusal() -> ModelError:
    """The error for a model that declined. Otherwise its silence would mean `no issues found`."""
    return ModelError("NON_RETRYABLE", "The model refused to work on this content.", name="Refusal")


def parse_error_event(error: Exception) -> tuple[str | None, str] | None:
    """Code and message of an error event in a stream, which client libraries raise; None for any other error."""
    body = getattr(error, "body", None)
    return _parse(body) if isinstance(body, dict) else None


def parse_error_body(body: bytes) -> tuple[str | None, str]:
    """Code and message of a provider's error body, in any provider's form."""
    try:
        return _parse(json.loads(body))
    except (ValueError, RecursionError):
        return None, "no message"


def _parse(document: object) -> tuple[str | None, str]:
    error = _error_of(document)
    if not isinstance(error, dict):
        return None, error if isinstance(error, str) else "no message"
    codes = (error.get("code"), error.get("type"), error.get("status"))  # Google's code is the status as a number
    message = error.get("message")
    return (
        next((code for code in codes if isinstance(code, str) and code), None),
        message if isinstance(message, str) else "no message",
    )


def _error_of(document: object) -> object:
    if isinstance(document, list) and document:  # the form of Google's endpoint for chat completions
        document = document[0]
    return document.get("error", document) if isinstance(document, dict) else document


def _retry_delay_s(body: bytes) -> float | None:
    """The delay in an error body. Source: google.rpc.RetryInfo, a decimal number of seconds such as `34.5s`."""
    try:
        error = _error_of(json.loads(body))
    except (ValueError, RecursionError):
        return None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and (found := _SECONDS.fullmatch(str(detail.get("retryDelay")))):
            return min(float(found[1]), _LONGEST_WAIT_S)
    return None


def _first_known(*delays_s: float | None) -> float | None:
    return next((each for each in delays_s if each is not None), None)


def redact(text: str, secret: str) -> str:
    """`text` without the key or anything that looks like a key, on one line and of bounded length."""
    plain = text.replace(secret, "[key]") if len(secret) >= SHORTEST_KEY else text
    return " ".join(_KEY_LIKE.sub("[key]", plain).split())[:_REASON_CHARACTERS]


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The delay that the provider asks for, at most a day. Source: RFC 9110 section 10.2.3."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            wait_s = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        if isfinite(wait_s):
            return min(max(wait_s, 0.0), _LONGEST_WAIT_S)
    until, now = _date(headers.get("retry-after")), _date(headers.get("date"))
    if until is None or now is None:
        return None
    return min(max((until - now).total_seconds(), 0.0), _LONGEST_WAIT_S)


def _date(value: str | None) -> datetime | None:
    try:
        found = parsedate_to_datetime(value) if value else None
    except (ValueError, OverflowError):
        return None
    return found if found is None or found.tzinfo else None


def price_unknown(model: str) -> ModelError:
    """The error for a cost limit without a price: it cannot be enforced."""
    reason = f"There is a cost limit but no price for {model}: see OPENERRATA_MODEL_PRICES."
    return ModelError("NON_RETRYABLE", reason, name="PriceUnknown")
