"""From an observation to the page its site serves: platforms know what to ask and how to read the answer."""

from __future__ import annotations

import asyncio
from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Final

from prometheus_client import CollectorRegistry, Counter

from contracts.v1.parts import CanonicalPage, Observation
from kit.clock import Clock
from kit.web import Request
from platforms import platform
from platforms.base import CanonicalAnswer, CanonicalMismatch, CanonicalRequest, Platform
from platforms.text import UnparseableHtml
from services.verifier.domain import (
    NO_PUBLIC_SOURCE,
    TIMEOUT,
    UNREADABLE,
    Budget,
    Crowded,
    Failure,
    Lifetimes,
    Unavailable,
    crowded,
    lifetime_s,
)
from services.verifier.fetching import Fetcher
from services.verifier.memory import Memory
from services.verifier.ports import Shared, Texts

THREAD_FROM: Final = 262_144
"""Units: characters of HTML. Longer pages take long enough for others to notice."""

GRACE_S: Final = 0.5
"""A look-up ends by itself in time, with a better reason than whoever stops waiting for it at that moment."""


class SitePages:
    """Pages over HTTP; each is fetched once for all who ask at the same time.

    `places` observations of one site may wait at once. `endpoints` replaces a site's own address, by platform name.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        memory: Memory[CanonicalPage | Unavailable],
        lifetimes: Lifetimes,
        shared: Shared,
        texts: Texts,
        clock: Clock,
        endpoints: Mapping[str, str],
        registry: CollectorRegistry,
        *,
        places: int,
    ) -> None:
        self._fetcher = fetcher
        self._memory = memory
        self._lifetimes = lifetimes
        self._shared = shared
        self._texts = texts
        self._clock = clock
        self._endpoints = endpoints
        self._places = places
        self._waiting: Tally[str] = Tally()
        self._looked_up = Counter(
            "openerrata_canonical_lookups_total", "Pages asked of sites", ("site", "outcome"), registry=registry
        )

    async def page(self, observation: Observation, attempt: int) -> CanonicalPage | Unavailable | Crowded:
        """The page an observation is of; trouble with the site is an answer, not an error.

        Raises: KeyError: a platform that we do not know.
        """
        name = observation.post.platform
        site = platform(name)
        asked = site.canonical_request(observation, self._endpoints.get(name))
        if asked is None:
            return Unavailable(NO_PUBLIC_SOURCE, f"{name} has nothing to ask about this post")
        # What the reader says of the page is no part of the key, or made-up page ids would fetch one page many times.
        key = (name, asked)
        kept = self._memory.kept(key)
        if kept is not None:
            return kept
        time = self._fetcher.budget(attempt)
        if self._waiting[name] >= self._places:
            return crowded(attempt, time, under_way=self._memory.under_way(key))
        with self._waits(name):
            try:
                async with asyncio.timeout(time.patience_s + GRACE_S):
                    return await self._memory.get(key, lambda: self._look_up(site, observation, asked, time))
            except TimeoutError:
                return Unavailable(TIMEOUT, "the time was up before the page was here")

    @contextmanager
    def _waits(self, name: str) -> Iterator[None]:
        self._waiting[name] += 1
        try:
            yield
        finally:
            self._waiting[name] -= 1

    async def _look_up(
        self, site: Platform, observation: Observation, asked: CanonicalRequest, time: Budget
    ) -> tuple[CanonicalPage | Unavailable, float]:
        def believed_s(outcome: CanonicalPage | Unavailable) -> float:
            return lifetime_s(outcome, self._lifetimes, immutable=asked.immutable)

        async def ask() -> tuple[CanonicalPage | Unavailable, float]:
            outcome = await self._ask(site, observation, asked, time)
            label = outcome.reason if isinstance(outcome, Unavailable) else "fetched"
            self._looked_up.labels(site.name, label).inc()
            return outcome, believed_s(outcome)

        name = sha256(repr((site.name, asked)).encode()).hexdigest()
        outcome = await self._shared.get(name, ask, time.end_s + GRACE_S)
        return outcome, believed_s(outcome)

    async def _ask(
        self, site: Platform, observation: Observation, asked: CanonicalRequest, time: Budget
    ) -> CanonicalPage | Unavailable:
        def read(body: bytes) -> CanonicalAnswer | Failure:
            try:
                return site.parse_canonical(observation, body)
            except CanonicalMismatch as error:
                return Failure(error.reason, str(error), passing=False, broken=error.broken)

        request = Request(asked.url, asked.method, dict(asked.headers), asked.body)
        answer = await self._fetcher.fetch(request, read, time)
        if isinstance(answer, Unavailable):
            return answer
        try:
            text = await _text(site, answer.html, answer.post.external_id)
        except UnparseableHtml as error:
            return Unavailable(UNREADABLE, f"the site's HTML is not read: {error}")
        if not text:
            return Unavailable(UNREADABLE, "the site's page has no text")
        return CanonicalPage(
            post=answer.post,
            source_url=asked.url,
            html=await self._texts.put_text(answer.html),
            revision_id=answer.revision_id,
            fetched_at=self._clock.now(),
            url=answer.url,
            metadata=dict(answer.metadata),
            text=await self._texts.put_text(text),
        )


async def _text(site: Platform, html: str, external_id: str) -> str:
    if len(html) > THREAD_FROM:
        return await asyncio.to_thread(site.extract_text, html, external_id)
    return site.extract_text(html, external_id)
