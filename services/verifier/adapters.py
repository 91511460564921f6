"""From an observation to the page its site serves: platforms know what to ask and how to read the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from hashlib import sha256
from typing import Final

from prometheus_client import CollectorRegistry, Counter

from contracts.v1.parts import CanonicalPage, Observation
from kit.clock import Clock
from kit.web import Fetched, Request, parse_url
from platforms import platform
from platforms.base import (
    NO_PUBLIC_SOURCE,
    REFUSALS,
    CanonicalAnswer,
    CanonicalMismatch,
    CanonicalRequest,
    Platform,
)
from platforms.text import UnparseableHtml
from services.verifier.domain import (
    NO_TEXT,
    OTHER_HOST,
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
from services.verifier.hosts import Claim
from services.verifier.memory import Memory
from services.verifier.networks import Networks, Place, Places
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
        self._size = places
        self._places: dict[str, Places] = {}
        self._networks = Networks(lifetimes.refusal_s)
        self._claims: dict[Hashable, Claim] = {}
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
        network = observation.network_key or ""
        outcome = self._memory.kept(key) or await self._in_place(key, site, observation, asked, attempt)
        if isinstance(outcome, Unavailable) and outcome.reason in REFUSALS:
            self._networks.add_refusal(network)
        return outcome

    async def _in_place(
        self, key: Hashable, site: Platform, observation: Observation, asked: CanonicalRequest, attempt: int
    ) -> CanonicalPage | Unavailable | Crowded:
        time, network = self._fetcher.budget(attempt), observation.network_key or ""
        refused, known = self._networks.refused(network), self._memory.was_good(key)
        places = self._places.setdefault(site.name, Places(self._size))
        place = Place(network, refused, known, asyncio.timeout(time.patience_s + GRACE_S))
        try:
            async with place.patience:
                if not places.take(place):
                    return crowded(attempt, time, under_way=self._memory.under_way(key))
                try:
                    claim = self._claims.setdefault(key, Claim(known_page=known))
                    claim.join(network, refused)
                    return await self._memory.get(
                        key, lambda: self._look_up(key, site, observation, asked, time, claim)
                    )
                finally:
                    places.leave(place)
        except TimeoutError:
            if place.displaced:
                return crowded(attempt, time, under_way=True)
            return Unavailable(TIMEOUT, "the time was up before the page was here")

    async def _look_up(
        self,
        key: Hashable,
        site: Platform,
        observation: Observation,
        asked: CanonicalRequest,
        time: Budget,
        claim: Claim,
    ) -> tuple[CanonicalPage | Unavailable, float]:
        def believed_s(outcome: CanonicalPage | Unavailable) -> float:
            return lifetime_s(outcome, self._lifetimes, immutable=asked.immutable)

        async def ask() -> tuple[CanonicalPage | Unavailable, float]:
            outcome = await self._ask(site, observation, asked, time, claim)
            label = outcome.reason if isinstance(outcome, Unavailable) else "fetched"
            self._looked_up.labels(site.name, label).inc()
            return outcome, believed_s(outcome)

        name = sha256(repr((site.name, asked)).encode()).hexdigest()
        try:
            outcome = await self._shared.get(name, ask, time.end_s + GRACE_S)
        finally:
            self._claims.pop(key, None)
        return outcome, believed_s(outcome)

    async def _answer(
        self, site: Platform, observation: Observation, asked: CanonicalRequest, time: Budget, claim: Claim
    ) -> CanonicalAnswer | Unavailable:
        """The site's own answer; what another host answered counts only as far as the site itself confirms it."""
        began_s = asyncio.get_running_loop().time()
        first = await self._fetch(site, asked, partial(site.parse_canonical, observation), time, claim)
        if isinstance(first, Unavailable):
            return first
        answer, elsewhere = first
        confirming = self._confirming(site, answer.post.external_id)
        if elsewhere is None or confirming is None:
            return answer
        left = time.after(asyncio.get_running_loop().time() - began_s)
        second = await self._fetch(
            site, confirming, lambda body: site.parse_confirmation(observation, body, elsewhere), left, claim
        )
        if isinstance(second, Unavailable):
            if second.reason == "not_found":
                return Unavailable(OTHER_HOST, "the site does not know the post that a host of somebody else names")
            return second
        confirmed, again = second
        if again is not None or confirmed.post != answer.post:
            return Unavailable(OTHER_HOST, "the site itself does not confirm what another host answered")
        return confirmed

    async def _fetch(
        self,
        site: Platform,
        asked: CanonicalRequest,
        parse: Callable[[bytes], CanonicalAnswer],
        time: Budget,
        claim: Claim,
    ) -> tuple[CanonicalAnswer, str | None] | Unavailable:
        """An answer, and the address that gave it if it, or one on the way there, is not the site's own."""

        def read(fetched: Fetched) -> tuple[CanonicalAnswer, str | None] | Failure:
            foreign = any(not _is_own(site, asked, url) for url in (*fetched.hops, fetched.final_url))
            if foreign and self._confirming(site, "") is None:
                return Failure(OTHER_HOST, "the site led to a host that is not its own", passing=False)
            try:
                return parse(fetched.body), fetched.final_url if foreign else None
            except CanonicalMismatch as error:
                return Failure(error.reason, str(error), passing=False, broken=error.broken)

        request = Request(asked.url, asked.method, dict(asked.headers), asked.body)
        return await self._fetcher.fetch(request, read, time, asked.missing_statuses, claim)

    def _confirming(self, site: Platform, external_id: str) -> CanonicalRequest | None:
        return site.confirming_request(external_id, self._endpoints.get(site.name))

    async def _ask(
        self, site: Platform, observation: Observation, asked: CanonicalRequest, time: Budget, claim: Claim
    ) -> CanonicalPage | Unavailable:
        answer = await self._answer(site, observation, asked, time, claim)
        if isinstance(answer, Unavailable):
            return answer
        try:
            text = await _text(site, answer.html, answer.post.external_id)
        except UnparseableHtml as error:
            return Unavailable(UNREADABLE, f"the site's HTML is not read: {error}")
        if not text:
            return Unavailable(NO_TEXT, "the site's page has no text")
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


def _is_own(site: Platform, asked: CanonicalRequest, url: str) -> bool:
    """Whether an address speaks for the site: its own, or the one where an operator has it asked."""
    return site.is_own(url) or parse_url(url).origin == parse_url(asked.url).origin


async def _text(site: Platform, html: str, external_id: str) -> str:
    if len(html) > THREAD_FROM:
        return await asyncio.to_thread(site.extract_text, html, external_id)
    return site.extract_text(html, external_id)
