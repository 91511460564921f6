"""`POST /v1/appeals`: opens an appeal against a result, a reader's until its author is proven (see `proofs`).

What limits appeals is read from the tables; of two concurrent appeals against a result the stream accepts one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Annotated, Final
from urllib.parse import parse_qs
from uuid import UUID

import orjson
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from contracts.v1 import AppealOpened
from contracts.v1.appeal import MOST_CLAIMS, MOST_LINKS, AppealKind, AppealLink, AppealText, make_proof_token
from contracts.v1.finding import Note
from kit.clock import Clock
from services.gateway.domain import derive_ip_range_key
from services.gateway.http import PREFLIGHT, Receive, Reply, Scope, Send
from services.gateway.ports import Facts, Unavailable
from services.gateway.public.posted import (
    PostedRequests,
    Refusal,
    answer,
    go_to,
    parse,
    refuse_for,
    send_answer,
    spell_address,
)
from services.gateway.public.proofs import check_by_author
from services.gateway.rate_limit import TokenBuckets
from services.gateway.record.repository import PublicRecord

PATH: Final = "/v1/appeals"
A_DAY: Final = 3
"""The most appeals from one network in 24 hours."""
DAY: Final = timedelta(days=1)


def _check_words(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise ValueError("must contain words, and no NUL")
    return text


class AppealRequest(BaseModel):
    """An appeal as a reader, or the author, sends it. Unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    investigation_id: UUID
    kind: AppealKind
    claim_ids: tuple[UUID, ...] = Field(default=(), max_length=MOST_CLAIMS, fail_fast=True)
    text: Annotated[AppealText, AfterValidator(_check_words)]
    links: tuple[Annotated[AppealLink, BeforeValidator(spell_address)], ...] = Field(
        default=(), max_length=MOST_LINKS, fail_fast=True
    )
    by_author: bool = False
    statement: Annotated[Note, AfterValidator(_check_words)] | None = None

    @model_validator(mode="after")
    def _names_findings(self) -> AppealRequest:
        if self.kind != "FALSE_NEGATIVE" and not self.claim_ids:
            raise ValueError("claim_ids must name the findings that the appeal is about")
        if self.statement is not None and not (self.by_author and self.claim_ids):
            raise ValueError("statement: only the author may make one, about the findings in claim_ids")
        return self


class AppealsEndpoint:
    """Serves `/v1/appeals` as an ASGI application."""

    def __init__(
        self,
        record: PublicRecord,
        facts: Facts,
        clock: Clock,
        posted: PostedRequests,
    ) -> None:
        self._record = record
        self._facts = facts
        self._clock = clock
        self._posted = posted
        self._taken = TokenBuckets(clock, burst=A_DAY, every_s=DAY.total_seconds() / A_DAY)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await send_answer(scope, send, self._reply(scope, receive))

    async def _reply(self, scope: Scope, receive: Receive) -> Reply:
        if scope["method"] == "OPTIONS":
            return Reply(204, headers=PREFLIGHT)
        body, network, is_form = await self._posted.read(scope, receive)
        return await self._open(parse(AppealRequest, read_form(body) if is_form else body), network, is_form=is_form)

    async def _open(self, wanted: AppealRequest, network: str, *, is_form: bool) -> Reply:
        range_key = derive_ip_range_key(network)
        async with self._record.open() as session:
            target = await session.appeals.target(
                wanted.investigation_id, wanted.claim_ids, range_key, self._clock.now() - DAY
            )
        if target is None:
            raise Refusal(404, "There is no finished investigation with this id.")
        if not target.claims.issuperset(wanted.claim_ids):
            raise Refusal(400, "claim_ids: some are not findings of this investigation that stand.")
        if wanted.by_author:
            check_by_author(target, has_statement=wanted.statement is not None)
        if target.is_open:
            raise Refusal(409, "An appeal against this investigation is open already.")
        if target.is_dismissed and not wanted.by_author and target.links.issuperset(wanted.links):
            raise Refusal(400, "links: this objection was dismissed before; name a page that no appeal has named yet.")
        self._admit(target.recent, network)
        event = AppealOpened(
            follows=target.newest,
            appeal_id=self._clock.new_id(),
            investigation_id=wanted.investigation_id,
            kind=wanted.kind,
            claim_ids=tuple(dict.fromkeys(wanted.claim_ids)),
            text=wanted.text,
            links=wanted.links,
            range_key=range_key,
            by_author=wanted.by_author,
            statement=wanted.statement,
        )
        try:
            published = await self._facts.publish_once(event, target.correlation)
        except Unavailable:  # the tables count it if it is stored all the same
            self._taken.give_back(network)
            raise
        stored = published.event
        if not isinstance(stored, AppealOpened) or stored.appeal_id != event.appeal_id:
            self._taken.give_back(network)
            raise Refusal(409, "An appeal against this investigation is open already.")
        page = f"/appeals/{event.appeal_id}"
        if is_form:  # a browser follows at once, and the page is read from the tables
            with suppress(Unavailable):
                await self._facts.wait_for_projection(published.sequence)
            return go_to(page)
        token = {"token": make_proof_token(event.appeal_id)} if event.by_author else {}
        return answer(201, {"appeal_id": str(event.appeal_id), "page": page, **token}, (b"location", page.encode()))

    def _admit(self, recent: Sequence[datetime], network: str) -> None:
        """Count an appeal of a network. Raises: Refusal: the network's limit is reached."""
        if len(recent) >= A_DAY:
            wait_s = (recent[A_DAY - 1] + DAY - self._clock.now()).total_seconds()
        elif not self._taken.take(network):
            wait_s = self._taken.allowance(network).next_in_s
        else:
            return
        raise refuse_for(wait_s, f"At most {A_DAY} appeals a day are accepted from one network.")


def read_form(body: bytes) -> bytes:
    """Convert a form to a request in JSON; links are lines of one field. Raises: Refusal: the body is not a form."""
    try:
        fields = parse_qs(body.decode(), strict_parsing=True, max_num_fields=MOST_CLAIMS + 10)
    except ValueError:
        raise Refusal(400, "body: not a form") from None
    whole: dict[str, list[str] | str] = {
        name: values if name == "claim_ids" else values[-1].replace("\r\n", "\n") for name, values in fields.items()
    }
    if isinstance(links := whole.get("links"), str):
        whole["links"] = links.split()
    return orjson.dumps(whole)
