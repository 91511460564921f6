"""The job API in the OpenAPI document: what FastAPI cannot see, since bodies and headers are read by hand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import groupby
from typing import Final, NamedTuple

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from contracts.jobs.catalogue import (
    EditRequest,
    EvidenceRequest,
    FlagRequest,
    PublishRequest,
    ResolveRequest,
    RevertRequest,
)
from contracts.jobs.problems import PROBLEMS, CreditLimitReached, ProblemCode, ProblemDocument
from contracts.jobs.requests import AnalyzeRequest, ConfigureRequest
from contracts.jobs.result import Result
from contracts.jobs.rights import WithdrawalRequest
from services.gateway.jobs.request_headers import VERSIONS
from services.gateway.openapi import REF, Schema, json_content

EVERYWHERE: Final[tuple[ProblemCode, ...]] = ("UNKNOWN_VERSION", "SERVICE_UNAVAILABLE")
SECURED: Final[tuple[ProblemCode, ...]] = (*EVERYWHERE, "UNAUTHENTICATED", "FORBIDDEN", "RATE_LIMITED")
WITH_BODY: Final[tuple[ProblemCode, ...]] = (
    *SECURED,
    "VALIDATION_ERROR",
    "PAYLOAD_TOO_LARGE",
    "UNSUPPORTED_MEDIA_TYPE",
    "REQUEST_TIMEOUT",
)
OPEN: Final = tuple(code for code in WITH_BODY if code not in ("UNAUTHENTICATED", "FORBIDDEN"))
"""The problems of a route with a body and without an account."""
_BY_HAND: Final = (
    AnalyzeRequest,
    ConfigureRequest,
    WithdrawalRequest,
    PublishRequest,
    EditRequest,
    RevertRequest,
    FlagRequest,
    EvidenceRequest,
    ResolveRequest,
    ProblemDocument,
    CreditLimitReached,
)
_STRING: Final[Schema] = {"type": "string"}
_VERSION: Final = "OpenErrata-Version"
_PARAMETERS: Final[Mapping[str, Schema]] = {
    "job_id": {"in": "path", "required": True, "schema": _STRING, "description": "The job's ULID"},
    "entry_id": {"in": "path", "required": True, "schema": _STRING, "description": "The claim's id"},
    "flag_id": {"in": "path", "required": True, "schema": _STRING, "description": "The objection's id"},
    "q": {"in": "query", "schema": _STRING, "description": "Words in the claim, an excerpt or a scenario"},
    "begins": {"in": "query", "required": True, "schema": _STRING, "description": "The start of a source's domain"},
    "after": {"in": "query", "schema": _STRING, "description": "`next` of the previous page"},
    _VERSION: {
        "in": "header",
        "schema": {"type": "string", "enum": list(VERSIONS)},
        "description": "The dated version of the API; by default the oldest",
    },
    "Idempotency-Key": {
        "in": "header",
        "schema": {"type": "string", "maxLength": 257},
        "description": "Names a retry for 24 hours: 1 to 255 visible ASCII characters, bare or as a quoted string",
    },
    "Prefer": {
        "in": "header",
        "schema": _STRING,
        "description": "`wait=N`: wait up to N seconds, at most 60, for the end of the job",
    },
    "Last-Event-ID": {
        "in": "header",
        "schema": _STRING,
        "description": "The id of the last event that the client has",
    },
}
_LIMITS: Final = {
    name: {"schema": {"type": "string"}, "description": description}
    for name, description in (
        ("RateLimit-Policy", "The quota (q) of requests per window (w, seconds), as a structured field"),
        ("RateLimit", "The requests left (r), and the seconds until the whole quota is available again (t)"),
    )
}


class Answer(NamedTuple):
    """One status of a route and the document that comes with it; None: without a body."""

    status: int
    model: object


def describe(
    *answers: Answer,
    problems: Collection[ProblemCode],
    body: type[BaseModel] | None = None,
    takes: Iterable[str] = (),
    secured: bool = True,
    conflict: bool = False,
) -> Schema:
    """The arguments of a route that describe it: its answers, its errors, its body, its parameters.

    `conflict`: the route also answers 409, for an idempotency key that was used for another request.
    """
    limits: Schema = {"headers": _LIMITS} if "RATE_LIMITED" in problems else {}
    responses = {
        each.status: {"description": "The answer", **limits, **({} if each.model is None else {"model": each.model})}
        for each in answers
    }
    extra: Schema = {
        "parameters": [{"name": name, **_PARAMETERS[name]} for name in (*takes, _VERSION)],
        "security": [{"account": []}] if secured else [],
    }
    if body is not None:
        extra["requestBody"] = {"required": True, "content": json_content(_ref(body))}
    errors = dict(_errors(problems))
    if conflict:
        errors[409] = _error(409, "`VALIDATION_ERROR`: the idempotency key was used for another request")
    return {"status_code": answers[0].status, "responses": {**responses, **errors}, "openapi_extra": extra}


def describe_result(problems: Collection[ProblemCode]) -> Schema:
    """The route of a result."""
    return describe(Answer(200, Result), problems=problems, takes=("job_id", "Prefer"))


def describe_report(problems: Collection[ProblemCode]) -> Schema:
    """The route of a report."""
    return _as_text(describe(Answer(200, None), problems=problems, takes=("job_id", "Prefer")), "text/markdown")


def describe_stream(problems: Collection[ProblemCode]) -> Schema:
    """The route of a job's events; 204 means that none follows Last-Event-ID."""
    described = describe(Answer(200, None), Answer(204, None), problems=problems, takes=("job_id", "Last-Event-ID"))
    return _as_text(described, "text/event-stream")


def _as_text(described: Schema, media_type: str) -> Schema:
    described["responses"][200]["content"] = {media_type: {"schema": _STRING}}
    return described | {"response_class": Response}  # FastAPI would list the type of any other class beside it


def _errors(codes: Iterable[ProblemCode]) -> Mapping[int, Schema]:
    by_status = sorted((PROBLEMS[code].statuses[0], code) for code in codes)
    return {
        status: _error(status, "; ".join(f"`{code}`: {PROBLEMS[code].title}" for _, code in found))
        for status, found in groupby(by_status, key=lambda each: each[0])
    }


def _error(status: int, description: str) -> Schema:
    document = CreditLimitReached if status == 402 else ProblemDocument
    return {"description": description, "content": {"application/problem+json": {"schema": _ref(document)}}}


def _ref(model: type[BaseModel]) -> Schema:
    return {"$ref": REF.format(model=model.__name__)}


CHANGED_MEANWHILE: Final = _error(409, "`VALIDATION_ERROR`: another version, or already decided")
"""The answer to the second of two concurrent changes."""


def merge(schema: Schema, jobs: Schema) -> Schema:
    """Add the paths of the job API to the gateway's document, in place."""
    components = schema.setdefault("components", {})
    _, definitions = models_json_schema([(model, "validation") for model in _BY_HAND], ref_template=REF)
    schemas = {**jobs.get("components", {}).get("schemas", {}), **definitions.get("$defs", {})}
    components.setdefault("schemas", {}).update(schemas)
    components.setdefault("securitySchemes", {})["account"] = {
        "type": "http",
        "scheme": "bearer",
        "description": "The key of an account, issued by the operator",
    }
    schema.setdefault("paths", {}).update(jobs["paths"])
    return schema
