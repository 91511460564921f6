"""One request to the job API: its version, its account, its limit, its body, and how its answer or error is written.

A body is read before anything is checked: a client that is still sending would see a reset connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar
from uuid import UUID

import structlog
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from contracts.accounts import Verb
from contracts.jobs.values import Document
from contracts.rpc.values import read
from services.gateway.cors import JOB_HEADERS
from services.gateway.domain import Principal
from services.gateway.http import (
    NO_SNIFFING,
    BodyTimeouts,
    BodyTooLarge,
    ClientDisconnected,
    HeaderList,
    page_origin,
    read_body,
)
from services.gateway.jobs.access import authenticate
from services.gateway.jobs.problems import Problem, from_validation, reply_to
from services.gateway.jobs.rate_policies import RateLimit
from services.gateway.jobs.request_headers import HEADER, VERSIONS, choose_version
from services.gateway.keys import InstanceKeys
from services.gateway.ports import Unavailable

RETRY_S: Final = 3.0
"""`Retry-After` while a server behind the gateway does not answer."""
_NO_STORE: Final = {"cache-control": "no-store"}

T = TypeVar("T")

log: structlog.stdlib.BoundLogger = structlog.get_logger("jobs")


@dataclass(slots=True)
class Exchange:
    """What the headers of a request's answer say, whether it succeeds or fails."""

    correlation: UUID
    version: str = VERSIONS[0]
    limits: HeaderList = ()

    def headers(self) -> HeaderList:
        """The headers of the answer."""
        trace = (b"x-correlation-id", str(self.correlation).encode())
        return (HEADER, self.version.encode()), trace, *self.limits, NO_SNIFFING, *JOB_HEADERS


def choose_exchange_version(request: Request) -> Exchange:
    """Choose the version that the request asks for. Raises: Problem."""
    exchange: Exchange = request.state.exchange
    exchange.version = choose_version(request.headers.get(HEADER.decode(), "").strip())
    return exchange


class Reception:
    """Authenticates requests, limits their rate, reads their bodies and answers their errors."""

    def __init__(self, keys: InstanceKeys, body_timeouts: BodyTimeouts, public_url: str) -> None:
        self._keys = keys
        self._body_timeouts = body_timeouts
        self._public_url = public_url

    async def admit(self, request: Request, limit: RateLimit, verb: Verb = "read") -> Principal:
        """Choose the version, authenticate, and count the request under `limit`. Raises: Problem, Unavailable."""
        exchange = choose_exchange_version(request)
        principal = await authenticate(self._keys, request.headers.get("authorization", "").strip(), "audit", verb)
        exchange.limits = limit.take(str(principal.account.account_id))
        return principal

    async def read(self, request: Request) -> bytes:
        """The body. Raises: BodyTooLarge, TimeoutError, ClientDisconnected."""
        length = request.headers.get("content-length", "").encode("latin-1")
        return await read_body(request.receive, length, self._body_timeouts)

    async def fail(self, request: Request, error: Exception) -> Response:
        """The response to a request that ended with this error: a problem document."""
        exchange: Exchange = request.state.exchange
        if isinstance(error, Unavailable):
            log.warning("unavailable", correlation=str(exchange.correlation), reason=str(error))
        origin = page_origin(self._public_url, request.headers.get("host", ""))
        reply = reply_to(_problem_of(error, request), page_origin=origin, correlation=exchange.correlation)
        return Response(reply.body, reply.status, {name.decode(): value.decode() for name, value in reply.headers})


def require_json(request: Request) -> None:
    """Raises: Problem: the content type is not application/json."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem("UNSUPPORTED_MEDIA_TYPE")


def parse(shape: TypeAdapter[T], body: bytes) -> T:
    """Parse and validate a body. Raises: Problem."""
    try:
        return read(shape, body)
    except ValidationError as invalid:
        raise from_validation(invalid) from None


def answer(document: Document, headers: Mapping[str, str] = MappingProxyType({}), status: int = 200) -> Response:
    """A response with this document as JSON."""
    return write(document.model_dump_json(), "application/json", headers, status)


def write(body: str, media_type: str, headers: Mapping[str, str], status: int = 200) -> Response:
    """A response with this text; `no-store` unless `headers` have another Cache-Control."""
    return Response(body, status, {**_NO_STORE, **headers}, media_type)


def _problem_of(error: Exception, request: Request) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, Unavailable):
        return Problem("SERVICE_UNAVAILABLE", retry_after_s=RETRY_S)
    if isinstance(error, BodyTooLarge):
        return Problem("PAYLOAD_TOO_LARGE")
    if isinstance(error, TimeoutError):
        return Problem("REQUEST_TIMEOUT")
    if isinstance(error, ClientDisconnected):
        return Problem("VALIDATION_ERROR", "The body of the request is incomplete or broken.")
    if isinstance(error, HTTPException) and error.status_code == 405:
        return Problem("METHOD_NOT_ALLOWED", headers=((b"allow", ", ".join(_list_methods(request)).encode()),))
    if isinstance(error, HTTPException):
        return Problem("NOT_FOUND")
    return Problem("INTERNAL")


def _list_methods(request: Request) -> list[str]:
    """The methods of all routes that match the request's path."""
    routes = [each for each in request.app.routes if each.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for each in routes for method in each.methods})
