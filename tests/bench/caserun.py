"""One post through the services' own handlers, from a request to its result: only the log and the stores are in memory.

Whatever stands between a model's answer and a reader stands here too: every rule, and the gates that a policy asks for.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from functools import partial
from typing import Final
from uuid import UUID

from prometheus_client import CollectorRegistry

from analyses.evidence import CitedText, Evidence
from analyses.kinds import InvalidSubmission
from analyses.research import FETCH_URL, parse_fetch_url
from analyses.snippets import page_text
from contracts.v1 import ClaimProposed, ClaimRejected, Event, InvestigationCompleted, InvestigationFailed
from contracts.v1.gates import GatePolicy
from contracts.v1.parts import ClaimPayload, InvestigationInput, Picture, Source
from kit.clock import SystemClock
from kit.documents.reading import Reader
from kit.errors import Retry
from kit.models.base import Limits, Model
from kit.models.websearch.tool import WEB_SEARCH, Hit, WebSearch
from kit.sources import Page, Pages
from kit.web import CONTACT_URL, GuardedHttpClient, Policy
from lifecycle.conclusion import conclude
from lifecycle.investigation import Investigation
from services.investigator.domain import AuthorPost
from services.investigator.handlers import Investigator
from services.investigator.ports import Research
from services.investigator.research import Lookups
from services.validator.handlers import Validator
from services.validator.ports import Sources
from services.validator.sources import PageSources, UncheckedSources, compare_with_page, read_words
from tests.bench.casebook import Post
from tests.support.factories import VERSION_ID, requested
from tests.support.fakes import FixedPriors, MemoryKeys, MemoryLog, MemoryTexts, NoResearch, StillClock, handled

TRIES = 4
NO_LIMITS: Final = Limits()


@dataclass(frozen=True)
class Result:
    """The outcome of a post. Shapes: `failure` is None exactly if the run was completed."""

    post: Post
    claims: tuple[ClaimPayload, ...] = ()
    refused: tuple[ClaimRejected, ...] = ()
    failure: str | None = None
    cost_micro_usd: int = 0

    @property
    def false_flags(self) -> list[str]:
        """Published quotes that nothing is wrong with."""
        return [claim.text for claim in self.claims if self.post.answer_to(claim) is None]

    @property
    def hits(self) -> set[str]:
        """Wrong sentences that were found."""
        return {sentence for claim in self.claims if (sentence := self.post.answer_to(claim)) is not None}


@dataclass(frozen=True)
class World:
    """The web around a post: how pages are read for the model, and how sources are looked up."""

    research: Research = field(default_factory=NoResearch)
    sources: Sources = field(default_factory=UncheckedSources)


class _NoPosts:
    async def by_same_author(self, post_id: UUID, analysis: str, most: int) -> Sequence[AuthorPost]:
        return ()


@asynccontextmanager
async def the_web() -> AsyncIterator[World]:
    """The real web, through the one guarded client."""
    http = GuardedHttpClient(Policy(contact_url=CONTACT_URL))
    pages = Pages(http, partial(read_words, Reader()), SystemClock(), archive=MemoryTexts())
    try:
        yield World(
            Lookups(http, Reader(), _NoPosts(), SystemClock()), PageSources(pages, registry=CollectorRegistry())
        )
    finally:
        await pages.close()
        await http.close()


class _Found:
    """An engine that finds the post's own results."""

    def __init__(self, post: Post) -> None:
        self._post = post

    async def search(self, query: str) -> Sequence[Hit]:
        return [Hit(each.title, each.url, each.snippet) for each in self._post.search]


class _WithPages:
    """A world in which the post's own pages exist too, and its own search results for models that search by ours."""

    def __init__(self, post: Post, beyond: World) -> None:
        self._pages = post.pages
        self._search = WebSearch(_Found(post)) if post.search else None
        self._beyond = beyond

    def calls(self, post_id: UUID, analysis: str) -> Mapping[str, Callable[[str], Awaitable[str]]]:
        known = dict(self._beyond.research.calls(post_id, analysis))
        ask = known[FETCH_URL.name]

        async def fetch_url(arguments: str) -> str:
            try:
                page = self._pages.get(parse_fetch_url(arguments))
            except InvalidSubmission:
                page = None
            return (
                await ask(arguments) if page is None else json.dumps({"ok": True, "status": 200, "contentText": page})
            )

        search = {WEB_SEARCH.name: self._search} if self._search is not None else {}
        return known | {FETCH_URL.name: fetch_url} | search

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        return tuple([await self._looked_up(source) for source in sources])

    async def _looked_up(self, source: Source) -> Evidence:
        text = self._pages.get(source.url)
        if text is None:
            (evidence,) = await self._beyond.sources.check((source,))
            return evidence
        blob = await MemoryTexts().put(text.encode(), "text/plain")
        return compare_with_page(source, Page(source.url, blob, datetime.now(UTC), CitedText(page_text(text))))


async def run(
    post: Post, model: Model, beyond: World, *, limits: Limits = NO_LIMITS, policy: GatePolicy | None = None
) -> Result:
    """Investigate one post, within the limits; what is proposed has to pass the gates of the policy."""
    world = _WithPages(post, beyond)
    texts = MemoryTexts()
    request = requested()
    log = MemoryLog(request, versions={VERSION_ID: await _input(post, texts)})
    investigator = Investigator(
        log, texts, MemoryKeys(), model, StillClock(), "bench", priors=FixedPriors(), research=world, limits=limits
    )
    validator = Validator(
        log, texts, MemoryKeys(), model, world, StillClock(), unchecked_allowed=model.labelled_demo, policy=policy
    )
    await _delivered(log, lambda attempt: investigator.on_investigation_requested(request, attempt))
    proposed = [event for event in log.events if isinstance(event, ClaimProposed)]
    await asyncio.gather(*(_judged(log, validator, claim) for claim in proposed))
    return _result(post, log)


async def _judged(log: MemoryLog, validator: Validator, claim: ClaimProposed) -> None:
    await _delivered(log, lambda attempt: validator.on_claim_proposed(claim, attempt))


async def _delivered(log: MemoryLog, handle: Callable[[int], AsyncIterator[Event]]) -> None:
    """Deliver repeatedly until the message is handled, each time as late as the handler asks for."""
    for attempt in range(1, TRIES + 1):
        gave_up = (await handled(handle(attempt), log)).gave_up
        if gave_up is None:
            return
        if not isinstance(gave_up, Retry):
            raise gave_up
        await asyncio.sleep(gave_up.after_s)


def _result(post: Post, log: MemoryLog) -> Result:
    found = Investigation.fold(log.entries)
    spent = 0
    for entry in log.entries:
        usage = getattr(entry.event, "usage", None)
        spent += (usage and usage.cost_micro_usd) or 0
    failures = [event.reason for event in log.events if isinstance(event, InvestigationFailed)]
    refused = tuple(event for event in log.events if isinstance(event, ClaimRejected))
    match conclude(found) if found is not None else None:
        case InvestigationCompleted() as end:
            claims = tuple(claim.payload for claim in end.claims)
            return Result(post, claims, refused, cost_micro_usd=spent)
        case InvestigationFailed() as end:
            failures.append(end.reason)
        case _:
            failures.append("no end was reached")
    return Result(post, refused=refused, failure=failures[0], cost_micro_usd=spent)


async def _input(post: Post, texts: MemoryTexts) -> InvestigationInput:
    pictures = tuple(
        Picture(
            original_index=index,
            normalized_text_offset=0,
            source_url=f"https://pictures.example/{post.id}/{index}",
            caption_text=caption,
            status="unavailable",
            reason="http_404",
        )
        for index, caption in enumerate(post.captions)
    )
    return InvestigationInput(
        provenance="SERVER_VERIFIED",
        platform=post.platform,
        url=f"https://posts.example/{post.id}",
        published_at=datetime.combine(post.published, time(12), UTC),
        content=await texts.put_text(post.text),
        pictures=pictures,
    )
