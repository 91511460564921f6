"""Scores publishers of cited sources once a week, and never because a claim is analysed.

What an epoch counts is days old when it closes, so every worker computes the same at any time. Each score is stored
behind the publisher's previous one; an epoch is closed once all of its scores are stored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

import structlog

from contracts.v1 import PublisherEpochClosed, PublisherScored
from kit.clock import Clock
from lifecycle.audits.epochs import Epoch, find_due
from lifecycle.audits.scores import (
    INITIAL,
    Concluded,
    Rating,
    Record,
    compute_accuracy,
    compute_score,
    count_week,
)
from services.curator.ports import Log
from services.curator.record.publishers import KnownPublisher

DIGITS: Final = 4

log = structlog.get_logger(__name__)


class ScoreRecord(Protocol):
    """The tables and the log. Raises: Outage: they could not be read now."""

    async def newest(self) -> int: ...

    async def holds(self, sequence: int) -> bool: ...

    async def closed(self) -> tuple[int, int]: ...

    async def first(self) -> tuple[datetime | None, datetime | None]: ...

    async def week(self, epoch: Epoch) -> Sequence[Concluded]: ...

    async def rated(self, epoch: Epoch) -> Collection[UUID]: ...

    async def publishers(self, ids: Collection[UUID]) -> Mapping[UUID, KnownPublisher]: ...

    async def ratings(self, ids: Collection[UUID], until: datetime) -> Mapping[UUID, Rating]: ...


class WeeklyScores:
    """Closes epochs that are due, one at a time. Shapes: `initial` has scores of publisher types beyond the usual."""

    def __init__(self, record: ScoreRecord, log_: Log, clock: Clock, initial: Mapping[str, int]) -> None:
        self._record = record
        self._log = log_
        self._clock = clock
        self._initial = {**INITIAL, **initial}
        self._since: int | None = None

    async def run_once(self) -> int | None:
        """Close the next epoch that is due; return its number if this worker closed it."""
        closed, follows = await self._record.closed()
        due = find_due(self._clock.now(), closed, *await self._record.first())
        if due is None:
            self._since = None
            return None
        # The tables are used once they hold all that the log held when the epoch was due already.
        if self._since is None:
            self._since = await self._record.newest()
        if not await self._record.holds(self._since):
            return None
        week = await self._record.week(due)
        counted = count_week(week)
        publishers = {*counted, *await self._record.rated(due)}
        known = await self._record.publishers(publishers)
        ratings = await self._record.ratings(publishers, due.rated_until)
        domains = {id_: each.domain for id_, each in known.items()}
        domains |= {each.publisher_id: each.domain for one in week for each in (*one.citations, *one.before)}
        correlation = self._clock.new_id()
        whole = True
        for id_ in sorted(publishers):
            before = known.get(id_)
            if before is None or before.epoch < due.number:
                more, rating = counted.get(id_, Record()), ratings.get(id_)
                event = score_publisher(due, id_, domains[id_], before, more, rating, self._initial)
                whole &= await self._log.publish(event, correlation)
        if not whole:  # another worker's score, which the tables do not hold yet
            return None
        end = PublisherEpochClosed(follows=follows, epoch=due.number, publishers=len(publishers))
        if not await self._log.publish(end, correlation):
            return None
        log.info("scores of publishers closed", epoch=due.number, publishers=len(publishers))
        return due.number


def score_publisher(
    epoch: Epoch,
    id_: UUID,
    domain: str,
    before: KnownPublisher | None,
    more: Record,
    rating: Rating | None,
    initial: Mapping[str, int],
) -> PublisherScored:
    """A publisher's score of an epoch, from its previous counts and what the week adds."""
    record = before.record + more if before else more
    score, why = compute_score(record, rating, initial)
    return PublisherScored(
        follows=before.sequence if before else 0,
        publisher_id=id_,
        domain=domain,
        epoch=epoch.number,
        score=float(score),
        accuracy=float(round(compute_accuracy(record.correct, record.total), DIGITS)),
        correct=record.correct,
        total=record.total,
        correct_weight=record.correct_weight,
        total_weight=record.total_weight,
        citations=record.citations,
        claims=record.claims,
        why=why,
    )
