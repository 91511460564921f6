"""`POST /v1/appeals/<id>/proof`: names the page on which the author has published the token of their appeal.

Nothing is fetched here: the verifier asks the site. A page that cannot be the author's is refused at once.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Annotated, Final
from urllib.parse import parse_qsl
from uuid import UUID

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict

from contracts.v1 import AppealProofOffered
from contracts.v1.appeal import PROOF_HOURS, ProofUrl
from contracts.v1.pages import Observation
from contracts.v1.parts import PostRef
from kit.clock import Clock
from platforms import find_platform
from platforms.base import IdentityMismatch, Platform
from services.gateway.domain import derive_ip_range_key, parse_id
from services.gateway.http import PREFLIGHT, Receive, Reply, Scope, Send
from services.gateway.ports import Facts, Unavailable
from services.gateway.public.posted import PostedRequests, Refusal, answer, go_to, parse, send_answer, spell_address
from services.gateway.record.appeals import AppealTarget
from services.gateway.record.repository import PublicRecord

PREFIX: Final = "/v1/appeals/"
SUFFIX: Final = "/proof"
WINDOW: Final = timedelta(hours=PROOF_HOURS)


def _spell_own(given: object) -> object:
    address = spell_address(given)
    if isinstance(address, str) and not address.startswith("https://"):
        raise ValueError("must begin with https://")
    return address


class ProofRequest(BaseModel):
    """The address of the page with the token, as an author sends it."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: Annotated[ProofUrl, BeforeValidator(_spell_own)]


def check_provable(platform: str) -> Platform:
    """The platform, if authors can prove themselves there. Raises: Refusal."""
    site = find_platform(platform)
    if site is None or site.proof_place is None:
        raise Refusal(400, "by_author: on this site authors cannot prove who they are; appeal as a reader.")
    return site


def check_by_author(target: AppealTarget, *, has_statement: bool) -> None:
    """Raises: Refusal: authorship of this post cannot be proven, or a contributor makes a public statement."""
    site = check_provable(target.platform)
    if not target.is_confirmed or (target.author is None and site.prover == "author"):
        raise refuse_unknown()
    if has_statement and site.prover != "author":
        raise Refusal(400, "statement: a text by many contributors has no author who could make one.")


def refuse_unknown() -> Refusal:
    """The refusal of an author's appeal about a text whose author the site has not named."""
    return Refusal(400, "by_author: the site has not said who wrote this text; appeal as a reader.")


class ProofsEndpoint:
    """Serves `/v1/appeals/<id>/proof` as an ASGI application."""

    def __init__(self, record: PublicRecord, facts: Facts, clock: Clock, posted: PostedRequests) -> None:
        self._record = record
        self._facts = facts
        self._clock = clock
        self._posted = posted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await send_answer(scope, send, self._reply(scope, receive))

    async def _reply(self, scope: Scope, receive: Receive) -> Reply:
        if scope["method"] == "OPTIONS":
            return Reply(204, headers=PREFLIGHT)
        appeal = parse_id(scope["path"].removeprefix(PREFIX).removesuffix(SUFFIX))
        if appeal is None or not scope["path"].endswith(SUFFIX):
            raise Refusal(404, "There is nothing at this address.")
        body, network, is_form = await self._posted.read(scope, receive)
        if is_form:
            body = orjson.dumps(dict(parse_qsl(body.decode("ascii", "replace"))))
        wanted = parse(ProofRequest, body)
        await self._offer(appeal, wanted.url, network, is_form=is_form)
        page = f"/appeals/{appeal}"
        return go_to(page) if is_form else answer(202, {"page": page})

    async def _offer(self, appeal_id: UUID, url: str, network: str, *, is_form: bool) -> None:
        async with self._record.open() as session:
            appeal = await session.appeals.provable(appeal_id)
        if appeal is None:
            raise Refusal(404, "There is no appeal with this id that claims to be the author's.")
        if appeal.proof == "PROVEN":
            raise Refusal(409, "The author of this appeal is proven already.")
        site = check_provable(appeal.platform)
        known = PostRef(platform=appeal.platform, external_id=appeal.external_id)
        owner = site.required_owner(appeal.author, known, appeal.document)
        if owner is None:
            raise refuse_unknown()
        try:
            post, metadata = site.own_page(url, owner, known, appeal.document)
        except IdentityMismatch as error:
            raise Refusal(400, f"url: {error.reason}") from None
        event = AppealProofOffered(
            appeal_id=appeal.id,
            investigation_id=appeal.investigation_id,
            author=owner,
            observation=Observation(
                observation_id=self._clock.new_id(),
                post=post,
                url=url,
                metadata=dict(metadata),
                network_key=derive_ip_range_key(network),
            ),
            until=appeal.opened_at + WINDOW,
        )
        if event.has_expired(self._clock.now()):
            raise Refusal(410, f"The token has expired: it was valid for {PROOF_HOURS} hours.")
        sequence = await self._facts.publish(event, appeal.correlation)
        if is_form:  # a browser follows at once, and the page is read from the tables
            with suppress(Unavailable):
                await self._facts.wait_for_projection(sequence)
