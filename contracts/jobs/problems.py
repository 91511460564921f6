"""The errors of the job API: the status, the title and the advice for callers of each code.

Every error body has `error` with code, message and details, and the members of RFC 9457 beside it; that of 402 is
flat. Details never contain words of an article.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, NamedTuple, Self
from uuid import UUID

from pydantic import Field, JsonValue, model_validator

from contracts.jobs.values import Document, Instant, Money

ProblemCode = Literal[
    "VALIDATION_ERROR",
    "UNKNOWN_VERSION",
    "INVALID_IDEMPOTENCY_KEY",
    "INPUT_TOO_LONG",
    "NO_WEBHOOK_SECRET",
    "UNKNOWN_PROVIDER",
    "UNAUTHENTICATED",
    "CREDIT_LIMIT_REACHED",
    "FORBIDDEN",
    "NOT_FOUND",
    "METHOD_NOT_ALLOWED",
    "REQUEST_TIMEOUT",
    "NOT_READY",
    "NO_RESULT",
    "EXPIRED",
    "PAYLOAD_TOO_LARGE",
    "UNSUPPORTED_MEDIA_TYPE",
    "RATE_LIMITED",
    "EXTRACTION_QUOTA",
    "TOO_MANY_OPEN_JOBS",
    "INTERNAL",
    "SERVICE_UNAVAILABLE",
]


class ProblemKind(NamedTuple):
    """The meaning of a code. `statuses`: the default one first."""

    statuses: tuple[int, ...]
    title: str
    advice: str


PROBLEMS: Final[Mapping[ProblemCode, ProblemKind]] = {
    "VALIDATION_ERROR": ProblemKind(
        (400, 409),
        "The request is not valid",
        "Send it again when it is corrected, under another idempotency key if it had one.",
    ),
    "UNKNOWN_VERSION": ProblemKind(
        (400,),
        "There is no such version of this interface",
        "OpenErrata-Version takes the dates that the details list. Without the header the oldest one answers.",
    ),
    "INVALID_IDEMPOTENCY_KEY": ProblemKind(
        (400,),
        "The idempotency key cannot be read",
        "Idempotency-Key takes 1 to 255 visible ASCII characters, bare or as a quoted string, and only once.",
    ),
    "INPUT_TOO_LONG": ProblemKind(
        (400,), "The text is too long", "A text has at most 10,000 words and 100,000 characters. Send a part of it."
    ),
    "NO_WEBHOOK_SECRET": ProblemKind(
        (400,),
        "The account has no webhook secret",
        "Messages to webhook_url are signed. Ask the operator for a secret, or leave the address out.",
    ),
    "UNKNOWN_PROVIDER": ProblemKind(
        (400,), "There is no such provider", "GET /admin/v1/llm/config lists the providers of this instance."
    ),
    "UNAUTHENTICATED": ProblemKind(
        (401,),
        "There is no usable key",
        "Send Authorization: Bearer with an active key of an account. The operator makes accounts and keys.",
    ),
    "CREDIT_LIMIT_REACHED": ProblemKind(
        (402,),
        "The month's credit is used up",
        "Cached analyses are still available: resubmit with cache_preference allow_partial or cache_only, or "
        "wait until reset_date.",
    ),
    "FORBIDDEN": ProblemKind(
        (403,), "This account may not do this", "The key lacks the right, or the account's role the permission."
    ),
    "NOT_FOUND": ProblemKind(
        (404,),
        "There is nothing here",
        "The address or the id is wrong, or it belongs to another account.",
    ),
    "METHOD_NOT_ALLOWED": ProblemKind(
        (405,), "This address takes another method", "The header Allow lists the methods of this address."
    ),
    "REQUEST_TIMEOUT": ProblemKind((408,), "The request did not arrive in time", "Send it again."),
    "NOT_READY": ProblemKind(
        (409,),
        "The job has not ended",
        "Ask again after Retry-After seconds, wait with Prefer: wait=60, or follow the job's events.",
    ),
    "NO_RESULT": ProblemKind(
        (409,), "The job ended without a result", "It failed or was cancelled; the details say why. A new job may work."
    ),
    "EXPIRED": ProblemKind(
        (410,), "The result is no longer kept", "Results are kept for 24 hours. The claims' analyses are still cached."
    ),
    "PAYLOAD_TOO_LARGE": ProblemKind((413,), "The request is too large", "A body has at most 512 KiB."),
    "UNSUPPORTED_MEDIA_TYPE": ProblemKind(
        (415,), "The content type is not supported", "Send JSON with Content-Type: application/json."
    ),
    "RATE_LIMITED": ProblemKind(
        (429,),
        "Too many requests",
        "Try again after Retry-After seconds. RateLimit-Policy and RateLimit say how many are left.",
    ),
    "EXTRACTION_QUOTA": ProblemKind(
        (429,),
        "Too many articles without credit today",
        "Without credit 50 articles a day are looked up in the cache. The count starts anew at midnight UTC.",
    ),
    "TOO_MANY_OPEN_JOBS": ProblemKind((429,), "Too many jobs are open", "Wait until one has ended, or cancel one."),
    "INTERNAL": ProblemKind((500,), "Something broke", "This is our mistake. Try again later."),
    "SERVICE_UNAVAILABLE": ProblemKind((503,), "The service cannot answer now", "Try again after Retry-After seconds."),
}


def slug_of(code: ProblemCode) -> str:
    """The code as it is written in the address of its page."""
    return code.lower().replace("_", "-")


BY_SLUG: Final[Mapping[str, ProblemCode]] = {slug_of(code): code for code in PROBLEMS}


class _Members(Document):
    """The members of RFC 9457; `instance` has the correlation of the request."""

    type: Annotated[str, Field(pattern=r"^https?://.+/problems/[a-z-]+$")]
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    instance: Annotated[str, Field(pattern=r"^urn:uuid:[0-9a-f-]{36}$")]


class ErrorBody(Document):
    """The member `error`: code, message and details."""

    code: ProblemCode
    message: str
    details: dict[str, JsonValue]


class ProblemDocument(_Members):
    """The body of every error but 402."""

    error: ErrorBody

    @model_validator(mode="after")
    def _agrees_with_its_code(self) -> Self:
        kind = PROBLEMS[self.error.code]
        if self.status not in kind.statuses or not self.type.endswith(f"/{slug_of(self.error.code)}"):
            raise ValueError("type and status must be the code's")
        return self


class CreditLimitReached(_Members):
    """The body of a 402, which has no object `error`."""

    error: Literal["credit_limit_reached"]
    message: str
    cache_only_mode: Literal[True]
    credit_remaining: Money
    reset_date: Instant
    action: str


def describe_problem(
    code: ProblemCode,
    message: str,
    details: Mapping[str, JsonValue],
    *,
    status: int | None,
    page_origin: str,
    correlation: UUID,
) -> ProblemDocument:
    """The body of an error. `status`: None for the code's default.

    `detail` is the code's advice where the message only repeats the title: most callers never open the page of `type`.
    """
    kind = PROBLEMS[code]
    return ProblemDocument(
        type=f"{page_origin}/problems/{slug_of(code)}",
        title=kind.title,
        status=kind.statuses[0] if status is None else status,
        detail=kind.advice if message == kind.title else message,
        instance=f"urn:uuid:{correlation}",
        error=ErrorBody(code=code, message=message, details=dict(details)),
    )


def describe_credit_limit(
    remaining_micro_usd: int, reset_date: Instant, *, page_origin: str, correlation: UUID
) -> CreditLimitReached:
    """The body of a 402."""
    message = "Monthly credit limit reached. Entering cache-only mode."
    return CreditLimitReached(
        type=f"{page_origin}/problems/{slug_of('CREDIT_LIMIT_REACHED')}",
        title=PROBLEMS["CREDIT_LIMIT_REACHED"].title,
        status=402,
        detail=message,
        instance=f"urn:uuid:{correlation}",
        error="credit_limit_reached",
        message=message,
        cache_only_mode=True,
        credit_remaining=remaining_micro_usd,
        reset_date=reset_date,
        action="Resubmit with cache_preference=allow_partial for cached results",
    )
