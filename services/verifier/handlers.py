"""Verifies observations: publishes the site's own page, or why there is none. Exactly one event for each."""

from __future__ import annotations

from collections.abc import AsyncIterator

from contracts.v1 import CanonicalFetched, CanonicalUnavailable, Event, ObservationReceived
from kit.errors import Reject, Retry
from platforms import find_platform
from services.verifier.domain import Overloaded, Unavailable
from services.verifier.ports import Pages


class Verifier:
    """Handles observations."""

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
