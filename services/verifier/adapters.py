"""From an observation to the page its site serves: platforms know what to ask and how to read the answer."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter

from contracts.v1.parts import CanonicalPage, Observation
from kit.clock import Clock
from kit.web import Request
from platforms import platform
from platforms.base import CanonicalMismatch, CanonicalRequest, Platform
from services.verifier.domain import NO_PUBLIC_SOURCE, UNEXPECTED_ANSWER, Lifetimes, Unavailable, lifetime_s
from services.verifier.fetching import Fetcher
from services.verifier.memory import Memory
from services.verifier.ports import Texts


class SitePages:
    """Pages over HTTP; each is fetched once for all who ask at the same time.

    `endpoints` replaces a site's own address, by platform name.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        memory: Memory[CanonicalPage | Unavailable],
        lifetimes: Lifetimes,
        texts: Texts,
        clock: Clock,
        endpoints: Mapping[str, str],
        registry: CollectorRegistry,
    ) -> None:
        self._fetcher = fetcher
        self._memory = memory
        self._lifetimes = lifetimes
        self._texts = texts
        self._clock = clock
        self._endpoints = endpoints
        self._looked_up = Counter(
            "openerrata_canonical_lookups_total", "Pages asked of sites", ("site", "outcome"), registry=registry
        )

    async def page(self, observation: Observation) -> CanonicalPage | Unavailable:
        """The page an observation is of; trouble with the site is an answer, not an error.

        Raises: KeyError: a platform that we do not know.
        """
        name = observation.post.platform
        site = platform(name)
        asked = site.canonical_request(observation, self._endpoints.get(name))
        if asked is None:
            return Unavailable(NO_PUBLIC_SOURCE, f"{name} has nothing to ask about this post")
        # The post belongs to the key: what an answer means may depend on whose page was asked for.
        return await self._memory.get((observation.post, asked), lambda: self._look_up(site, observation, asked))

    async def _look_up(
        self, site: Platform, observation: Observation, asked: CanonicalRequest
    ) -> tuple[CanonicalPage | Unavailable, float]:
        outcome = await self._ask(site, observation, asked)
        label = outcome.reason if isinstance(outcome, Unavailable) else "fetched"
        self._looked_up.labels(site.name, label).inc()
        return outcome, lifetime_s(outcome, self._lifetimes, immutable=asked.immutable)

    async def _ask(
        self, site: Platform, observation: Observation, asked: CanonicalRequest
    ) -> CanonicalPage | Unavailable:
        body = await self._fetcher.fetch(Request(asked.url, asked.method, dict(asked.headers), asked.body))
        if isinstance(body, Unavailable):
            return body
        try:
            answer = site.parse_canonical(observation, body)
        except CanonicalMismatch as error:
            return Unavailable(UNEXPECTED_ANSWER, error.reason)
        return CanonicalPage(
            post=answer.post,
            source_url=asked.url,
            html=await self._texts.put_text(answer.html),
            revision_id=answer.revision_id,
            fetched_at=self._clock.now(),
        )
