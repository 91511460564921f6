"""How much waits, how fast it moves, and how old the oldest of it is: what an operator asks first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import nats.js.errors
import orjson
from nats.js.api import ConsumerInfo

from contracts.topology import AGAIN, CONSUMERS, STREAMS, Consumer, Stream, stream_of
from kit import dead
from kit.bus import Bus


@dataclass(frozen=True)
class StreamFlow:
    """One stream. Shapes: `first` and `last` are sequences."""

    name: str
    messages: int
    size_bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class ConsumerFlow:
    """One consumer. `again` waits on its own subject; `oldest_s` is the age of the oldest fact not acknowledged.

    `acknowledged` is the sequence up to which everything is; `delivered` counts deliveries since the consumer exists.
    """

    name: str
    waiting: int
    in_hand: int
    redelivered: int
    again: int
    dead: int
    acknowledged: int
    delivered: int
    oldest_s: float | None
    paused: bool


@dataclass(frozen=True)
class Flow:
    """All of it at one moment."""

    at: datetime
    streams: tuple[StreamFlow, ...]
    consumers: tuple[ConsumerFlow, ...]


def rates(before: Flow, after: Flow) -> Mapping[str, float]:
    """Messages a second between two looks: stored, by stream, and delivered, by consumer. 0 where no time passed."""
    seconds = (after.at - before.at).total_seconds()
    was = {each.name: each.last for each in before.streams} | {each.name: each.delivered for each in before.consumers}
    now = {each.name: each.last for each in after.streams} | {each.name: each.delivered for each in after.consumers}
    return {name: max(0, count - was.get(name, count)) / seconds if seconds > 0 else 0.0 for name, count in now.items()}


async def look(bus: Bus) -> Flow:
    """Ask the broker about every stream and consumer at once."""
    lying = await dead.count(bus)
    streams = await asyncio.gather(*(_stream(bus, stream) for stream in STREAMS))
    consumers = await asyncio.gather(*(_consumer(bus, each, lying[each.name]) for each in CONSUMERS))
    return Flow(bus.clock.now(), tuple(streams), tuple(consumers))


async def _stream(bus: Bus, stream: Stream) -> StreamFlow:
    state = (await bus.jetstream.stream_info(stream.name)).state
    return StreamFlow(stream.name, state.messages, state.bytes, state.first_seq, state.last_seq)


async def _consumer(bus: Bus, consumer: Consumer, lying: int) -> ConsumerFlow:
    info: ConsumerInfo = await bus.jetstream.consumer_info(stream_of(consumer.event).name, consumer.name)
    twin: ConsumerInfo = await bus.jetstream.consumer_info(AGAIN.name, consumer.name)
    waiting, in_hand = info.num_pending or 0, info.num_ack_pending or 0
    floor = info.ack_floor.stream_seq if info.ack_floor else 0
    oldest = await _stored_at(bus, consumer, floor + 1) if waiting or in_hand else None
    return ConsumerFlow(
        name=consumer.name,
        waiting=waiting,
        in_hand=in_hand,
        redelivered=info.num_redelivered or 0,
        again=(twin.num_pending or 0) + (twin.num_ack_pending or 0),
        dead=lying,
        acknowledged=floor,
        delivered=info.delivered.consumer_seq if info.delivered else 0,
        oldest_s=max(0.0, (bus.clock.now() - oldest).total_seconds()) if oldest else None,
        paused=bool(info.paused),
    )


async def _stored_at(bus: Bus, consumer: Consumer, start: int) -> datetime | None:
    """When the first of a consumer's facts from `start` on was stored."""
    request = {"seq": start, "next_by_subj": consumer.filter}
    stream = stream_of(consumer.event).name
    answer = await bus.client.request(f"$JS.API.STREAM.MSG.GET.{stream}", orjson.dumps(request), timeout=5)
    found = orjson.loads(answer.data)
    if "error" in found:
        if found["error"].get("code") == 404:
            return None
        nats.js.errors.APIError.from_error(found["error"])
    return datetime.fromisoformat(found["message"]["time"])
