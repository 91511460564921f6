"""Runs, read from the log. The start of a run is cached, since every claim of the run needs it."""

from __future__ import annotations

import asyncio
from functools import partial
from math import inf
from typing import NamedTuple
from uuid import UUID

from contracts.v1 import (
    ClaimProposed,
    ClaimValidationStarted,
    InvestigationCompleted,
    InvestigationFailed,
    InvestigationStarted,
)
from kit.bus import Bus
from kit.cache import Cache
from kit.errors import Outage
from kit.history import read_history, read_latest
from lifecycle.investigation import Investigation, ends_round
from lifecycle.reviews import ReviewState, StartedReview, fold_review_state
from services.validator.ends import EndedRounds

CACHE_SIZE = 1_000
LOG_LAG_S = 0.2


class Start(NamedTuple):
    """The start of a run, and its sequence."""

    sequence: int
    event: InvestigationStarted


class LogRuns:
    """Runs, read from the log."""

    def __init__(self, bus: Bus, ends: EndedRounds) -> None:
        self._bus = bus
        self._ends = ends
        # Claims of one run come together, and each needs the start of its attempt or of a later one.
        self._started: Cache[tuple[UUID, int], Start | None] = Cache(
            capacity=CACHE_SIZE, ttl_s=lambda _, start: inf if start else 0.0
        )

    async def find_start(self, proposed: ClaimProposed) -> InvestigationStarted | None:
        """The newest start, or None. All starts have the same input, and those of one round the same payer.

        A start of an earlier attempt than the claim's may belong to another round and is ignored.
        """
        run, attempt = proposed.investigation_id, proposed.attempt
        start = await self._started.get_or_make((run, attempt), partial(self._newest_start, run, attempt))
        return start and start.event

    async def _newest_start(self, run: UUID, at_least: int) -> Start | None:
        for past in await read_latest(self._bus, f"{InvestigationStarted.SUBJECT}.{run}"):
            event = past.envelope.event
            if isinstance(event, InvestigationStarted) and event.attempt >= at_least:
                return Start(past.sequence, event)
        return None

    async def is_over(self, proposed: ClaimProposed) -> bool:
        """Whether the round has ended: by the ends received since the claim's attempt started, else by the log."""
        start = self._started.get((proposed.investigation_id, proposed.attempt))
        if start is not None and start.event.attempt == proposed.attempt and self._ends.covers(start.sequence):
            return self._ends.is_over(proposed.investigation_id, proposed.round)
        ends = await read_latest(
            self._bus, *(f"{end.SUBJECT}.{proposed.key()}" for end in (InvestigationFailed, InvestigationCompleted))
        )
        return any(ends_round(proposed.round, end.envelope.event) for end in ends)

    async def review_state(self, proposed: ClaimProposed) -> ReviewState:
        """The state of the claim's reviews, read from the log each time."""
        facts, starts = await asyncio.gather(
            read_history(self._bus, proposed.key()),
            read_latest(self._bus, f"{ClaimValidationStarted.SUBJECT}.{proposed.claim_id}"),
        )
        begun = [
            StartedReview(past.sequence, past.envelope.event)
            for past in starts
            if isinstance(past.envelope.event, ClaimValidationStarted)
        ]
        investigation = Investigation.fold(facts)
        if investigation is None:
            raise Outage(LOG_LAG_S, "the log does not show the request of the run yet")
        return fold_review_state(proposed, investigation, begun[-1] if begun else None)
