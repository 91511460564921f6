"""What the investigator needs from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from contracts.v1.parts import InvestigationInput, TextRef
from kit.models.base import Finished, Image, InvestigationBrief, Model, ModelError, Submission
from services.investigator.domain import Entry


class Log(Protocol):
    """What has happened so far."""

    async def history(self, investigation_id: UUID) -> Sequence[Entry]:
        """One investigation's own facts in order. Raises: Retry: the log cannot be read now."""
        ...

    async def snapshot(self, version_id: UUID) -> InvestigationInput | None:
        """What is to be investigated, as the log knows the version now; None if it does not know it."""
        ...


class Blobs(Protocol):
    """Texts by reference, pictures by hash."""

    async def get_text(self, ref: TextRef) -> str:
        """The text itself."""
        ...

    async def put_text(self, text: str) -> TextRef:
        """Name a text, storing it where it is too large for an event."""
        ...

    async def get(self, sha256: str) -> bytes:
        """The bytes with this hash."""
        ...


class Keys(Protocol):
    """Readers' own keys."""

    async def open(self, investigation: UUID) -> str:
        """The key of a run. Raises: LookupError: it expired or cannot be opened."""
        ...


__all__ = ["Blobs", "Finished", "Image", "InvestigationBrief", "Keys", "Log", "Model", "ModelError", "Submission"]
