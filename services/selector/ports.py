"""What the selector needs from outside. Whatever cannot be reached raises; the round goes on with the rest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from contracts.v1 import InvestigationFailed, InvestigationRequested
from lifecycle.investigation import Investigation
from lifecycle.rescue import Settled
from services.selector.domain import Candidate, Spent, Suspect, Why


class Reads(Protocol):
    """The read model."""

    async def spent(self, since: datetime, analysis: str) -> Spent:
        """What the selector has requested and spent since then."""
        ...

    async def last(self, since: datetime, analysis: str) -> Why | None:
        """What the selector's last request was made for; None if it has made none since then."""
        ...

    async def candidates(self, analysis: str, limit: int) -> Sequence[Candidate]:
        """The next posts of each platform, so many at most, confirmed ones and then most viewed first.

        Those under way or over, and those that too few vouch for, are not among them.
        """
        ...

    async def suspects(self, analysis: str, before: datetime, settled: Settled, limit: int) -> Sequence[Suspect]:
        """Open investigations that should have moved on before then, of any version, longest asked for first.

        Only those whose request the investigator has settled.
        """
        ...


class Log(Protocol):
    """The log, and who has what of it in hand."""

    async def settled(self) -> Settled:
        """How far the workers are."""
        ...

    async def investigation(self, investigation_id: UUID) -> Investigation | None:
        """One investigation as the log has it; None if nobody ever asked for it."""
        ...

    async def publish(self, event: InvestigationRequested | InvestigationFailed, correlation: UUID) -> bool:
        """Ask for an investigation, or end one; False if somebody else was faster."""
        ...


class Leadership(Protocol):
    """One selector works at a time."""

    @property
    def leading(self) -> bool:
        """Whether this one does."""
        ...
