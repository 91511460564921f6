"""Delivering facts of the past to one consumer again, chosen by time, site and aggregate.

They go through the consumer's subject of `ERRATA_AGAIN`, so nobody else sees them and the log does not change. Ids
derive from content, so what comes of them is what came of them before; a handler that has changed may tell more.
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
from contracts.v1.parts import Observation, PostRef
from kit.bus import Bus
from kit.dead import Origin, again
from kit.ordered import OrderedLog, Recorded

_IDS = ("post_id", "version_id", "investigation_id", "claim_id", "observation_id")


@dataclass(frozen=True)
class Selection:
    """Which facts; what is None does not choose.

    Shapes: `since` is inclusive, `until` exclusive, both the time a fact was stored. `platforms` tells the platform of
    versions and posts, for facts that name only these.
    """

    since: datetime | None = None
    until: datetime | None = None
    platform: str | None = None
    aggregate: UUID | None = None
    platforms: Mapping[UUID, str] = field(default_factory=dict)

    def takes(self, stored_at: datetime, envelope: Envelope) -> bool:
        """Whether a fact is meant."""
        if self.since is not None and stored_at < self.since:
            return False
        if self.until is not None and stored_at >= self.until:
            return False
        if self.aggregate is not None and self.aggregate not in ids(envelope.event):
            return False
        return self.platform is None or self._platform(envelope.event) == self.platform

    def _platform(self, event: Event) -> str | None:
        observation = getattr(event, "observation", None)
        post = observation.post if isinstance(observation, Observation) else getattr(event, "post", None)
        if isinstance(post, PostRef):
            return post.platform
        return next((self.platforms[id_] for id_ in ids(event) if id_ in self.platforms), None)


@dataclass(frozen=True)
class Chosen:
    """A fact that a selection takes."""

    record: Recorded
    envelope: Envelope


def ids(event: Event) -> set[UUID]:
    """The ids of all aggregates that a fact names."""
    found = {id_ for name in _IDS if isinstance(id_ := getattr(event, name, None), UUID)}
    observation = getattr(event, "observation", None)
    if isinstance(observation, Observation):
        found.add(observation.observation_id)
    return found


async def chosen(bus: Bus, consumer: Consumer, selection: Selection) -> AsyncIterator[Chosen]:
    """The facts of a consumer that a selection takes, in their order, up to what the stream holds now."""
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
            if selection.takes(record.time, envelope):
                yield Chosen(record, envelope)
        if batch[-1].sequence >= end:
            return


async def deliver(bus: Bus, consumer: Consumer, fact: Chosen, run: str) -> None:
    """Deliver one fact to the consumer once more; `run` names the replay, within which a fact is delivered once.

    Raises: BusError: not stored.
    """
    record = fact.record
    origin = Origin(record.stream, record.sequence, record.subject)
    await again(bus, consumer, origin, record.data, f"replay:{run}:{record.sequence}")


class Pace:
    """Lets at most so many through in a second; None lets all."""

    def __init__(self, per_s: float | None) -> None:
        self._every_s = 1 / per_s if per_s else 0.0
        self._next_s: float | None = None

    async def wait(self) -> None:
        """Wait for one's turn."""
        if not self._every_s:
            return
        now = asyncio.get_running_loop().time()
        turn = now if self._next_s is None else max(now, self._next_s)
        self._next_s = turn + self._every_s
        if turn > now:
            await asyncio.sleep(turn - now)
