"""What the selector needs from outside."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from contracts.v1 import InvestigationRequested
from services.selector.domain import Candidate


class Reads(Protocol):
    """The read model."""

    async def taken_since(self, since: datetime, analysis: str) -> int:
        """Investigations that a selector has requested since then."""
        ...

    async def candidates(self, analysis: str, limit: int) -> Sequence[Candidate]:
        """The next posts, most wanted first."""
        ...


class Requests(Protocol):
    """The log."""

    async def publish(self, request: InvestigationRequested, correlation: UUID) -> bool:
        """Ask for an investigation; False if somebody else did before."""
        ...


class Leadership(Protocol):
    """One selector works at a time."""

    async def hold(self) -> bool:
        """Become or stay the leader; False while another one is."""
        ...
