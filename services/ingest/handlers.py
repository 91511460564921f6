"""Derives versions from verified observations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from contracts.v1 import CanonicalFetched, CanonicalUnavailable, Event, ObservationUnverifiable
from contracts.v1.pages import CanonicalPage, Observation
from kit.errors import Reject
from platforms import get_platform
from platforms.base import REFUSALS, Platform
from platforms.markup_cost import UnparseableHtml
from platforms.text import normalize
from services.ingest.domain import make_events, pin
from services.ingest.ports import Texts, Versions

THREAD_FROM: Final = 65_536
"""Units: characters of HTML. Longer pages are parsed in a thread, so that they do not block the event loop."""


class Ingest:
    """Handles observations and canonical pages."""

    def __init__(self, texts: Texts, versions: Versions) -> None:
        self._texts = texts
        self._versions = versions

    async def on_observation_unverifiable(
        self, event: ObservationUnverifiable, delivery_count: int
    ) -> AsyncIterator[Event]:
        """Derive the version from the reader's text, since there is no public source."""
        async for fact in self._pin(event.observation, None):
            yield fact

    async def on_direct_observation(self, event: ObservationUnverifiable, delivery_count: int) -> AsyncIterator[Event]:
        """The same for a direct request, whose result the stream refuses if the post is erased."""
        async for fact in self._pin(event.observation, None, is_direct=True):
            yield fact

    async def on_canonical_fetched(self, event: CanonicalFetched, delivery_count: int) -> AsyncIterator[Event]:
        """Derive the version from the site's page: its text and identity count."""
        async for fact in self._pin(event.observation, event.page):
            yield fact

    async def on_canonical_unavailable(self, event: CanonicalUnavailable, delivery_count: int) -> AsyncIterator[Event]:
        """After an outage, derive the version from the reader's text; after a denial, reject the observation.

        A text that the site confirmed before is not rejected: the site may have deleted the post since.
        """
        denied = event.reason in REFUSALS
        async for fact in self._pin(event.observation, None, denied=denied):
            yield fact

    async def _pin(
        self,
        observation: Observation,
        page: CanonicalPage | None,
        *,
        is_direct: bool = False,
        denied: bool = False,
    ) -> AsyncIterator[Event]:
        site = _find_site(observation)
        canonical_text = None if page is None else await self._read_canonical(site, page)
        try:
            observed_text = await self._read_observed(site, observation)
        except UnparseableHtml as error:
            if not canonical_text:
                raise Reject(f"the page's HTML cannot be parsed: {error}") from error
            observed_text = ""
        if not observed_text and not canonical_text:
            raise Reject("the page has no text")
        pinned = pin(observation, observed_text, page, canonical_text, site)
        if is_direct:
            state = await self._versions.read_state(pinned.version_id)
        else:
            erased, state = await asyncio.gather(
                self._versions.is_erased(pinned.post_id),  # the identity is known only now
                self._versions.read_state(pinned.version_id),
            )
            if erased:
                raise Reject("this post was erased on request", dead_letter=False)
            if denied and not state.verified:
                raise Reject(f"{site.name} does not show this page to the public", dead_letter=False)
        content = await self._texts.put_text(pinned.text)
        for fact in make_events(pinned, state, content, observation, page, site):
            yield fact

    async def _read_canonical(self, site: Platform, page: CanonicalPage) -> str | None:
        if page.text is not None:
            return await self._texts.get_text(page.text)
        try:
            return await _extract(site, await self._texts.get_text(page.html), page.post.external_id)
        except UnparseableHtml:
            return None

    async def _read_observed(self, site: Platform, observation: Observation) -> str:
        if observation.text is not None:
            return normalize(await self._texts.get_text(observation.text))
        if observation.html is not None:
            return await _extract(site, await self._texts.get_text(observation.html), observation.post.external_id)
        return ""


def _find_site(observation: Observation) -> Platform:
    try:
        return get_platform(observation.post.platform)
    except KeyError:
        raise Reject(f"no platform {observation.post.platform!r} is known here") from None


async def _extract(site: Platform, html: str, external_id: str) -> str:
    if len(html) >= THREAD_FROM:
        return await asyncio.to_thread(site.extract_text, html, external_id)
    return site.extract_text(html, external_id)
