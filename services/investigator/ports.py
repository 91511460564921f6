"""What the investigator needs from outside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from contracts.v1.parts import InvestigationInput, TextRef
from kit.models.base import (
    KEY_UNUSABLE,
    Article,
    Brief,
    Checkpoint,
    Decision,
    Finished,
    Image,
    Limits,
    Model,
    ModelError,
    Published,
)
from kit.runs import Keys
from lifecycle.investigation import LoggedEvent
from services.investigator.domain import Prior


class Log(Protocol):
    """What has happened so far."""

    async def history(self, investigation_id: UUID) -> Sequence[LoggedEvent]:
        """One investigation's own facts in order. Raises: Retry: the log cannot be read now."""
        ...

    async def snapshot(self, version_id: UUID) -> InvestigationInput | None:
        """What is to be investigated, as the log knows the version now; None if it does not know it."""
        ...


class Priors(Protocol):
    """What was found before."""

    async def prior(self, post_id: UUID, version_id: UUID, analysis: str) -> Prior | None:
        """The newest complete result on another version, if its text was verified. Raises: Retry."""
        ...


class Research(Protocol):
    """What a model may look up."""

    def calls(self, post_id: UUID, analysis: str) -> Mapping[str, Callable[[str], Awaitable[str]]]:
        """The answer to each research tool's arguments, by the tool's name; answering never raises."""
        ...


class Blobs(Protocol):
    """Texts by reference, pictures by hash."""

    async def get_text(self, ref: TextRef) -> str:
        """The text itself. Raises: LookupError: it is not there, or was altered."""
        ...

    async def put_text(self, text: str, answers: str | None = None) -> TextRef:
        """Name a text, storing it where it is too large for an event; `answers` is the step it is the answer to."""
        ...

    async def answers(self, step: str) -> Sequence[TextRef]:
        """What was stored as an answer to a step, told or not."""
        ...

    async def get(self, sha256: str) -> bytes:
        """The bytes with this hash."""
        ...


__all__ = [
    "KEY_UNUSABLE",
    "Article",
    "Blobs",
    "Brief",
    "Checkpoint",
    "Decision",
    "Finished",
    "Image",
    "Keys",
    "Limits",
    "Log",
    "Model",
    "ModelError",
    "Priors",
    "Published",
    "Research",
]
