"""Ports of the investigator."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from contracts.v1.parts import InvestigationInput, TextRef
from kit.runs import TextStore
from lifecycle.investigation import LoggedEvent
from services.investigator.domain import Prior


class Log(Protocol):
    """The log."""

    async def history(self, investigation_id: UUID) -> Sequence[LoggedEvent]:
        """The facts of one investigation in order. Raises: Retry: the log cannot be read now."""

    async def snapshot(self, version_id: UUID) -> InvestigationInput | None:
        """The input of an investigation of this version; None if the log does not have it."""


class Priors(Protocol):
    """Earlier results."""

    async def prior(self, post_id: UUID, version_id: UUID, analysis: str) -> Prior | None:
        """The newest complete result on another version, if its text was verified. Raises: Retry."""


class Research(Protocol):
    """The research tools."""

    def calls(self, post_id: UUID, analysis: str) -> Mapping[str, Callable[[str], Awaitable[str]]]:
        """The functions that carry out each tool's calls, by its name; they never raise."""


class Blobs(TextStore[TextRef], Protocol):
    """Texts by reference, pictures by hash."""

    async def get(self, sha256: str) -> bytes:
        """The bytes with this hash."""
