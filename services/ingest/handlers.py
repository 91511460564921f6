"""From a checked observation to a version."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from contracts.v1 import CanonicalFetched, CanonicalUnavailable, Event, ObservationReceived
from contracts.v1.parts import CanonicalPage, Observation
from kit.errors import Reject
from platforms import has_public_source, platform
from platforms.base import REFUSALS, Platform
from platforms.text import UnparseableHtml, normalize
from services.ingest.domain import facts, pin
from services.ingest.ports import Texts, Versions

THREAD_FROM: Final = 65_536
"""Units: characters of HTML. Longer pages take long enough for others to notice."""


class Ingest:
    """Pins what was seen to a version."""

    def __init__(self, texts: Texts, versions: Versions) -> None:
        self._texts = texts
        self._versions = versions

    async def on_observation_received(self, event: ObservationReceived, attempt: int) -> AsyncIterator[Event]:
        """Take what needs no word from its site; the rest comes back from the verifier."""
        if has_public_source(event.observation.post.platform):
            return
        async for fact in self._pin(event.observation, None):
            yield fact

    async def on_observation_handed(self, event: ObservationReceived, attempt: int) -> AsyncIterator[Event]:
        """The same, where the stream bars what is told of an erased post."""
        if has_public_source(event.observation.post.platform):
            return
        async for fact in self._pin(event.observation, None, barred=True):
            yield fact

    async def on_canonical_fetched(self, event: CanonicalFetched, attempt: int) -> AsyncIterator[Event]:
        """The site served the page: its text and identity count."""
        async for fact in self._pin(event.observation, event.page):
            yield fact

    async def on_canonical_unavailable(self, event: CanonicalUnavailable, attempt: int) -> AsyncIterator[Event]:
        """After an outage nobody but the reader vouches for the text; after a denial it is not taken.

        A text that the site confirmed before is: the site may have deleted the post since, and nothing new is said.
        """
        denied = event.reason in REFUSALS
        async for fact in self._pin(event.observation, None, denied=denied):
            yield fact

    async def _pin(
        self, observation: Observation, page: CanonicalPage | None, *, barred: bool = False, denied: bool = False
    ) -> AsyncIterator[Event]:
        site = _site(observation)
        canonical_text = None if page is None else await self._canonical(site, page)
        try:
            observed_text = await self._observed(site, observation)
        except UnparseableHtml as error:
            if not canonical_text:
                raise Reject(f"the page's HTML is not read: {error}") from error
            observed_text = ""
        if not observed_text and not canonical_text:
            raise Reject("the page has no text")
        pinned = pin(observation, observed_text, page, canonical_text, site)
        if barred:
            known = await self._versions.known(pinned.version_id)
        else:
            erased, known = await asyncio.gather(
                self._versions.erased(pinned.post_id),  # only the site's own word may tell that it is this post
                self._versions.known(pinned.version_id),
            )
            if erased:
                raise Reject("this post was erased on request", letter=False)
            if denied and not known.verified:
                raise Reject(f"{site.name} does not show this page to the public", letter=False)
        content = await self._texts.put_text(pinned.text)
        for fact in facts(pinned, known, content, observation, page, site):
            yield fact

    async def _canonical(self, site: Platform, page: CanonicalPage) -> str | None:
        if page.text is not None:
            return await self._texts.get_text(page.text)
        try:
            return await _extract(site, await self._texts.get_text(page.html), page.post.external_id)
        except UnparseableHtml:
            return None

    async def _observed(self, site: Platform, observation: Observation) -> str:
        if observation.text is not None:
            return normalize(await self._texts.get_text(observation.text))
        if observation.html is not None:
            return await _extract(site, await self._texts.get_text(observation.html), observation.post.external_id)
        return ""


def _site(observation: Observation) -> Platform:
    try:
        return platform(observation.post.platform)
    except KeyError:
        raise Reject(f"no platform {observation.post.platform!r} is known here") from None


async def _extract(site: Platform, html: str, external_id: str) -> str:
    if len(html) >= THREAD_FROM:
        return await asyncio.to_thread(site.extract_text, html, external_id)
    return site.extract_text(html, external_id)
