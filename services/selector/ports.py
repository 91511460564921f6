"""Ports of the selector. Unreachable servers raise; the round continues with the rest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from contracts.v1 import InvestigationFailed, InvestigationRequested
from lifecycle.investigation import Investigation
from lifecycle.rescue import Watermarks
from services.selector.domain import Candidate, Overdue, Reason, Spent


class Reads(Protocol):
    """The read model."""

    async def spent(self, since: datetime, analysis: str) -> Spent:
        """The selector's requests and cost since then."""

    async def last_reason(self, since: datetime, analysis: str) -> Reason | None:
        """The reason of the selector's last request; None if there is none since then."""

    async def candidates(self, analysis: str, limit: int) -> Sequence[Candidate]:
        """The next posts of each platform, at most `limit`, confirmed ones and then most viewed first.

        Without those that are open, ended, or confirmed by too few.
        """

    async def overdue(self, analysis: str, before: datetime, settled: Watermarks, limit: int) -> Sequence[Overdue]:
        """Open investigations of any version that should have progressed before then, oldest request first.

        Only those whose request the investigator has settled.
        """


class Log(Protocol):
    """The log, and the positions of its consumers."""

    async def settled(self) -> Watermarks:
        """The positions of the workers."""

    async def investigation(self, investigation_id: UUID) -> Investigation | None:
        """One investigation as the log has it; None if it was never requested."""

    async def publish(self, event: InvestigationRequested | InvestigationFailed, correlation: UUID) -> bool:
        """Request an investigation, or end one; False if another process was faster."""


class Leadership(Protocol):
    """Only one selector works at a time."""

    @property
    def is_leader(self) -> bool:
        """Whether this process is the one."""
