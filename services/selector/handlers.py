"""One round of selection: plan, then publish. What cannot be published now is left for the next round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import structlog

from contracts.v1 import InvestigationFailed, InvestigationRequested
from kit.clock import Clock
from lifecycle.rescue import Watermarks, rescue
from services.selector.domain import (
    Abandoned,
    Allowance,
    Budget,
    Candidate,
    Overdue,
    Pick,
    Spent,
    alternate,
    find_allowance,
    make_request,
    share_by_platform,
    start_of_day,
)
from services.selector.ports import Leadership, Log, Reads

log = structlog.get_logger(__name__)

LAST_WITHIN: Final = timedelta(days=7)
"""An older last request does not decide which list comes first."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a round requests, in order, what it abandons, and the budget by which it decided."""

    spent: Spent
    allowance: Allowance
    picks: tuple[Pick, ...]
    abandoned: tuple[Abandoned, ...]


class Selector:
    """Requests investigations of the posts with the highest view score, and repeats lost ones."""

    def __init__(
        self,
        reads: Reads,
        log_: Log,
        leadership: Leadership,
        clock: Clock,
        *,
        analysis: str,
        budget: Budget,
        batch: int,
        patience_s: float,
    ) -> None:
        self._reads = reads
        self._log = log_
        self._leadership = leadership
        self._clock = clock
        self._analysis = analysis
        self._budget = budget
        self._batch = batch
        self._patience = timedelta(seconds=patience_s)

    async def plan(self) -> Selection:
        """Decide what to request, without publishing it. Abandoning a run costs nothing and needs no budget."""
        spent = await self._reads.spent(start_of_day(self._clock.now()), self._analysis)
        allowed = find_allowance(self._budget, spent, self._batch)
        found = await self._find_lost()
        abandoned = tuple(each for each in found if isinstance(each, Abandoned))
        if not allowed.runs:
            return Selection(spent, allowed, (), abandoned)
        lost = [each for each in found if isinstance(each, Pick)]
        wanted = await self._reads.candidates(self._analysis, allowed.runs)
        chosen = share_by_platform(wanted, spent.by_platform, allowed.runs)
        new = [Pick(candidate, make_request(candidate, self._analysis), "most viewed") for candidate in chosen]
        last = await self._reads.last_reason(self._clock.now() - LAST_WITHIN, self._analysis)
        return Selection(spent, allowed, alternate(lost, new, allowed.runs, last), abandoned)

    async def select(self) -> int:
        """Run one round if this process leads; return the number of requests."""
        return await self.publish(await self.plan()) if self._leadership.is_leader else 0

    async def publish(self, selection: Selection) -> int:
        """Publish the selection, as long as this process leads; return the number of requests."""
        requested = abandoned = 0
        for end in selection.abandoned:
            abandoned += await self._publish(end.event, end.candidate)
        for pick in selection.picks:
            requested += await self._publish(pick.request, pick.candidate)
        spent = selection.spent
        log.info(
            "selected",
            requested=requested,
            abandoned=abandoned,
            runs_today=spent.runs,
            micro_usd_today=spent.micro_usd,
        )
        return requested

    async def _publish(self, event: InvestigationRequested | InvestigationFailed, candidate: Candidate) -> bool:
        if not self._leadership.is_leader:
            return False
        try:
            return await self._log.publish(event, candidate.correlation)
        except Exception as error:
            log.warning(
                "event not published, continuing with the next",
                fact=event.SUBJECT,
                version=str(event.version_id),
                error=f"{type(error).__name__}: {error}",
            )
            return False

    async def _find_lost(self) -> Sequence[Pick | Abandoned]:
        settled = await self._log.settled()
        before = self._clock.now() - self._patience
        suspects = await self._reads.overdue(self._analysis, before, settled, self._batch)
        found = [await self._rescue(suspect, settled) for suspect in suspects]
        return [each for each in found if each is not None]

    async def _rescue(self, suspect: Overdue, settled: Watermarks) -> Pick | Abandoned | None:
        try:
            found = await self._log.investigation(suspect.investigation_id)
            event = rescue(found, settled) if found is not None else None
        except Exception as error:
            run = str(suspect.investigation_id)
            log.warning("history not read, continuing with the next", run=run, error=f"{type(error).__name__}: {error}")
            return None
        match event:
            case InvestigationRequested():
                return Pick(suspect.candidate, event, "lost")
            case InvestigationFailed():
                return Abandoned(suspect.candidate, event)
            case None:
                return None
