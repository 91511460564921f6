"""GraphQL over HTTP: accepted content types and response statuses.

Existing clients get 200 with `errors` for invalid requests; clients that accept `application/graphql-response+json` get
the statuses of the GraphQL-over-HTTP draft. GET is an extension: the same queries, cacheable by an ETag.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from time import perf_counter
from typing import Final
from urllib.parse import parse_qs

import orjson

from services.gateway.callers import Headers, header
from services.gateway.http import (
    BodyTimeouts,
    BodyTooLarge,
    ClientDisconnected,
    Receive,
    Reply,
    Scope,
    Send,
    names_tag,
    read_body,
    respond,
)
from services.gateway.metrics import Metrics
from services.gateway.public.graphql.execute import Answer, GraphQL

PATH: Final = "/graphql"
MAX_FIELDS: Final = 16
"""The most fields of a form or a query string; parsing each costs as much as a hundred bytes of JSON."""
_JSON: Final = b"application/json; charset=utf-8"
_RESPONSE: Final = b"application/graphql-response+json; charset=utf-8"
_FORM: Final = "application/x-www-form-urlencoded"
_PARAMETERS: Final = ("query", "variables", "operationName", "extensions")


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """One GraphQL request."""

    query: str
    variables: Mapping[str, object]
    operation_name: str | None


class BadRequest(Exception):
    """The HTTP request is not a valid GraphQL request."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


class GraphQLEndpoint:
    """Serves `/graphql` as an ASGI application."""

    def __init__(self, graphql: GraphQL, metrics: Metrics, *, body_timeouts: BodyTimeouts) -> None:
        self._graphql = graphql
        self._metrics = metrics
        self._body_timeouts = body_timeouts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began, status = perf_counter(), 499
        headers: Headers = dict(scope["headers"])
        strict = _prefers_response_type(header(headers, b"accept"))
        try:
            reply = await self._reply(scope, headers, receive, strict=strict)
            status = reply.status
            await respond(send, reply)
        except ClientDisconnected:
            await respond(send, _error_reply(BadRequest("The request's body is incomplete or broken."), strict=strict))
        finally:
            self._metrics.request("graphql", status, perf_counter() - began)

    async def _reply(self, scope: Scope, headers: Headers, receive: Receive, *, strict: bool) -> Reply:
        try:
            if scope["method"] == "GET":
                request = _from_parameters(scope["query_string"])
                if not self._graphql.is_query(request.query, request.operation_name):
                    raise BadRequest("Only queries can be sent with GET.", 405)
            elif scope["method"] == "POST":
                request = _from_body(header(headers, b"content-type"), await self._body(headers, receive))
            else:
                raise BadRequest("This endpoint answers GET and POST.", 405)
            answer = await self._graphql.answer(request.query, request.variables, request.operation_name)
        except BadRequest as refusal:
            return _error_reply(refusal, strict=strict)
        status = _status(answer, strict=strict)
        return _reply_with_etag(scope["method"], headers, orjson.dumps(answer.body), status, strict=strict)

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        try:
            return await read_body(receive, headers.get(b"content-length", b""), self._body_timeouts)
        except BodyTooLarge:
            raise BadRequest("The request is too large.", 413) from None
        except TimeoutError:
            raise BadRequest("The request did not arrive in time.", 408) from None


def _prefers_response_type(accept: str) -> bool:
    """Whether `Accept` names the newer type before the older one, or alone."""
    for part in accept.lower().split(","):
        kind = part.split(";")[0].strip()
        if kind == "application/graphql-response+json":
            return True
        if kind in ("application/json", "*/*", "application/*"):
            return False
    return False


def _status(answer: Answer, *, strict: bool) -> int:
    if answer.outcome == "bad variables":
        return 400
    if answer.outcome == "unavailable":
        return 503
    return 400 if strict and answer.outcome == "refused" else 200


def _error_reply(refusal: BadRequest, *, strict: bool) -> Reply:
    error: dict[str, object] = {"message": refusal.message}
    if refusal.status in (200, 400):
        error["extensions"] = {"code": "BAD_REQUEST"}
    status = 400 if strict and refusal.status == 200 else refusal.status
    headers = [(b"content-type", _RESPONSE if strict else _JSON), (b"cache-control", b"no-store")]
    if status == 405:
        headers.append((b"allow", b"GET, POST"))
    return Reply(status, orjson.dumps({"errors": [error]}), tuple(headers))


def _reply_with_etag(method: str, headers: Headers, body: bytes, status: int, *, strict: bool) -> Reply:
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    sent = (
        (b"content-type", _RESPONSE if strict else _JSON),
        (b"etag", tag.encode()),
        (b"vary", b"accept"),
        (b"cache-control", b"no-cache" if status == 200 else b"no-store"),
    )
    if method == "GET" and status == 200 and names_tag(header(headers, b"if-none-match"), tag):
        return Reply(304, b"", sent)
    return Reply(status, body, sent)


def _from_parameters(query_string: bytes) -> GraphQLRequest:
    given = _parse_form(query_string.decode("latin-1"))
    if not given.get("query"):
        raise BadRequest("GET needs the parameter `query`; otherwise use POST.", 405)
    return _build_request(given, encoded=True)


def _from_body(content_type: str, body: bytes) -> GraphQLRequest:
    kind = content_type.split(";")[0].strip().lower()
    if kind == "application/graphql":
        return _build_request({"query": _decode(body)})
    if kind == _FORM:
        return _build_request(_parse_form(_decode(body)), encoded=True)
    if kind != "application/json":
        raise BadRequest("The content type must be application/json.", 415)
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise BadRequest("The body is not JSON.") from None
    if isinstance(given, list):
        raise BadRequest("Several operations in one request are not supported.")
    if not isinstance(given, dict):
        raise BadRequest("The body must be a JSON object.")
    return _build_request(given)


def _parse_form(text: str) -> Mapping[str, str]:
    try:
        given = parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise BadRequest(f"There are more than {MAX_FIELDS} fields.") from None
    return {name: given[name][0] for name in _PARAMETERS if name in given}


def _decode(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise BadRequest("The body is not UTF-8.") from None


def _build_request(given: Mapping[str, object], *, encoded: bool = False) -> GraphQLRequest:
    query, name = given.get("query"), given.get("operationName")
    variables, extensions = given.get("variables"), given.get("extensions")
    if encoded:
        variables, extensions, name = _object(variables), _object(extensions), name or None
    if query is None or query == "":
        raise BadRequest("The query is missing.", 200)
    if not isinstance(query, str):
        raise BadRequest("`query` must be a string.")
    if variables is not None and not isinstance(variables, dict):
        raise BadRequest("`variables` must be an object.")
    if extensions is not None and not isinstance(extensions, dict):
        raise BadRequest("`extensions` must be an object.")
    if name is not None and not isinstance(name, str):
        raise BadRequest("`operationName` must be a string.")
    return GraphQLRequest(query, variables or {}, name)


def _object(text: object) -> object:
    try:
        return orjson.loads(text) if isinstance(text, str) and text else None
    except orjson.JSONDecodeError:
        raise BadRequest("`variables` and `extensions` must be JSON.") from None
