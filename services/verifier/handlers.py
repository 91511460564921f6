"""Verifies observations and proofs of authors: publishes the page or why there is none, or what it proves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from contracts.v1 import (
    AppealProofChecked,
    AppealProofOffered,
    CanonicalFetched,
    CanonicalUnavailable,
    Event,
    ObservationReceived,
)
from contracts.v1.appeal import ProofOutcome, make_proof_token
from kit.clock import Clock
from kit.errors import Reject, Retry
from platforms import find_platform
from platforms.base import Platform
from services.verifier.domain import Overloaded, Unavailable
from services.verifier.ports import Pages, StoredTexts


class Verifier:
    """Handles observations: exactly one event for each."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def on_observation_received(self, event: ObservationReceived, delivery_count: int) -> AsyncIterator[Event]:
        """Yield the page, or why there is none.

        Raises: Retry: too many observations of this site wait. Reject: unknown platform.
        """
        if find_platform(event.observation.post.platform) is None:
            raise Reject(f"no platform {event.observation.post.platform!r} is known here")
        match await self._pages.page(event.observation, delivery_count):
            case Overloaded(after_s):
                raise Retry(after_s, "too many observations of this site")
            case Unavailable(reason, detail):
                yield CanonicalUnavailable(observation=event.observation, reason=reason, detail=detail)
            case page:
                yield CanonicalFetched(observation=event.observation, page=page)


def judge_proof(offered: AppealProofOffered, owner: str | None, words: str) -> ProofOutcome:
    """What a page proves, from its owner and the owner's words on it. Pure."""
    if owner != offered.author:
        return "OTHER_AUTHOR"
    return "PROVEN" if make_proof_token(offered.appeal_id) in words else "NO_TOKEN"


class AuthorProofs:
    """Checks whether a page is by the author of a post, and holds the token of their appeal."""

    def __init__(self, pages: Pages, texts: StoredTexts, clock: Clock) -> None:
        self._pages = pages
        self._texts = texts
        self._clock = clock

    async def on_appeal_proof_offered(self, event: AppealProofOffered, delivery_count: int) -> AsyncIterator[Event]:
        """Yield what the page proves. Raises: Retry: too many requests of this site wait. Reject: unknown platform."""
        site = find_platform(event.observation.post.platform)
        if site is None:
            raise Reject(f"no platform {event.observation.post.platform!r} is known here")
        outcome: ProofOutcome = "EXPIRED"
        if not event.has_expired(self._clock.now()):
            outcome = await self._look(site, event, delivery_count)
        yield AppealProofChecked(
            proof_id=event.observation.observation_id,
            appeal_id=event.appeal_id,
            investigation_id=event.investigation_id,
            outcome=outcome,
        )

    async def _look(self, site: Platform, event: AppealProofOffered, delivery_count: int) -> ProofOutcome:
        match await self._pages.page(event.observation, delivery_count):
            case Overloaded(after_s):
                raise Retry(after_s, "too many requests of this site")
            case Unavailable():
                return "UNAVAILABLE"
            case page:
                html = await self._texts.get_text(page.html)
                words = await asyncio.to_thread(site.own_words, html, page.post.external_id)
                return judge_proof(event, site.owner(page.metadata), words)
