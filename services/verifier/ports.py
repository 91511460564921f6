"""Ports of the verifier."""

from __future__ import annotations

from typing import Protocol

from contracts.v1.pages import CanonicalPage, Observation
from contracts.v1.parts import BlobRef, TextRef
from services.verifier.domain import Overloaded, Unavailable


class Pages(Protocol):
    """Pages as their sites serve them."""

    async def page(self, observation: Observation, delivery_count: int) -> CanonicalPage | Unavailable | Overloaded:
        """The canonical page of an observation; a failure of the site is a result, not an error.

        Units: `delivery_count` starts at 1.
        """


class Texts(Protocol):
    """Texts and bytes by reference."""

    async def put(self, data: bytes, media_type: str = ...) -> BlobRef:
        """Store bytes under their hash."""

    async def put_text(self, text: str) -> TextRef:
        """Reference a text; it is stored if it is too large for an event."""


class StoredTexts(Protocol):
    """Texts that were stored."""

    async def get_text(self, ref: TextRef) -> str: ...
