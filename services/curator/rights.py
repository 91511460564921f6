"""Rights: quotes from an address are withdrawn as soon as their owner asks, a claim's analyses once a moderator agrees.

The log is read, not a table that may lag behind it: whatever was analysed before the objection is found, and what was
withdrawn already is not withdrawn again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from uuid import UUID

from contracts.v1 import (
    AssertionAnalysed,
    AssertionAnalysisRequested,
    AssertionInvalidated,
    Event,
    FlagRaised,
    FlagResolved,
)
from kit.clock import Clock
from services.curator.ports import AssertionLog, Removal

ISSUE: Final = "RIGHTS"
KEPT: Final = timedelta(days=91)
"""The words of older analyses have expired."""


@dataclass
class Objected:
    """What an objection is about, from facts in the order of the log. Pure."""

    flag: FlagRaised
    analyses: dict[UUID, AssertionAnalysed] = field(default_factory=dict)
    withdrawn: set[UUID | None] = field(default_factory=set)
    _assertions: set[UUID] = field(default_factory=set)

    def apply(self, event: Event) -> None:
        """Apply the next fact."""
        match event:
            case AssertionAnalysisRequested() if event.canonical_sha256 == self.flag.claim_sha256:
                self._assertions.add(event.assertion_id)
            case AssertionAnalysed() if self._is_about(event):
                self.analyses[event.analysis_id] = event
            case AssertionInvalidated(why="RIGHTS"):
                self.withdrawn.add(event.analysis_id)

    def _is_about(self, event: AssertionAnalysed) -> bool:
        return event.assertion_id in self._assertions or self.flag.url_sha256 in {
            each.url_sha256 for each in event.citations
        }


class Withdrawals:
    """Withdraws analyses."""

    def __init__(self, log: AssertionLog, texts: Removal, clock: Clock) -> None:
        self._log = log
        self._texts = texts
        self._clock = clock

    async def on_flag_raised(self, event: FlagRaised, delivery_count: int) -> AsyncIterator[Event]:
        """Withdraw the analyses that quote an objection's address. An objection to a claim waits for a moderator."""
        if event.url_sha256 is not None:
            async for fact in self._withdraw(event):
                yield fact

    async def on_flag_resolved(self, event: FlagResolved, delivery_count: int) -> AsyncIterator[Event]:
        """Withdraw the analyses of a claim if a moderator agreed."""
        flag = await self._log.find_flag(event.flag_id) if event.status == "ACCEPTED" else None
        if flag is not None and flag.claim_sha256 is not None:
            async for fact in self._withdraw(flag):
                yield fact

    async def _withdraw(self, flag: FlagRaised) -> AsyncIterator[Event]:
        """Invalidate the analyses that an objection is about, and remove their words."""
        if flag.issue_type != ISSUE:
            return
        objected, kinds = Objected(flag), (AssertionAnalysisRequested, AssertionAnalysed, AssertionInvalidated)
        async for event in self._log.read(kinds, self._clock.now() - KEPT):
            objected.apply(event)
        for id_, analysis in objected.analyses.items():
            if id_ not in objected.withdrawn:
                yield AssertionInvalidated(assertion_id=analysis.assertion_id, analysis_id=id_, why=ISSUE)
            await self._texts.remove(analysis.body)
