"""`post.registerObservedVersion`: the only request that may wait for a site, at the first observation of a page.

The answer is sent after the read model shows the version, so the reader's next request finds it. Answers and rejections
of identical observations are cached, and concurrent ones share one answer. Observations of a post that was erased on
request are refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Final
from uuid import UUID

import platforms
from contracts.rpc.observation import (
    MetadataWithHtml,
    Observed,
    ObservedImage,
    ObservedWithId,
    ObservedWithText,
    RegisteredVersion,
)
from contracts.rpc.values import URL_CHARACTERS, is_storable_picture
from contracts.v1.ids import post_id
from contracts.v1.observation import ObservationReceived, ObservationUnverifiable
from contracts.v1.pages import Observation
from contracts.v1.parts import ImageOccurrence
from contracts.v1.version import VersionEvent
from kit.addresses import ip_range_prefix
from kit.cache import Cache
from kit.clock import Clock
from platforms.base import IdentityMismatch
from platforms.markup_cost import UnparseableHtml
from platforms.text import normalize, utf16_length
from platforms.urls import address
from services.gateway.domain import derive_ip_range_key, find_occurrence_fault
from services.gateway.extension.intake import Intake
from services.gateway.ports import Call, Facts, ObservationRejected, Reads, Refused, Texts

_BY_REFERENCE: Final = {"html_content"}
ERASED_TTL_S: Final = 60.0
"""Erasures clear this cache at once; ingest rejects erased posts in any case."""
THREAD_FROM: Final = 65_536
"""Texts of this length are normalised in a thread: they would block the event loop. Units: characters."""


class Registration:
    """Registers observations."""

    def __init__(
        self,
        reads: Reads,
        facts: Facts,
        texts: Texts,
        intake: Intake,
        clock: Clock,
        *,
        cache_entries: int,
        cache_ttl_s: float,
    ) -> None:
        self._reads = reads
        self._intake = intake
        self._facts = facts
        self._texts = texts
        self._clock = clock
        self._answers: Cache[bytes, RegisteredVersion] = Cache(clock, capacity=cache_entries, ttl_s=cache_ttl_s)
        self._refusals: Cache[bytes, str] = Cache(clock, capacity=cache_entries, ttl_s=cache_ttl_s)
        self._erased: Cache[str, frozenset[UUID]] = Cache(clock, capacity=1, ttl_s=ERASED_TTL_S)

    def clear_caches(self) -> None:
        """Drop cached answers, rejections and the list of erased posts."""
        self._answers.clear()
        self._refusals.clear()
        self._erased.clear()

    async def register(self, observed: Observed, call: Call) -> RegisteredVersion:
        """Store an observation and return its version.

        Raises: Refused: the observation contradicts itself, the post was erased, or it may not be stored now.
        Unavailable: it could not be stored or confirmed in time.
        """
        fingerprint = sha256(call.body).digest()
        refusal = self._refusals.get(fingerprint)
        if refusal is not None:
            raise Refused("BAD_REQUEST", refusal)
        return await self._answers.get_or_make(fingerprint, partial(self._register, fingerprint, observed, call))

    async def _register(self, fingerprint: bytes, observed: Observed, call: Call) -> RegisteredVersion:
        generation = self._refusals.generation
        verifiable = platforms.has_public_source(observed.platform)
        accepted = ObservationReceived if verifiable else ObservationUnverifiable
        event = accepted(observation=await self._observation(observed, call))
        try:
            answered = await self._facts.request(event, call.correlation)
        except ObservationRejected as refusal:
            self._refusals.put(fingerprint, refusal.reason, generation=generation)
            raise Refused("BAD_REQUEST", refusal.reason) from refusal
        version = answered.event
        if not isinstance(version, VersionEvent):
            raise TypeError(f"an observation was answered with {type(version).__name__}")
        await self._facts.wait_for_projection(answered.sequence)
        return RegisteredVersion(
            platform=observed.platform,
            external_id=version.post.external_id,
            version_hash=version.version_hash,
            post_version_id=str(version.version_id),
            provenance=version.provenance,
        )

    async def _text(self, observed: Observed) -> str | None:
        """The text to store with the observation; None if it is extracted from the HTML, which must contain text."""
        if isinstance(observed, ObservedWithText):
            raw = observed.observed_content_text
            text = normalize(raw) if len(raw) < THREAD_FROM else await asyncio.to_thread(normalize, raw)
            if not text:
                raise Refused("BAD_REQUEST", "the observed text is blank")
            return text
        try:
            site = platforms.get_platform(observed.platform)
            found = await asyncio.to_thread(site.extract_text, _html(observed) or "")
        except UnparseableHtml as error:
            raise Refused("BAD_REQUEST", f"the page's HTML is not accepted: {error}") from error
        if not found:
            raise Refused("BAD_REQUEST", "the page has no text")
        return None

    async def _observation(self, observed: Observed, call: Call) -> Observation:
        metadata = observed.metadata.model_dump(mode="json", exclude=_BY_REFERENCE, exclude_none=True)
        external_id = observed.external_id if isinstance(observed, ObservedWithId) else None
        try:
            post = platforms.get_platform(observed.platform).check(observed.url, external_id, metadata)
        except IdentityMismatch as mismatch:
            raise Refused("BAD_REQUEST", str(mismatch)) from mismatch
        url = address(observed.url)
        if len(url) > URL_CHARACTERS:
            raise Refused("BAD_REQUEST", f"the URL is longer than {URL_CHARACTERS} characters")
        if post_id(post) in await self._erased.get_or_make("", self._reads.erased_posts):
            reason = "this post was erased on request"
            raise Refused("BAD_REQUEST", reason, "POST_FORGOTTEN" if call.supports_optional_fields else None)
        text = await self._text(observed)
        images = observed.observed_image_occurrences or ()
        fault = find_occurrence_fault(images, None if text is None else utf16_length(text))
        if fault is not None:
            raise Refused("BAD_REQUEST", fault)
        await self._intake.admit(call)
        html = _html(observed)
        return Observation(
            observation_id=self._clock.new_id(),
            post=post,
            url=url,
            text=None if text is None else await self._texts.put_text(text),
            html=None if html is None else await self._texts.put_text(html),
            image_urls=observed.observed_image_urls or (),
            occurrences=_occurrences(images),
            metadata=metadata,
            attested=call.attested,
            network_key=derive_ip_range_key(ip_range_prefix(call.caller.address)),
        )


def _html(observed: Observed) -> str | None:
    return observed.metadata.html_content if isinstance(observed.metadata, MetadataWithHtml) else None


def _occurrences(images: Sequence[ObservedImage]) -> tuple[ImageOccurrence, ...]:
    """The storable pictures, renumbered; most others have URLs that only one browser can resolve."""
    ordered = sorted(images, key=lambda each: each.original_index)
    shown = (image for image in ordered if is_storable_picture(image.source_url))
    return tuple(
        ImageOccurrence(
            original_index=index,
            normalized_text_offset=image.normalized_text_offset,
            source_url=image.source_url,
            caption_text=image.caption_text,
        )
        for index, image in enumerate(shown)
    )
