"""`POST /v1/appeals`: a reader objects to a result. Nobody proves to be an author: every appeal is a reader's.

What limits appeals is read from the tables; of two that come at once the stream takes one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Annotated, Final
from urllib.parse import parse_qs
from uuid import UUID

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from contracts.v1 import AppealOpened
from contracts.v1.appeal import MOST_CLAIMS, MOST_LINKS, AppealKind, AppealLink, AppealText
from kit.addresses import ip_range_prefix
from kit.clock import Clock
from kit.web import WebError, parse_url
from services.gateway.domain import derive_ip_range_key
from services.gateway.http import (
    PREFLIGHT,
    BodyTimeouts,
    BodyTooLarge,
    ClientDisconnected,
    Receive,
    Reply,
    Scope,
    Send,
    read_body,
    respond,
)
from services.gateway.ports import Facts, Unavailable
from services.gateway.rate_limit import TokenBuckets
from services.gateway.record.question import BadQuestion
from services.gateway.record.repository import PublicRecord

PATH: Final = "/v1/appeals"
JSON: Final = b"application/json"
FORM: Final = b"application/x-www-form-urlencoded"
A_DAY: Final = 3
"""Appeals of one network in 24 hours."""
DAY: Final = timedelta(days=1)
ATTEMPTS: Final = 20
"""Requests of one network at once, whatever comes of them; then one a minute."""


def _check_words(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise ValueError("must hold words, and no NUL")
    return text


def _check_link(link: str) -> str:
    try:
        parse_url(link)
    except WebError:
        raise ValueError("must be the address of a public page") from None
    return link


class AppealRequest(BaseModel):
    """What a reader sends. Fields that are unknown are refused: there is no proof of authorship yet."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    investigation_id: UUID
    kind: AppealKind
    claim_ids: tuple[UUID, ...] = Field(default=(), max_length=MOST_CLAIMS)
    text: Annotated[AppealText, AfterValidator(_check_words)]
    links: tuple[Annotated[AppealLink, AfterValidator(_check_link)], ...] = Field(default=(), max_length=MOST_LINKS)

    @model_validator(mode="after")
    def _names_findings(self) -> AppealRequest:
        if self.kind != "FALSE_NEGATIVE" and not self.claim_ids:
            raise ValueError("claim_ids must name the findings that are meant")
        return self


class _Refusal(Exception):
    """The answer to an appeal that is not taken."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.reply = _answer(status, {"message": message})


class AppealsEndpoint:
    """Takes appeals. `address` says where a request comes from."""

    def __init__(
        self,
        record: PublicRecord,
        facts: Facts,
        clock: Clock,
        address: Callable[[Scope], str],
        *,
        body_timeouts: BodyTimeouts,
    ) -> None:
        self._record = record
        self._facts = facts
        self._clock = clock
        self._address = address
        self._body_timeouts = body_timeouts
        self._taken = TokenBuckets(clock, burst=A_DAY, every_s=DAY.total_seconds() / A_DAY)
        self._attempts = TokenBuckets(clock, burst=ATTEMPTS, every_s=60.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            reply = await self._reply(scope, receive)
        except _Refusal as refusal:
            reply = refusal.reply
        except (Unavailable, BadQuestion):
            reply = _answer(503, {"message": "The service cannot answer now; please try again."})
        await respond(send, reply)

    async def _reply(self, scope: Scope, receive: Receive) -> Reply:
        if scope["method"] == "OPTIONS":
            return Reply(204, headers=PREFLIGHT)
        if scope["method"] != "POST":
            raise _Refusal(405, "only POST")
        network = ip_range_prefix(self._address(scope))
        if not self._attempts.take(network):
            raise _Refusal(429, "Too many requests; please try again later.")
        headers = dict(scope["headers"])
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if kind not in (JSON, FORM):
            raise _Refusal(415, f"The body must be {JSON.decode()} or {FORM.decode()}.")
        if kind == FORM and headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none"):
            raise _Refusal(403, "The form must be on a page of this server.")
        body = await self._read(headers, receive)
        return await self._open(parse(body if kind == JSON else read_form(body)), network, is_form=kind == FORM)

    async def _read(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        try:
            return await read_body(receive, headers.get(b"content-length", b""), self._body_timeouts)
        except BodyTooLarge:
            raise _Refusal(413, "The request is too large.") from None
        except (TimeoutError, ClientDisconnected):
            raise _Refusal(400, "The request is incomplete.") from None

    async def _open(self, wanted: AppealRequest, network: str, *, is_form: bool) -> Reply:
        range_key = derive_ip_range_key(network)
        async with self._record.open() as session:
            target = await session.appeals.target(wanted.investigation_id, range_key, self._clock.now() - DAY)
        if target is None:
            raise _Refusal(404, "There is no finished investigation with this id.")
        if not target.claims.issuperset(wanted.claim_ids):
            raise _Refusal(400, "claim_ids: not all of them are findings of this investigation that stand.")
        if target.is_open:
            raise _Refusal(409, "An appeal against this investigation is open already.")
        if target.recent >= A_DAY or not self._taken.take(network):
            raise _Refusal(429, f"At most {A_DAY} appeals a day are taken from one network.")
        event = AppealOpened(
            follows=target.newest,
            appeal_id=self._clock.new_id(),
            investigation_id=wanted.investigation_id,
            kind=wanted.kind,
            claim_ids=tuple(dict.fromkeys(wanted.claim_ids)),
            text=wanted.text,
            links=wanted.links,
            range_key=range_key,
        )
        published = await self._facts.publish_once(event, target.correlation)
        stored = published.event
        if not isinstance(stored, AppealOpened) or stored.appeal_id != event.appeal_id:
            raise _Refusal(409, "An appeal against this investigation is open already.")
        page = f"/appeals/{event.appeal_id}"
        if is_form:  # a browser follows at once, and the page is read from the tables
            with suppress(Unavailable):
                await self._facts.wait_for_projection(published.sequence)
            return Reply(303, headers=((b"location", page.encode()), (b"cache-control", b"no-store")))
        return _answer(201, {"appeal_id": str(event.appeal_id), "page": page}, (b"location", page.encode()))


def read_form(body: bytes) -> bytes:
    """The request that a form sends: links are lines of one field. Raises: _Refusal: it is none."""
    try:
        fields = parse_qs(body.decode(), strict_parsing=True, max_num_fields=MOST_CLAIMS + 10)
    except ValueError:
        raise _Refusal(400, "body: it is not a form") from None
    whole: dict[str, list[str] | str] = {
        name: values if name == "claim_ids" else values[-1].replace("\r\n", "\n") for name, values in fields.items()
    }
    if isinstance(links := whole.get("links"), str):
        whole["links"] = links.split()
    return orjson.dumps(whole)


def parse(body: bytes) -> AppealRequest:
    """Read a request. Raises: _Refusal: it is none."""
    try:
        return AppealRequest.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "body"
        raise _Refusal(400, f"{place}: {first['msg']}") from None


def _answer(status: int, body: dict[str, str], *headers: tuple[bytes, bytes]) -> Reply:
    common = ((b"content-type", b"application/json"), (b"cache-control", b"no-store"))
    return Reply(status, orjson.dumps(body), (*common, *headers))
