"""Errors of the job API as exceptions, and as problem documents of RFC 9457."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from math import ceil
from typing import Final
from uuid import UUID

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from contracts.jobs.problems import (
    PROBLEMS,
    CreditLimitReached,
    ProblemCode,
    ProblemDocument,
    describe_credit_limit,
    describe_problem,
)
from services.gateway.http import HeaderList, Reply, list_errors

ISSUES_SHOWN: Final = 10
_PROBLEM: Final = (b"content-type", b"application/problem+json")
_VOLATILE: Final = (b"cache-control", b"no-store")
_FIELD: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


class Problem(Exception):
    """Ends a request with this error. Units: `retry_after_s` is rounded up to whole seconds.

    `status` replaces the code's usual one. `details` must not repeat what a client sent.
    """

    def __init__(
        self,
        code: ProblemCode,
        message: str = "",
        details: Mapping[str, JsonValue] | None = None,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        headers: HeaderList = (),
    ) -> None:
        super().__init__(code)
        self.code = code
        self.message = message or PROBLEMS[code].title
        self.details = details or {}
        self.status = status
        self.retry_after_s = retry_after_s
        self.headers = headers


class CreditLimit(Problem):
    """Ends a request that the account's credit does not cover. Units: `remaining` in micro-dollars."""

    def __init__(self, remaining: int, reset_date: datetime) -> None:
        super().__init__("CREDIT_LIMIT_REACHED")
        self.remaining = remaining
        self.reset_date = reset_date


def reply_to(problem: Problem, *, page_origin: str, correlation: UUID) -> Reply:
    """The response to a request that ended with this error."""
    document = _describe(problem, page_origin, correlation)
    headers = [_PROBLEM, _VOLATILE, *problem.headers]
    if problem.retry_after_s is not None:
        headers.append((b"retry-after", str(max(1, ceil(problem.retry_after_s))).encode()))
    return Reply(document.status, document.model_dump_json().encode(), tuple(headers))


def _describe(problem: Problem, page_origin: str, correlation: UUID) -> ProblemDocument | CreditLimitReached:
    if isinstance(problem, CreditLimit):
        return describe_credit_limit(
            problem.remaining, problem.reset_date, page_origin=page_origin, correlation=correlation
        )
    return describe_problem(
        problem.code,
        problem.message,
        problem.details,
        status=problem.status,
        page_origin=page_origin,
        correlation=correlation,
    )


def from_validation(invalid: ValidationError) -> Problem:
    """The problem of a body that is not valid, with an issue for each field.

    Only names of fields are repeated: an unknown key may be a sentence of the client's article.
    """
    found = [(_path(error), error["msg"]) for error in list_errors(invalid)[:ISSUES_SHOWN]]
    said = "; ".join(f"{path}: {message}" if path else message for path, message in found)
    issues: list[JsonValue] = [{"path": path, "message": message} for path, message in found]
    return Problem("VALIDATION_ERROR", f"The request is not valid. {said}.", {"issues": issues})


def _path(error: ErrorDetails) -> str:
    steps = [str(step) for step in error["loc"]]
    return ".".join(step if _FIELD.fullmatch(step) else "…" for step in steps)
