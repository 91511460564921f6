"""The extension's transport: tRPC's envelopes, routed without a framework because this is the hot path.

The order of the checks is part of the protocol: size, content type, procedure, method, version, input. An outdated
extension must get that error even if its input is invalid. The body is always read first: a client that is still
sending would see a reset connection instead of the reply.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Final
from uuid import UUID

import orjson
import structlog
from ada_url import URLSearchParams
from pydantic import ValidationError

from contracts.rpc.errors import ErrorName, RpcError
from contracts.rpc.values import read
from kit.clock import Clock
from platforms import PLATFORMS
from services.gateway.callers import Callers, Headers, header
from services.gateway.cors import Cors
from services.gateway.domain import MINIMUM_EXTENSION_VERSION, check_version, supports_optional_fields
from services.gateway.http import (
    BodyTimeouts,
    BodyTooLarge,
    ClientDisconnected,
    HeaderList,
    Receive,
    Reply,
    Scope,
    Send,
    list_errors,
    read_body,
    respond,
)
from services.gateway.metrics import Metrics
from services.gateway.ports import Call, Refused, Unavailable
from services.gateway.procedure import Procedure

PREFIX: Final = "/trpc/"
ISSUES_SHOWN: Final = 10
CLIENT_DISCONNECTED: Final = 499
_PLATFORMS: Final = tuple(site.name for site in PLATFORMS)
_OWN: Final = ("none", "same-origin")
"""The `Sec-Fetch-Site` that Chrome and Firefox send for an extension with permission for this host."""
_JSON: Final = ((b"content-type", b"application/json"), (b"vary", b"trpc-accept"))
_VOLATILE: Final = (*_JSON, (b"cache-control", b"no-store"))
_DURABLE: Final = (*_JSON, (b"cache-control", b"private, max-age=60"))

log: structlog.stdlib.BoundLogger = structlog.get_logger("gateway")


class RpcFailure(Exception):
    """Ends the request with this error."""

    def __init__(self, error: RpcError) -> None:
        super().__init__(error.message)
        self.error = error


class Rpc:
    """Serves `/trpc/<procedure>` as an ASGI application."""

    def __init__(
        self,
        table: Mapping[str, Procedure],
        callers: Callers,
        clock: Clock,
        metrics: Metrics,
        cors: Cors,
        *,
        body_timeouts: BodyTimeouts,
    ) -> None:
        self._table = table
        self._callers = callers
        self._clock = clock
        self._metrics = metrics
        self._cors = cors
        self._body_timeouts = body_timeouts

    def cors(self, scope: Scope) -> HeaderList:
        """The CORS headers for this request, or for the one that a preflight announces."""
        procedure = self._table.get(scope["path"].removeprefix(PREFIX)) if scope["path"].startswith(PREFIX) else None
        origin = next((value for name, value in scope["headers"] if name == b"origin"), b"")
        return self._cors.headers(origin, changes=procedure is not None and procedure.kind == "mutation")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] == "HEAD":
            await respond(send, Reply(204), self.cors(scope))
            return
        path = _printable(scope["path"].removeprefix(PREFIX))
        procedure = self._table.get(path)
        correlation = self._clock.new_id()
        status, began = CLIENT_DISCONNECTED, perf_counter()
        try:
            reply = await self._answer(procedure, path, scope, receive, correlation)
            status = reply.status
            await respond(send, reply, self.cors(scope))
        except ClientDisconnected:
            log.debug("body incomplete", procedure=path)
            error = RpcError("BAD_REQUEST", "The request's body is incomplete or broken", path)
            await respond(send, Reply(error.http, orjson.dumps(error.body()), _VOLATILE), self.cors(scope))
        finally:
            self._metrics.request("unknown" if procedure is None else path, status, perf_counter() - began)

    async def _answer(
        self, procedure: Procedure | None, path: str, scope: Scope, receive: Receive, correlation: UUID
    ) -> Reply:
        trace = (b"x-correlation-id", str(correlation).encode())
        try:
            body, headers = await self._call(procedure, path, scope, receive, correlation)
            return Reply(200, body, (*headers, trace))
        except RpcFailure as failure:
            error = failure.error
        except Refused as refusal:
            extra = () if refusal.code is None else (("openerrataCode", refusal.code),)
            error = RpcError(refusal.name, refusal.message, path, extra)
        except Unavailable as outage:
            log.warning("unavailable", procedure=path, correlation=str(correlation), reason=str(outage))
            error = RpcError("SERVICE_UNAVAILABLE", "The service cannot answer now; please try again.", path)
        except ClientDisconnected:
            raise
        except Exception:
            log.exception("internal error", procedure=path, correlation=str(correlation))
            error = RpcError("INTERNAL_SERVER_ERROR", "Internal error", path)
        return Reply(error.http, orjson.dumps(error.body()), (*_VOLATILE, trace))

    async def _call(
        self, procedure: Procedure | None, path: str, scope: Scope, receive: Receive, correlation: UUID
    ) -> tuple[bytes, tuple[tuple[bytes, bytes], ...]]:
        method: str = scope["method"]
        headers: Headers = dict(scope["headers"])
        sent = await self._input(method, scope, headers, receive, path)
        is_plain = procedure is not None and procedure.plain and _is_plain(headers)
        if method == "POST" and not is_plain and not _content_type(headers).startswith("application/json"):
            raise RpcFailure(RpcError("UNSUPPORTED_MEDIA_TYPE", "The content type must be application/json"))
        if procedure is None:
            raise RpcFailure(RpcError("NOT_FOUND", f'No procedure found on path "{path}"', path))
        if method not in procedure.methods:
            message = f"{method} is not supported by this {procedure.kind}"
            raise RpcFailure(RpcError("METHOD_NOT_SUPPORTED", message, path))
        version = header(headers, b"x-openerrata-extension-version")
        if procedure.versioned:
            _check_version(version, path)
        question = None
        if procedure.question is not None:
            try:
                question = read(procedure.question, sent, _PLATFORMS)
            except ValidationError as invalid:
                raise RpcFailure(RpcError("BAD_REQUEST", _issues(invalid), path)) from invalid
        attested = self._callers.attests(headers, sent) if procedure.kind == "mutation" else None
        self._metrics.attested(attested)
        caller = await self._callers.identify(scope, headers)
        answer = await procedure.handle(
            question, Call(caller, correlation, attested, supports_optional_fields(version), sent)
        )
        durable = procedure.durable is not None and isinstance(answer, (bytes, procedure.durable))
        written = answer if isinstance(answer, bytes) else procedure.answer.dump_json(answer, by_alias=True)
        return b'{"result":{"data":' + written + b"}}", _DURABLE if durable else _VOLATILE

    async def _input(self, method: str, scope: Scope, headers: Headers, receive: Receive, path: str) -> bytes:
        if method == "GET":
            return _query_input(scope["query_string"], path)
        try:
            return await read_body(receive, headers.get(b"content-length", b""), self._body_timeouts)
        except BodyTooLarge:
            extra = (("openerrataCode", "PAYLOAD_TOO_LARGE"),)
            raise RpcFailure(RpcError("PAYLOAD_TOO_LARGE", "The request is too large", path, extra)) from None
        except TimeoutError:
            raise RpcFailure(RpcError("TIMEOUT", "The request did not arrive in time", path)) from None


def _content_type(headers: Headers) -> str:
    return header(headers, b"content-type").lower()


def _is_plain(headers: Headers) -> bool:
    """Whether the body is plain text from a browser which says that no page of another site sent it."""
    return _content_type(headers).startswith("text/plain") and header(headers, b"sec-fetch-site") in _OWN


def _check_version(received: str, path: str) -> None:
    verdict = check_version(received)
    if verdict == "ok":
        return
    name: ErrorName = "BAD_REQUEST"
    message = "The extension's version cannot be read"
    extra: tuple[tuple[str, str | None], ...] = (("openerrataCode", "MALFORMED_EXTENSION_VERSION"),)
    if verdict == "outdated":
        name = "PRECONDITION_FAILED"
        message = f"Version {MINIMUM_EXTENSION_VERSION} or later of the extension is required"
        extra = (
            ("openerrataCode", "UPGRADE_REQUIRED"),
            ("minimumSupportedExtensionVersion", MINIMUM_EXTENSION_VERSION),
            ("receivedExtensionVersion", received or None),
        )
    raise RpcFailure(RpcError(name, message, path, extra))


def _query_input(query_string: bytes, path: str) -> bytes:
    """The input of a query. The standard library takes longer to read a hundred posts than all the rest together."""
    values = URLSearchParams(query_string.decode("latin-1"))
    try:
        return values.get("input").encode() if values.has("input") else b"null"
    except UnicodeDecodeError:
        raise RpcFailure(RpcError("BAD_REQUEST", "The input is not UTF-8", path)) from None


def _issues(invalid: ValidationError) -> str:
    issues = [
        {"path": [_printable(str(step))[:100] for step in error["loc"]], "message": error["msg"][:200]}
        for error in list_errors(invalid)[:ISSUES_SHOWN]
    ]
    return orjson.dumps(issues, option=orjson.OPT_INDENT_2).decode()


def _printable(text: str) -> str:
    """Replace lone surrogates, which JSON cannot hold."""
    return text.encode("utf-8", "replace").decode()
