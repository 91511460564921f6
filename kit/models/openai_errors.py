"""Which provider failures may be tried again: named final ones may not, what was cut short is partial, all others may.

Provider texts reach a reason only after keys are struck out, and never for 401 and 403, whose texts quote the key they
refuse.
Source: CONTRACT section 5.3, specification 3.7.
"""

from __future__ import annotations

import json
import re

import openai
from openai.types.responses import Response

from kit.models.base import Failure, ModelError

PROVIDER_ERRORS = (openai.OpenAIError, json.JSONDecodeError, UnicodeDecodeError)
"""What the SDK raises: its own tree, and bare decoding errors for stream events that are not UTF-8 JSON."""

PICTURE_REFUSED = "PictureRefused"
"""The name of every error that is about a picture of ours."""

_FINAL_STATUSES = frozenset({400, 401, 403, 404, 422})
_KEY_REFUSALS = {
    401: "The provider refused the API key.",
    403: "The API key lacks permission for this model.",
}
_FINAL_CODES = frozenset(
    {
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
    }
)
_KEY_LIKE = re.compile(r"\b(?:sk|sess|org|proj)-[\w*.-]+")
_REASON_CHARACTERS = 300


def from_exception(error: Exception, secret: str) -> ModelError:
    """Class what the SDK raised. The result is not chained to it: the original carries request and raw body."""
    name = type(error).__name__
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        said = _KEY_REFUSALS.get(status) or f"The provider answered {status}: {struck(error.message, secret)}"
        if status in (400, 413, 422) and "image" in f"{error.code} {error.message}".lower():
            name = PICTURE_REFUSED
        failure: Failure = "NON_RETRYABLE" if status in _FINAL_STATUSES else "TRANSIENT"
        return ModelError(failure, said, name=name, status_code=status)
    if isinstance(error, openai.APITimeoutError):
        return ModelError("TRANSIENT", "The provider did not answer in time.", name=name)
    if isinstance(error, openai.APIConnectionError):
        return ModelError("TRANSIENT", "The connection to the provider failed.", name=name)
    if isinstance(error, openai.APIResponseValidationError):
        return ModelError("NON_RETRYABLE", "The provider's answer does not have the documented shape.", name=name)
    if isinstance(error, openai.APIError):
        return from_code(error.code, error.message, secret)
    return ModelError("NON_RETRYABLE", "The provider's answer could not be read.", name=name)


def from_code(code: str | None, message: str | None, secret: str) -> ModelError:
    """Class an error that came inside a stream or a response, where there is no HTTP status."""
    about_picture = code is not None and "image" in code
    final = about_picture or code in _FINAL_CODES
    reason = f"The provider reported {struck(code or 'an error', secret)}: {struck(message or 'no message', secret)}"
    name = PICTURE_REFUSED if about_picture else struck(code or "error", secret)
    return ModelError("NON_RETRYABLE" if final else "TRANSIENT", reason, name=name)


def from_unfinished(response: Response, secret: str) -> ModelError | None:
    """Class a response that is not `completed`; None if it is."""
    if response.status == "completed":
        return refusal() if _refused(response) else None
    if response.status == "failed" or response.error is not None:
        error = response.error
        return from_code(error.code, error.message, secret) if error else from_code(None, None, secret)
    details = response.incomplete_details
    if details is not None and details.reason == "content_filter":
        return refusal()
    why = str((details.reason if details else None) or response.status or "no status")
    return ModelError("PARTIAL", f"The answer was cut short ({struck(why, secret)}).", name="Incomplete")


def refusal() -> ModelError:
    """The model declined. Silence would read as `no issues found`, so it is a failure."""
    return ModelError("NON_RETRYABLE", "The model refused to work on this content.", name="Refusal")


def struck(text: str, secret: str) -> str:
    """The text without the key or anything that looks like one, on one line and of bounded length."""
    plain = text.replace(secret, "[key]") if secret else text
    return " ".join(_KEY_LIKE.sub("[key]", plain).split())[:_REASON_CHARACTERS]


def _refused(response: Response) -> bool:
    return any(part.type == "refusal" for item in response.output if item.type == "message" for part in item.content)
