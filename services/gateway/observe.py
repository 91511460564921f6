"""`post.registerObservedVersion`: the only request that may wait for the internet, at the first sight of a page.

The answer is given after the read model shows the version, so the reader's next request finds it. An identical
observation answered or refused a moment ago is answered from memory; identical ones under way share one answer. Of a
post that was erased on request nothing is stored, not even that somebody saw it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from typing import Final
from uuid import UUID

import platforms
from contracts.rpc.observation import (
    ObservedImage,
    ObservedLessWrong,
    ObservedVersion,
    ObservedWikipedia,
    ObservedX,
    RegisteredVersion,
)
from contracts.rpc.values import URL_CHARACTERS, is_kept_picture
from contracts.v1.ids import post_id
from contracts.v1.observation import ObservationReceived
from contracts.v1.parts import ImageOccurrence, Observation
from contracts.v1.version import VersionEvent
from kit.addresses import ip_range_prefix
from kit.flight import SingleFlight
from platforms.base import IdentityMismatch
from platforms.markup import UnparseableHtml
from platforms.text import normalize, utf16_length
from platforms.urls import address
from services.gateway.domain import ip_range_key, occurrence_fault
from services.gateway.intake import Intake
from services.gateway.memory import Memory
from services.gateway.ports import Call, Clock, Facts, Reads, Refused, RefusedForGood, Texts

_BY_REFERENCE: Final = {"html_content"}
FORGOTTEN_TTL_S: Final = 60.0
"""An erasure is heard of at once; ingest has the last word should it not be."""
THREAD_FROM: Final = 65_536
"""Units: characters. Longer texts take long enough for other readers to notice."""


class Registration:
    """Accepts what readers see."""

    def __init__(
        self,
        reads: Reads,
        facts: Facts,
        texts: Texts,
        intake: Intake,
        clock: Clock,
        *,
        remember: int,
        remember_s: float,
    ) -> None:
        self._reads = reads
        self._intake = intake
        self._facts = facts
        self._texts = texts
        self._clock = clock
        self._answers: Memory[bytes, RegisteredVersion] = Memory(clock, capacity=remember, ttl_s=remember_s)
        self._refusals: Memory[bytes, str] = Memory(clock, capacity=remember, ttl_s=remember_s)
        self._flights: SingleFlight[bytes, RegisteredVersion] = SingleFlight()
        self._forgotten: Memory[str, frozenset[UUID]] = Memory(clock, capacity=1, ttl_s=FORGOTTEN_TTL_S)

    def forget(self) -> None:
        """Remember nothing of what was answered, nor what had been erased till now."""
        self._answers.clear()
        self._refusals.clear()
        self._forgotten.clear()

    async def register(self, seen: ObservedVersion, call: Call) -> RegisteredVersion:
        """Name the version that a reader looks at.

        Raises: Refused: the observation contradicts itself, the post was erased, or it may not be stored now.
        Unavailable: it could not be stored or confirmed in time.
        """
        fingerprint = sha256(call.body).digest()
        known = self._answers.get(fingerprint)
        if known is not None:
            return known
        refusal = self._refusals.get(fingerprint)
        if refusal is not None:
            raise Refused("BAD_REQUEST", refusal)
        return await self._flights.run(fingerprint, lambda: self._register(fingerprint, seen, call))

    async def _register(self, fingerprint: bytes, seen: ObservedVersion, call: Call) -> RegisteredVersion:
        cleared, cleared_refusals = self._answers.cleared, self._refusals.cleared
        event = ObservationReceived(observation=await self._observation(seen, call))
        try:
            answered = await self._facts.ask(
                event, call.correlation, directly=not platforms.has_public_source(event.observation.post.platform)
            )
        except RefusedForGood as refusal:
            self._refusals.put(fingerprint, refusal.reason, cleared=cleared_refusals)
            raise Refused("BAD_REQUEST", refusal.reason) from refusal
        version = answered.event
        if not isinstance(version, VersionEvent):
            raise TypeError(f"an observation was answered with {type(version).__name__}")
        await self._facts.caught_up(answered.sequence)
        answer = RegisteredVersion(
            platform=seen.platform,
            external_id=version.post.external_id,
            version_hash=version.version_hash,
            post_version_id=str(version.version_id),
            provenance=version.provenance,
        )
        self._answers.put(fingerprint, answer, cleared=cleared)
        return answer

    async def _erased(self) -> frozenset[UUID]:
        known, cleared = self._forgotten.get(""), self._forgotten.cleared
        if known is None:
            known = await self._reads.forgotten()
            self._forgotten.put("", known, cleared=cleared)
        return known

    async def _text(self, seen: ObservedVersion) -> str | None:
        """The text to store with the observation; None where it is derived from the HTML, which must hold one."""
        if not isinstance(seen, ObservedLessWrong):
            raw = seen.observed_content_text
            text = normalize(raw) if len(raw) < THREAD_FROM else await asyncio.to_thread(normalize, raw)
            if not text:
                raise Refused("BAD_REQUEST", "the observed text is blank")
            return text
        try:
            found = await asyncio.to_thread(platforms.platform(seen.platform).extract_text, seen.metadata.html_content)
        except UnparseableHtml as error:
            raise Refused("BAD_REQUEST", f"the page's HTML is not taken: {error}") from error
        if not found:
            raise Refused("BAD_REQUEST", "the page has no text")
        return None

    async def _observation(self, seen: ObservedVersion, call: Call) -> Observation:
        metadata = seen.metadata.model_dump(mode="json", exclude=_BY_REFERENCE, exclude_none=True)
        external_id = None if isinstance(seen, ObservedWikipedia) else seen.external_id
        try:
            post = platforms.platform(seen.platform).check(seen.url, external_id, metadata)
        except IdentityMismatch as mismatch:
            raise Refused("BAD_REQUEST", str(mismatch)) from mismatch
        url = address(seen.url)
        if len(url) > URL_CHARACTERS:
            raise Refused("BAD_REQUEST", f"the URL is longer than {URL_CHARACTERS} characters")
        if post_id(post) in await self._erased():
            reason = "this post was erased on request"
            raise Refused("BAD_REQUEST", reason, "POST_FORGOTTEN" if call.reads_more else None)
        text = await self._text(seen)
        images = seen.observed_image_occurrences or ()
        fault = occurrence_fault(images, None if text is None else utf16_length(text))
        if fault is not None:
            raise Refused("BAD_REQUEST", fault)
        await self._intake.admit(call)
        html = None if isinstance(seen, ObservedX) else seen.metadata.html_content
        return Observation(
            observation_id=self._clock.new_id(),
            post=post,
            url=url,
            text=None if text is None else await self._texts.put_text(text),
            html=None if html is None else await self._texts.put_text(html),
            image_urls=seen.observed_image_urls or (),
            occurrences=_occurrences(images),
            metadata=metadata,
            attested=call.attested,
            network_key=ip_range_key(ip_range_prefix(call.caller.address)),
        )


def _occurrences(images: Sequence[ObservedImage]) -> tuple[ImageOccurrence, ...]:
    """The pictures that are kept, numbered anew; most others are of one browser and nobody else could see them."""
    ordered = sorted(images, key=lambda each: each.original_index)
    shown = (image for image in ordered if is_kept_picture(image.source_url))
    return tuple(
        ImageOccurrence(
            original_index=index,
            normalized_text_offset=image.normalized_text_offset,
            source_url=image.source_url,
            caption_text=image.caption_text,
        )
        for index, image in enumerate(shown)
    )
