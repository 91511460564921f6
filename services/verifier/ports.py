"""What the verifier needs from outside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from contracts.v1.parts import CanonicalPage, Observation, TextRef
from services.verifier.domain import Crowded, Unavailable


class Pages(Protocol):
    """Pages as their sites serve them."""

    async def page(self, observation: Observation, attempt: int) -> CanonicalPage | Unavailable | Crowded:
        """The page an observation is of; trouble with the site is an answer, not an error.

        Units: `attempt` counts, from 1, how often this observation asks.
        """
        ...


class Shared(Protocol):
    """What verifier processes find out for one another."""

    async def get(
        self, key: str, look_up: Callable[[], Awaitable[tuple[CanonicalPage | Unavailable, float]]], lease_s: float
    ) -> CanonicalPage | Unavailable:
        """What another process found or is finding out, else what the look-up brings.

        Units: the look-up says for how many seconds its outcome can be believed; it has `lease_s` seconds.
        """
        ...


class Texts(Protocol):
    """Texts by reference."""

    async def put_text(self, text: str) -> TextRef:
        """Name a text, storing it where it is too large for an event."""
        ...
