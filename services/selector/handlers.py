"""One round of selection: look, then ask. What cannot be asked for now is left for the next round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import structlog

from contracts.v1 import InvestigationFailed, InvestigationRequested
from kit.clock import Clock
from lifecycle.rescue import Settled, rescue
from services.selector.domain import (
    Allowance,
    Budget,
    Candidate,
    Hopeless,
    Pick,
    Spent,
    Suspect,
    allowance,
    midnight,
    request,
    shared,
    turns,
)
from services.selector.ports import Leadership, Log, Reads

log = structlog.get_logger(__name__)

REMEMBERED: Final = timedelta(days=7)
"""Whose turn it is follows from the selector's last request, if that is not older."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a round would take, in its order, what it would give up, and what it was decided from."""

    spent: Spent
    allowance: Allowance
    picks: tuple[Pick, ...]
    hopeless: tuple[Hopeless, ...]


class Selector:
    """Requests investigations of the posts with the highest view score, and lost ones again."""

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

    async def look(self) -> Selection:
        """Decide what to take, without taking it. What is given up costs nothing, and so needs no budget."""
        spent = await self._reads.spent(midnight(self._clock.now()), self._analysis)
        allowed = allowance(self._budget, spent, self._batch)
        found = await self._lost()
        hopeless = tuple(each for each in found if isinstance(each, Hopeless))
        if not allowed.runs:
            return Selection(spent, allowed, (), hopeless)
        lost = [each for each in found if isinstance(each, Pick)]
        wanted = await self._reads.candidates(self._analysis, allowed.runs)
        chosen = shared(wanted, spent.by_platform, allowed.runs)
        new = [Pick(candidate, request(candidate, self._analysis), "most viewed") for candidate in chosen]
        last = await self._reads.last(self._clock.now() - REMEMBERED, self._analysis)
        return Selection(spent, allowed, turns(lost, new, allowed.runs, last), hopeless)

    async def select(self) -> int:
        """Request what budget and leadership allow; how many were requested."""
        return await self.take(await self.look()) if self._leadership.leading else 0

    async def take(self, selection: Selection) -> int:
        """Tell what was decided on, for as long as this selector leads; how many were requested."""
        requested = given_up = 0
        for end in selection.hopeless:
            given_up += await self._tell(end.event, end.candidate)
        for pick in selection.picks:
            requested += await self._tell(pick.request, pick.candidate)
        spent = selection.spent
        log.info(
            "selected",
            requested=requested,
            given_up=given_up,
            runs_today=spent.runs,
            micro_usd_today=spent.micro_usd,
        )
        return requested

    async def _tell(self, event: InvestigationRequested | InvestigationFailed, candidate: Candidate) -> bool:
        if not self._leadership.leading:
            return False
        try:
            return await self._log.publish(event, candidate.correlation)
        except Exception as error:
            log.warning(
                "not told, going on with the next",
                fact=event.SUBJECT,
                version=str(event.version_id),
                error=f"{type(error).__name__}: {error}",
            )
            return False

    async def _lost(self) -> Sequence[Pick | Hopeless]:
        settled = await self._log.settled()
        before = self._clock.now() - self._patience
        suspects = await self._reads.suspects(self._analysis, before, settled, self._batch)
        found = [await self._rescued(suspect, settled) for suspect in suspects]
        return [each for each in found if each is not None]

    async def _rescued(self, suspect: Suspect, settled: Settled) -> Pick | Hopeless | None:
        try:
            found = await self._log.investigation(suspect.investigation_id)
            event = rescue(found, settled) if found is not None else None
        except Exception as error:
            run = str(suspect.investigation_id)
            log.warning("history not read, going on with the next", run=run, error=f"{type(error).__name__}: {error}")
            return None
        match event:
            case InvestigationRequested():
                return Pick(suspect.candidate, event, "lost")
            case InvestigationFailed():
                return Hopeless(suspect.candidate, event)
            case None:
                return None
