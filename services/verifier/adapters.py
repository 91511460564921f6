"""Looks up the canonical page of an observation; the platform defines the request and parses the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter

from contracts.v1.pages import CanonicalPage, Observation
from kit.cache import Cache
from kit.clock import Clock
from kit.web import Fetched, Request, parse_url
from platforms import get_platform
from platforms.base import (
    NO_PUBLIC_SOURCE,
    REFUSALS,
    CanonicalAnswer,
    CanonicalMismatch,
    CanonicalRequest,
    Platform,
    SiteAnswer,
    Steps,
)
from platforms.markup_cost import UnparseableHtml
from services.verifier.domain import (
    NO_TEXT,
    OTHER_HOST,
    TIMEOUT,
    UNREADABLE,
    Budget,
    Failure,
    Lifetimes,
    Overloaded,
    Unavailable,
    defer_or_refuse,
    lifetime_s,
)
from services.verifier.fetching import Fetcher
from services.verifier.hosts import Demand
from services.verifier.networks import AdmissionRequest, Networks, SiteAdmission
from services.verifier.ports import Texts

THREAD_FROM: Final = 262_144
"""Units: characters of HTML. Longer pages are parsed in a thread, so that they do not block the event loop."""

GRACE_S: Final = 0.5
"""A look-up that reaches its own deadline gives a better reason than the caller's timeout."""

PROOF: Final = "application/vnd.ipld.dag-cbor"
"""The media type of a proof."""

Key = tuple[str, CanonicalRequest]
"""A platform and a request to it."""


class SitePages:
    """Pages over HTTP; concurrent look-ups of a page in this process share one request.

    Shapes: at most `capacity` observations of one site wait at once. `cached` pages are stored, and as many denials in
    a cache of their own, so that requests for pages that do not exist cannot evict those that do. `endpoints` overrides
    addresses of sites, by platform name.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        lifetimes: Lifetimes,
        texts: Texts,
        clock: Clock,
        endpoints: Mapping[str, str],
        registry: CollectorRegistry,
        *,
        capacity: int,
        cached: int,
    ) -> None:
        def page_s(key: Key, page: CanonicalPage) -> float:
            return lifetime_s(page, lifetimes, immutable=key[1].immutable)

        def denial_s(_: Key, outcome: CanonicalPage | Unavailable) -> float:
            return lifetime_s(outcome, lifetimes, immutable=False) if isinstance(outcome, Unavailable) else 0.0

        self._fetcher = fetcher
        self._pages: Cache[Key, CanonicalPage] = Cache(clock, capacity=cached, ttl_s=page_s)
        self._denials: Cache[Key, CanonicalPage | Unavailable] = Cache(clock, capacity=cached, ttl_s=denial_s)
        self._confirmed_before: Cache[Key, bool] = Cache(clock, capacity=cached)
        """Pages that the site has confirmed at any time."""
        self._newest: Cache[str, str] = Cache(clock, capacity=cached)
        """The newest position known of each series of answers."""
        self._texts = texts
        self._clock = clock
        self._endpoints = endpoints
        self._capacity = capacity
        self._admissions: dict[str, SiteAdmission] = {}
        self._networks = Networks(lifetimes.refusal_s, clock)
        self._demands: dict[Key, Demand] = {}
        self._looked_up = Counter(
            "openerrata_canonical_lookups_total", "Pages asked of sites", ("site", "outcome"), registry=registry
        )

    async def close(self) -> None:
        """Cancel running look-ups."""
        await self._denials.close()

    async def page(self, observation: Observation, delivery_count: int) -> CanonicalPage | Unavailable | Overloaded:
        """The canonical page of an observation; a failure of the site is a result, not an error.

        Raises: KeyError: unknown platform.
        """
        name = observation.post.platform
        site = get_platform(name)
        steps = site.steps(observation, self._endpoints)
        if steps is None:
            return Unavailable(NO_PUBLIC_SOURCE, f"{name} has no public source for this post")
        # The reader's data is not part of the key, or made-up page ids would fetch one page many times.
        key = (name, next(steps))
        network = observation.network_key or ""
        cached = self._pages.get(key) or self._denials.get(key)
        outcome = cached or await self._admit_and_look_up(key, site, observation, delivery_count)
        if isinstance(outcome, Unavailable) and outcome.reason in REFUSALS:
            self._networks.add_refusal(network)
        return outcome

    async def _admit_and_look_up(
        self, key: Key, site: Platform, observation: Observation, delivery_count: int
    ) -> CanonicalPage | Unavailable | Overloaded:
        time, network = self._fetcher.make_budget(delivery_count), observation.network_key or ""
        refusals, known = self._networks.refusals(network), self._confirmed_before.get(key) is not None
        admission = self._admissions.setdefault(site.name, SiteAdmission(self._capacity))
        entry = AdmissionRequest(network, refusals, known, asyncio.timeout(time.wait_s + GRACE_S))
        try:
            async with entry.timeout:
                if not admission.admit(entry):
                    return defer_or_refuse(delivery_count, time, under_way=self._denials.under_way(key))
                try:
                    demand = self._demands.setdefault(key, Demand(known_page=known))
                    demand.join(network, refusals)
                    return await self._denials.get_or_make(
                        key, partial(self._look_up, key, site, observation, time, demand)
                    )
                finally:
                    admission.release(entry)
        except TimeoutError:
            if entry.displaced:
                return defer_or_refuse(delivery_count, time, under_way=True)
            return Unavailable(TIMEOUT, "the time was up before the page arrived")

    async def _look_up(
        self, key: Key, site: Platform, observation: Observation, time: Budget, demand: Demand
    ) -> CanonicalPage | Unavailable:
        try:
            outcome = await self._make_page(site, observation, key[1], time, demand)
        finally:
            self._demands.pop(key, None)
        if not isinstance(outcome, Unavailable):
            self._pages.put(key, outcome)
            self._confirmed_before.put(key, True)
        label = outcome.reason if isinstance(outcome, Unavailable) else "fetched"
        self._looked_up.labels(site.name, label).inc()
        return outcome

    async def _walk(
        self, site: Platform, observation: Observation, time: Budget, demand: Demand
    ) -> CanonicalAnswer | Unavailable:
        """The site's answer after all steps."""
        steps = site.steps(observation, self._endpoints)
        assert steps is not None
        began_s = asyncio.get_running_loop().time()
        outcome: CanonicalRequest | CanonicalAnswer | Unavailable = next(steps)
        while isinstance(outcome, CanonicalRequest):
            left = time.after(asyncio.get_running_loop().time() - began_s)
            outcome = await self._take_step(site, steps, outcome, left, demand)
        return outcome

    async def _take_step(
        self, site: Platform, steps: Steps, lookup: CanonicalRequest, time: Budget, demand: Demand
    ) -> CanonicalRequest | CanonicalAnswer | Unavailable:
        """The next request, or what all steps lead to."""

        def read(fetched: Fetched) -> CanonicalRequest | CanonicalAnswer | Failure:
            foreign = any(not _is_own(site, lookup, url) for url in (*fetched.hops, fetched.final_url))
            if foreign and not site.confirms_elsewhere:
                return Failure(OTHER_HOST, "the site redirected to a host that is not its own", is_transient=False)
            elsewhere = fetched.final_url if foreign else None
            try:
                return steps.send(SiteAnswer(fetched.status, fetched.body, self._clock.now(), elsewhere))
            except StopIteration as end:
                found: CanonicalAnswer = end.value
                return found
            except CanonicalMismatch as error:
                return Failure(error.reason, str(error), is_transient=False, is_broken=error.broken)

        request = Request(lookup.url, lookup.method, dict(lookup.headers), lookup.body, max_bytes=lookup.max_bytes)
        return await self._fetcher.fetch(request, read, time, lookup.missing_statuses, demand, lookup.readable_statuses)

    async def _make_page(
        self, site: Platform, observation: Observation, lookup: CanonicalRequest, time: Budget, demand: Demand
    ) -> CanonicalPage | Unavailable:
        answer = await self._walk(site, observation, time, demand)
        if isinstance(answer, Unavailable):
            return answer
        if answer.sequence is not None:
            if answer.sequence.at < (self._newest.get(answer.sequence.series) or ""):
                return Unavailable("bad_answer", "revision: a newer one is known")
            self._newest.put(*answer.sequence)
        try:
            text = await _extract_text(site, answer.html, answer.post.external_id)
        except UnparseableHtml as error:
            return Unavailable(UNREADABLE, f"the site's HTML cannot be parsed: {error}")
        if not text:
            return Unavailable(NO_TEXT, "the site's page has no text")
        return CanonicalPage(
            post=answer.post,
            source_url=lookup.url,
            html=await self._texts.put_text(answer.html),
            revision_id=answer.revision_id,
            fetched_at=self._clock.now(),
            url=answer.url,
            metadata=dict(answer.metadata),
            text=await self._texts.put_text(text),
            proof=None if answer.proof is None else await self._texts.put(answer.proof, PROOF),
        )


def _is_own(site: Platform, lookup: CanonicalRequest, url: str) -> bool:
    """Whether an address belongs to the site, or is the endpoint that an operator has set."""
    return site.is_own(url) or parse_url(url).origin == parse_url(lookup.url).origin


async def _extract_text(site: Platform, html: str, external_id: str) -> str:
    if len(html) > THREAD_FROM:
        return await asyncio.to_thread(site.extract_text, html, external_id)
    return site.extract_text(html, external_id)
