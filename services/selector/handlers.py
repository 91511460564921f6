"""One round of selection: look, then ask. What cannot be asked for now is left for the next round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import structlog

from kit.clock import Clock
from services.selector.domain import (
    Allowance,
    Budget,
    Pick,
    Settled,
    Spent,
    Suspect,
    allowance,
    midnight,
    request,
    rescue,
    turns,
)
from services.selector.ports import Leadership, Log, Reads

log = structlog.get_logger(__name__)

REMEMBERED: Final = timedelta(days=7)
"""Whose turn it is follows from the selector's last request, if that is not older."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a round would take, in its order, and what it was decided from."""

    spent: Spent
    allowance: Allowance
    picks: tuple[Pick, ...]


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
        """Decide what to take, without taking it."""
        spent = await self._reads.spent(midnight(self._clock.now()), self._analysis)
        allowed = allowance(self._budget, spent, self._batch)
        if not allowed.runs:
            return Selection(spent, allowed, ())
        lost = await self._lost(allowed.runs)
        wanted = await self._reads.candidates(self._analysis, allowed.runs)
        new = [Pick(candidate, request(candidate, self._analysis), "most viewed") for candidate in wanted]
        last = await self._reads.last(self._clock.now() - REMEMBERED, self._analysis)
        return Selection(spent, allowed, turns(lost, new, allowed.runs, last))

    async def select(self) -> int:
        """Request what budget and leadership allow; how many were requested."""
        return await self.take(await self.look()) if self._leadership.leading else 0

    async def take(self, selection: Selection) -> int:
        """Request what was decided on, for as long as this selector leads; how many were requested."""
        requested = 0
        for pick in selection.picks:
            if not self._leadership.leading:
                break
            requested += await self._ask(pick)
        spent = selection.spent
        log.info("selected", requested=requested, runs_today=spent.runs, micro_usd_today=spent.micro_usd)
        return requested

    async def _ask(self, pick: Pick) -> bool:
        try:
            return await self._log.publish(pick.request, pick.candidate.correlation)
        except Exception as error:
            version = str(pick.request.version_id)
            log.warning(
                "not requested, going on with the next", version=version, error=f"{type(error).__name__}: {error}"
            )
            return False

    async def _lost(self, limit: int) -> Sequence[Pick]:
        settled = await self._log.settled()
        before = self._clock.now() - self._patience
        picks: list[Pick] = []
        for suspect in await self._reads.suspects(self._analysis, before, settled.investigator, self._batch):
            if len(picks) < limit and (again := await self._again(suspect, settled)) is not None:
                picks.append(again)
        return picks

    async def _again(self, suspect: Suspect, settled: Settled) -> Pick | None:
        try:
            asked = rescue(await self._log.history(suspect.investigation_id), settled)
        except Exception as error:
            run = str(suspect.investigation_id)
            log.warning("history not read, going on with the next", run=run, error=f"{type(error).__name__}: {error}")
            return None
        return None if asked is None else Pick(suspect.candidate, asked, "lost")
