"""The log as clients of `/events` may see it: without messages about controls, of which nothing is published.

The tables know a control before its first finding: a run takes far longer than the tables lag behind its request.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final, Protocol
from uuid import UUID

from contracts.v1 import ClaimApproved, ClaimRetained, InvestigationCompleted
from kit.ordered import StoredMessage
from kit.pages import LogPage
from services.gateway.public.stream.feed import EventLog

_OF_RUNS: Final = tuple(f"{event.SUBJECT}." for event in (ClaimApproved, ClaimRetained, InvestigationCompleted))


class Controls(Protocol):
    """Which investigations are controls. Raises: Unavailable."""

    async def find_controls(self, investigations: Collection[UUID]) -> Collection[UUID]:
        """The controls among these investigations."""


class WithoutControls:
    """Reads another log and leaves out messages about controls. Raises: Unavailable."""

    def __init__(self, log: EventLog, controls: Controls) -> None:
        self._log = log
        self._controls = controls

    async def page(self, patterns: Sequence[str], after: int, limit: int, max_bytes: int) -> LogPage:
        """The first messages after a sequence; none only if there are no more."""
        while True:
            page = await self._log.page(patterns, after, limit, max_bytes)
            left = await self._leave_out(page.messages)
            if left or not page.more or not page.messages:
                return replace(page, messages=tuple(left))
            after = page.messages[-1].sequence

    async def newest(self) -> int:
        return await self._log.newest()

    async def follow(self, after: int, patterns: Sequence[str]) -> AsyncGenerator[Sequence[StoredMessage], None]:
        async with aclosing(self._log.follow(after, patterns)) as batches:
            async for batch in batches:
                yield await self._leave_out(batch)

    async def _leave_out(self, messages: Sequence[StoredMessage]) -> list[StoredMessage]:
        runs = {_find_run(each.subject) for each in messages} - {None}
        hidden = await self._controls.find_controls([run for run in runs if run is not None]) if runs else ()
        return [each for each in messages if _find_run(each.subject) not in hidden]


def _find_run(subject: str) -> UUID | None:
    """The investigation that a message is about, or None."""
    return UUID(subject.rpartition(".")[2]) if subject.startswith(_OF_RUNS) else None
