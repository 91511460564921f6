"""Ports of ingest."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from contracts.v1.parts import TextRef
from services.ingest.domain import VersionState


class Texts(Protocol):
    """Texts by reference."""

    async def get_text(self, ref: TextRef) -> str:
        """The text itself."""

    async def put_text(self, text: str) -> TextRef:
        """Reference a text; it is stored if it is too large for an event."""


class Versions(Protocol):
    """Versions as the log has them."""

    async def read_state(self, version_id: UUID) -> VersionState:
        """Whether a version is registered and verified. Raises: Retry: the log cannot be read now."""

    async def is_erased(self, post_id: UUID) -> bool:
        """Whether a post was erased. Raises: Retry: the log cannot be read now."""
