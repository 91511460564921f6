"""Redeliver past facts to one consumer, selected by time, site and aggregate.

They go through the consumer's subject of `ERRATA_REDELIVERY`, so no other consumer receives them and the log does not
change. Ids derive from content, so an unchanged handler publishes only duplicates; a changed one may publish new facts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import nats.js.errors

from contracts.topology import Consumer, stream_of
from contracts.v1 import Envelope, Event, Undecodable, decode
from contracts.v1.pages import Observation
from contracts.v1.parts import PostRef
from kit.bus import Bus
from kit.dead_letters import Origin, redeliver
from kit.ordered import OrderedLog, StoredMessage


@dataclass(frozen=True)
class Selection:
    """Criteria for facts; a criterion that is None matches all.

    Shapes: `since` (inclusive) and `until` (exclusive) are about the time a fact was stored. `platforms` maps versions
    and posts to their platform, for facts that do not name one.
    """

    since: datetime | None = None
    until: datetime | None = None
    platform: str | None = None
    aggregate: UUID | None = None
    platforms: Mapping[UUID, str] = field(default_factory=dict)

    def matches(self, stored_at: datetime, envelope: Envelope) -> bool:
        """Whether a fact is selected."""
        if self.since is not None and stored_at < self.since:
            return False
        if self.until is not None and stored_at >= self.until:
            return False
        if self.aggregate is not None and self.aggregate not in aggregate_ids(envelope.event):
            return False
        return self.platform is None or self._platform(envelope.event) == self.platform

    def _platform(self, event: Event) -> str | None:
        observation = getattr(event, "observation", None)
        post = observation.post if isinstance(observation, Observation) else getattr(event, "post", None)
        if isinstance(post, PostRef):
            return post.platform
        return next((self.platforms[id_] for id_ in aggregate_ids(event) if id_ in self.platforms), None)


@dataclass(frozen=True)
class SelectedFact:
    """A fact that matches a selection."""

    record: StoredMessage
    envelope: Envelope


def aggregate_ids(event: Event) -> set[UUID]:
    """The ids of all aggregates that a fact names."""
    found = {id_ for id_ in vars(event).values() if isinstance(id_, UUID)}
    observation = getattr(event, "observation", None)
    if isinstance(observation, Observation):
        found.add(observation.observation_id)
    return found


async def select_facts(bus: Bus, consumer: Consumer, selection: Selection) -> AsyncIterator[SelectedFact]:
    """The facts of a consumer that match, in their order, up to the present end of the stream."""
    stream = stream_of(consumer.event).name
    try:
        end = (await bus.jetstream.get_msg(stream, subject=consumer.filter)).seq or 0
    except nats.js.errors.NotFoundError:
        return
    async for batch in OrderedLog(bus, stream, 1, subjects=[consumer.filter]).batches():
        for record in batch:
            if record.sequence > end:
                return
            try:
                envelope = decode(record.subject, record.data)
            except Undecodable:
                continue
            if selection.matches(record.time, envelope):
                yield SelectedFact(record, envelope)
        if batch[-1].sequence >= end:
            return


async def deliver(bus: Bus, consumer: Consumer, fact: SelectedFact, run: str) -> None:
    """Redeliver one fact to the consumer; within the replay named `run`, each fact is delivered once.

    Raises: BusError: not stored.
    """
    record = fact.record
    origin = Origin(record.stream, record.sequence, record.subject)
    await redeliver(bus, consumer, origin, record.data, f"replay:{run}:{record.sequence}")


class RateLimiter:
    """Limits calls to `per_s` a second; None: no limit."""

    def __init__(self, per_s: float | None) -> None:
        self._every_s = 1 / per_s if per_s else 0.0
        self._next_s: float | None = None

    async def wait(self) -> None:
        """Wait until the next call is allowed."""
        if not self._every_s:
            return
        now = asyncio.get_running_loop().time()
        turn = now if self._next_s is None else max(now, self._next_s)
        self._next_s = turn + self._every_s
        if turn > now:
            await asyncio.sleep(turn - now)
