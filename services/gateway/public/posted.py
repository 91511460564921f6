"""Requests of readers without an account: a JSON document, or a form on a page of this server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from math import ceil
from typing import Final, TypeVar

import orjson
import structlog
from ada_url import URL
from pydantic import BaseModel, ValidationError

from kit.addresses import ip_range_prefix
from kit.clock import Clock
from kit.web import WebError, parse_url
from services.gateway.http import (
    BodyTimeouts,
    BodyTooLarge,
    ClientDisconnected,
    Receive,
    Reply,
    Scope,
    Send,
    list_errors,
    read_body,
    respond,
)
from services.gateway.ports import Unavailable
from services.gateway.rate_limit import TokenBuckets
from services.gateway.record.question import BadQuestion

JSON: Final = b"application/json"
FORM: Final = b"application/x-www-form-urlencoded"
ATTEMPTS: Final = 20
"""The most requests of one network at once, successful or not; then one a minute."""
_SENTENCE: Final = ((b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store"))
Model = TypeVar("Model", bound=BaseModel)

log = structlog.get_logger(__name__)


class Refusal(Exception):
    """Ends a request with this response."""

    def __init__(self, status: int, message: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


def refuse_for(seconds: float, message: str) -> Refusal:
    """The response to one request too many, which may be sent again after so many seconds."""
    return Refusal(429, message, (b"retry-after", str(max(1, ceil(seconds))).encode()))


class PostedRequests:
    """Reads requests within the limits of their networks. `address` returns a request's client address."""

    def __init__(self, clock: Clock, address: Callable[[Scope], str], body_timeouts: BodyTimeouts) -> None:
        self._address = address
        self._body_timeouts = body_timeouts
        self._attempts = TokenBuckets(clock, burst=ATTEMPTS, every_s=60.0)

    async def read(self, scope: Scope, receive: Receive) -> tuple[bytes, str, bool]:
        """Read a request: its body, its network, and whether it is a form. The body is read in any case.

        Raises: Refusal.
        """
        network = ip_range_prefix(self._address(scope))
        is_posted = scope["method"] == "POST"
        is_admitted = not is_posted or self._attempts.take(network)
        headers = dict(scope["headers"])
        body = await self._read(headers, receive)
        if not is_posted:
            raise Refusal(405, "only POST", (b"allow", b"POST"))
        if not is_admitted:
            raise refuse_for(self._attempts.allowance(network).next_in_s, "Too many requests; please try again later.")
        kind = _media_type(headers)
        if kind not in (JSON, FORM):
            raise Refusal(415, f"The body must be {JSON.decode()} or {FORM.decode()}.")
        if kind == FORM and headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none"):
            raise Refusal(403, "The form must be on a page of this server.")
        return body, network, kind == FORM

    async def _read(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        try:
            return await read_body(receive, headers.get(b"content-length", b""), self._body_timeouts)
        except BodyTooLarge:
            raise Refusal(413, "The request is too large.") from None
        except (TimeoutError, ClientDisconnected):
            raise Refusal(400, "The request is incomplete.") from None


async def send_answer(scope: Scope, send: Send, answering: Awaitable[Reply]) -> None:
    """Send the response once it is ready, or the error that prevents it: a form gets a sentence instead of JSON."""
    try:
        reply = await answering
    except (Refusal, Unavailable, BadQuestion) as error:
        if isinstance(error, Refusal):
            refusal = error
        else:
            log.warning("unavailable", reason=str(error))
            refusal = Refusal(503, "The service cannot answer now; please try again.")
        if _media_type(dict(scope["headers"])) == FORM:
            reply = Reply(refusal.status, f"{refusal.message}\n".encode(), (*_SENTENCE, *refusal.headers))
        else:
            reply = answer(refusal.status, {"message": refusal.message}, *refusal.headers)
    await respond(send, reply)


def _media_type(headers: Mapping[bytes, bytes]) -> bytes:
    return headers.get(b"content-type", b"").split(b";")[0].strip().lower()


def spell_address(given: object) -> object:
    """The address of a page as browsers send it: people copy it as it is shown, with letters of any alphabet.

    Raises: ValueError: a text that is no such address.
    """
    if not isinstance(given, str):
        return given
    try:
        parse_url(given)
    except WebError:
        raise ValueError("must be the whole address of a page, such as https://example.org/page") from None
    return URL(given).href


def parse(model: type[Model], body: bytes) -> Model:
    """Parse a request from JSON. Raises: Refusal: the body is not valid."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        first = list_errors(error)[0]
        place = ".".join(map(str, first["loc"])) or "body"
        raise Refusal(400, f"{place}: {first['msg'].removeprefix('Value error, ')}") from None


def answer(status: int, body: Mapping[str, str], *headers: tuple[bytes, bytes]) -> Reply:
    """A JSON response that no cache stores."""
    common = ((b"content-type", b"application/json"), (b"cache-control", b"no-store"))
    return Reply(status, orjson.dumps(body), (*common, *headers))


def go_to(page: str) -> Reply:
    """Redirect a browser from its form to a page."""
    return Reply(303, headers=((b"location", page.encode()), (b"cache-control", b"no-store")))
