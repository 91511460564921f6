"""Runs as the log shows them; how a run was started is remembered, since every claim of the run asks for it."""

from __future__ import annotations

from collections import OrderedDict
from uuid import UUID

from contracts.v1 import ClaimApproved, ClaimProposed, ClaimRejected, ClaimValidationFailed, InvestigationStarted
from kit.bus import Bus
from kit.history import history, latest

REMEMBERED = 1_000


class LogRuns:
    """Runs, read from the log."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._started: OrderedDict[UUID, InvestigationStarted] = OrderedDict()

    async def started(self, investigation_id: UUID) -> InvestigationStarted | None:
        """The newest start; the input is the same in all of them."""
        known = self._started.get(investigation_id)
        if known is not None:
            self._started.move_to_end(investigation_id)
            return known
        for past in await latest(self._bus, f"{InvestigationStarted.SUBJECT}.{investigation_id}"):
            if isinstance(past.envelope.event, InvestigationStarted):
                self._started[investigation_id] = past.envelope.event
                if len(self._started) > REMEMBERED:
                    self._started.popitem(last=False)
                return past.envelope.event
        return None

    async def judged(self, proposed: ClaimProposed) -> bool:
        """Whether any verdict of this round on the claim is in the log."""
        return any(
            isinstance(past.envelope.event, ClaimApproved | ClaimRejected | ClaimValidationFailed)
            and (past.envelope.event.claim_id, past.envelope.event.round) == (proposed.claim_id, proposed.round)
            for past in await history(self._bus, proposed.key())
        )
