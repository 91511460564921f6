"""The routes of the catalogue, which is off by default. Reading needs no account; a change does."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Final, TypeVar
from uuid import UUID

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from analyses.claims.normalise import make_key
from contracts.accounts import Verb
from contracts.jobs.catalogue import (
    EditRequest,
    EntryPage,
    EvidenceRequest,
    FlagQueue,
    FlagRequest,
    PublishRequest,
    ResolveRequest,
    RevertRequest,
    SourceNames,
)
from contracts.jobs.values import Document
from contracts.jobs.words import Submission
from contracts.v1 import EntryPublished
from contracts.v1.ids import entry_id
from kit.addresses import ip_range_prefix
from kit.clock import Clock
from lifecycle.audits.entries import Readers, may_be_published
from services.gateway.cursors import cut_page, parse_dated_key, read_key
from services.gateway.domain import Principal, parse_id
from services.gateway.http import Scope
from services.gateway.jobs.catalogue import Entries
from services.gateway.jobs.catalogue_views import view_entry, view_flag, view_line
from services.gateway.jobs.exchange import Reception, answer, choose_exchange_version, parse, require_json
from services.gateway.jobs.ports import CatalogueReads
from services.gateway.jobs.problems import Problem
from services.gateway.jobs.rate_policies import RateLimit
from services.gateway.record.question import BadQuestion

PAGE: Final = 20
QUERY_CHARACTERS: Final = 200
NAMES: Final = 10
_NAME: Final = re.compile("[a-z0-9.-]{1,253}")
_PUBLISH: Final = TypeAdapter(PublishRequest)
_EDIT: Final = TypeAdapter(EditRequest)
_REVERT: Final = TypeAdapter(RevertRequest)
_FLAG: Final = TypeAdapter(FlagRequest)
_EVIDENCE: Final = TypeAdapter(EvidenceRequest)
_RESOLVE: Final = TypeAdapter(ResolveRequest)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class CatalogueRoutes:
    """Answers requests about entries. `address` returns the client address, by which anonymous requests are limited."""

    reception: Reception
    entries: Entries
    reads: CatalogueReads
    limit: RateLimit
    changes: RateLimit
    address: Callable[[Scope], str]
    clock: Clock

    async def search(self, request: Request) -> Response:
        """List entries, newest change first; with `q`, only those that contain its words."""
        sees_hidden = await self._admit_reader(request)
        text = request.query_params.get("q", "").strip()
        if len(text) > QUERY_CHARACTERS or "\0" in text:
            raise Problem("VALIDATION_ERROR", f"q has at most {QUERY_CHARACTERS} characters.")
        after = _key_in(request)
        try:
            rows = await self.reads.page(text, after, PAGE + 1, hidden=sees_hidden)
        except BadQuestion as refusal:
            raise Problem("VALIDATION_ERROR", str(refusal)) from None
        shown, next_ = cut_page(rows, PAGE, attrgetter("updated_at", "id"))
        return answer(EntryPage(claims=tuple(map(view_line, shown)), next=next_))

    async def sources(self, request: Request) -> Response:
        """List domains of sources that start with `begins`."""
        await self._admit_reader(request)
        begins = request.query_params.get("begins", "").strip().lower()
        if not _NAME.fullmatch(begins):
            raise Problem("VALIDATION_ERROR", "begins must be the start of a domain: letters, digits, dots, hyphens.")
        return answer(SourceNames(names=tuple(await self.reads.sources(begins, NAMES))))

    async def show(self, request: Request) -> Response:
        """An entry with its newest analysis and its history. Only moderators see hidden entries."""
        sees_hidden = await self._admit_reader(request)
        contents = await self.reads.one(_id_in(request, "entry_id"), hidden=sees_hidden)
        if contents is None:
            raise Problem("NOT_FOUND")
        return answer(view_entry(contents, self.clock.now()))

    async def publish(self, request: Request) -> Response:
        """Publish a claim of one of the moderator's own jobs: give it its page."""
        body, principal = await self._admit_change(request, "publish")
        claim = await self._find_claim(body, principal)
        published = EntryPublished(
            entry_id=entry_id(claim.assertion_id),
            assertion_id=claim.assertion_id,
            wording=claim.wording,
            domain=claim.domain,
            by=principal.account.account_id,
        )
        return answer(await self.entries.publish(published, request.state.exchange.correlation), status=201)

    async def submit(self, request: Request) -> Response:
        """Submit a claim of one of the contributor's own jobs, for a moderator to publish."""
        body, principal = await self._admit_change(request, "submit")
        claim = await self._find_claim(body, principal)
        return answer(await self.entries.submit(claim, principal, request.state.exchange.correlation), status=201)

    async def _find_claim(self, body: bytes, principal: Principal) -> Submission:
        """A claim of the account's own jobs that may have a page. Raises: Problem."""
        wanted = parse(_PUBLISH, body)
        account = principal.account.account_id
        claim = await self.reads.candidate(wanted.job_id, wanted.claim, account)
        if claim is None:
            raise Problem("NOT_FOUND")
        if not may_be_published(Readers(claim.public_jobs, claim.accounts)):
            raise Problem(
                "VALIDATION_ERROR",
                "Only a claim from a public address, or from two accounts, may be published; a draft may not.",
            )
        if make_key(wanted.wording, claim.language) != claim.published_key:
            raise Problem("VALIDATION_ERROR", "wording must say what the claim says.")
        return Submission(claim.assertion_id, claim.domain, wanted.wording)

    async def edit(self, request: Request) -> Response:
        """Change what an entry says; hide it or show it again."""
        return await self._change(request, "edit", _EDIT, self.entries.edit)

    async def revert(self, request: Request) -> Response:
        """Undo the newest change of an entry."""
        return await self._change(request, "edit", _REVERT, self.entries.revert)

    async def flag(self, request: Request) -> Response:
        """Object to an entry."""
        return await self._change(request, "flag", _FLAG, self.entries.raise_flag)

    async def suggest(self, request: Request) -> Response:
        """Suggest evidence for a moderator to accept."""
        return await self._change(request, "submit", _EVIDENCE, self.entries.suggest)

    async def queue(self, request: Request) -> Response:
        """List objections that wait for a decision, oldest first."""
        await self.reception.admit(request, self.limit, "decide")
        rows = await self.reads.open_flags(_key_in(request), PAGE + 1)
        shown, next_ = cut_page(rows, PAGE, attrgetter("created_at", "id"))
        return answer(FlagQueue(flags=tuple(map(view_flag, shown)), next=next_))

    async def resolve(self, request: Request) -> Response:
        """Decide on an objection."""
        return await self._change(request, "decide", _RESOLVE, self.entries.resolve_flag, "flag_id", status=200)

    async def _admit_reader(self, request: Request) -> bool:
        """Admit a reader, and return whether hidden entries are shown. A key, if one is sent, must be active."""
        if request.headers.get("authorization"):
            return (await self.reception.admit(request, self.limit)).may("hide")
        choose_exchange_version(request).limits = self.limit.take(ip_range_prefix(self.address(request.scope)))
        return False

    async def _change(
        self,
        request: Request,
        verb: Verb,
        shape: TypeAdapter[T],
        act: Callable[[UUID, T, Principal, UUID], Awaitable[Document]],
        about: str = "entry_id",
        *,
        status: int = 201,
    ) -> Response:
        """Apply the request in the body to the entry or flag in the path."""
        body, principal = await self._admit_change(request, verb)
        id_, wanted = _id_in(request, about), parse(shape, body)
        return answer(await act(id_, wanted, principal, request.state.exchange.correlation), status=status)

    async def _admit_change(self, request: Request, verb: Verb) -> tuple[bytes, Principal]:
        body = await self.reception.read(request)
        principal = await self.reception.admit(request, self.changes, verb)
        require_json(request)
        return body, principal


def _key_in(request: Request) -> tuple[datetime, UUID] | None:
    cursor = request.query_params.get("after", "")
    try:
        return read_key(cursor, parse_dated_key) if cursor else None
    except BadQuestion as refusal:
        raise Problem("VALIDATION_ERROR", str(refusal)) from None


def _id_in(request: Request, name: str) -> UUID:
    known = parse_id(request.path_params[name])
    if known is None:
        raise Problem("NOT_FOUND")
    return known
