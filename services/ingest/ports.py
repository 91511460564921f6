"""What ingest needs from outside."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from contracts.v1.parts import TextRef
from services.ingest.domain import Known


class Texts(Protocol):
    """Texts by reference."""

    async def get_text(self, ref: TextRef) -> str:
        """The text itself."""
        ...

    async def put_text(self, text: str) -> TextRef:
        """Name a text, storing it where it is too large for an event."""
        ...


class Versions(Protocol):
    """What the log says about versions."""

    async def known(self, version_id: UUID) -> Known:
        """Whether a version is registered and verified. Raises: Retry: the log cannot be read now."""
        ...

    async def erased(self, post_id: UUID) -> bool:
        """Whether somebody had a post erased. Raises: Retry: the log cannot be read now."""
        ...
