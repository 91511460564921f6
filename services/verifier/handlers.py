"""A reader saw a post: say what the site itself says, or that it says nothing.

There is always one answer, unless the site has no public source: then ingest has taken the observation already.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from contracts.v1 import CanonicalFetched, CanonicalUnavailable, Event, ObservationReceived
from kit.errors import Retry
from platforms import has_public_source
from services.verifier.domain import Crowded, Unavailable
from services.verifier.ports import Pages


class Verifier:
    """Looks pages up."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def on_observation_received(self, event: ObservationReceived, attempt: int) -> AsyncIterator[Event]:
        """Yield the page, or why there is none. Raises: Retry: so many ask the site that others would have to wait."""
        if not has_public_source(event.observation.post.platform):
            return
        match await self._pages.page(event.observation, attempt):
            case Crowded(after_s):
                raise Retry(after_s, "too many ask this site at once")
            case Unavailable(reason, detail):
                yield CanonicalUnavailable(observation=event.observation, reason=reason, detail=detail)
            case page:
                yield CanonicalFetched(observation=event.observation, page=page)
