"""Runs as the log shows them; how a run was started is remembered, since every claim of the run asks for it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from functools import partial
from uuid import UUID

from contracts.v1 import (
    ClaimProposed,
    ClaimValidationStarted,
    InvestigationCompleted,
    InvestigationFailed,
    InvestigationStarted,
)
from kit.bus import Bus
from kit.errors import Outage
from kit.flight import SingleFlight
from kit.history import history, latest
from lifecycle.investigation import Investigation, ends_round
from lifecycle.reviews import Begun, ReviewState, review_state
from services.validator.ends import Ends

REMEMBERED = 1_000
LOG_LAG_S = 0.2


class LogRuns:
    """Runs, read from the log."""

    def __init__(self, bus: Bus, ends: Ends) -> None:
        self._bus = bus
        self._ends = ends
        self._started: OrderedDict[UUID, tuple[int, InvestigationStarted]] = OrderedDict()
        self._looks: SingleFlight[tuple[UUID, int], tuple[int, InvestigationStarted] | None] = SingleFlight()

    async def started(self, proposed: ClaimProposed) -> InvestigationStarted | None:
        """The newest start; the input is the same in all of them, who pays is the same in those of one round.

        A start that is older than the claim may be another round's, and is not believed.
        """
        run = proposed.investigation_id
        known = self._started.get(run)
        if known is None or known[1].attempt < proposed.attempt:
            # Claims of one run come together, and each waits for at least the attempt it was made in.
            known = await self._looks.run((run, proposed.attempt), partial(self._newest_start, run))
        if known is None or known[1].attempt < proposed.attempt:
            return None
        self._started[run] = known
        self._started.move_to_end(run)
        if len(self._started) > REMEMBERED:
            self._started.popitem(last=False)
        return known[1]

    async def _newest_start(self, run: UUID) -> tuple[int, InvestigationStarted] | None:
        for past in await latest(self._bus, f"{InvestigationStarted.SUBJECT}.{run}"):
            if isinstance(past.envelope.event, InvestigationStarted):
                return past.sequence, past.envelope.event
        return None

    async def over(self, proposed: ClaimProposed) -> bool:
        """Whether the round has ended: by what was heard since the claim's attempt began, else by the log."""
        known = self._started.get(proposed.investigation_id)
        if known is not None and known[1].attempt == proposed.attempt and self._ends.knows(known[0]):
            return self._ends.over(proposed.investigation_id, proposed.round)
        ends = await latest(
            self._bus, *(f"{end.SUBJECT}.{proposed.key()}" for end in (InvestigationFailed, InvestigationCompleted))
        )
        return any(ends_round(proposed.round, end.envelope.event) for end in ends)

    async def review_state(self, proposed: ClaimProposed) -> ReviewState:
        """What the log says of the claim, read anew each time."""
        facts, starts = await asyncio.gather(
            history(self._bus, proposed.key()),
            latest(self._bus, f"{ClaimValidationStarted.SUBJECT}.{proposed.claim_id}"),
        )
        begun = [
            Begun(past.sequence, past.envelope.event)
            for past in starts
            if isinstance(past.envelope.event, ClaimValidationStarted)
        ]
        investigation = Investigation.of(facts)
        if investigation is None:
            raise Outage(LOG_LAG_S, "the log does not show the request of the run yet")
        return review_state(proposed, investigation, begun[-1] if begun else None)
