"""Queue lengths, throughput and the age of the oldest message, of streams and consumers."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

import nats.js.errors
import orjson
from nats.js.api import ConsumerInfo

from contracts.topology import (
    CONCLUDE_MARK,
    CONSUMERS,
    ERRATA,
    MARKS,
    REDELIVERY,
    STREAMS,
    Consumer,
    Stream,
    stream_of,
)
from contracts.v1 import InvestigationRequested
from kit import dead_letters
from kit.bus import Bus
from kit.kv import Bucket


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
    """One consumer. The fields are those of the command's JSON.

    `waiting` and `in_hand` (delivered, not acknowledged) count messages of its stream, `again` those on its redelivery
    subject, `dead` its dead letters. All messages up to the sequence `acknowledged` are acknowledged; `delivered`
    counts deliveries since the consumer was created; `oldest_s` is the age of the oldest fact not acknowledged.
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
class ConcludeFlow:
    """The fold that ends investigations.

    No investigation up to the sequence `mark` is open; `oldest_s` is the age of the oldest open one, or None.
    """

    mark: int
    oldest_s: float | None


@dataclass(frozen=True)
class Flow:
    """All streams and consumers at one time."""

    at: datetime
    streams: tuple[StreamFlow, ...]
    consumers: tuple[ConsumerFlow, ...]
    conclude: ConcludeFlow


def compute_rates(before: Flow, after: Flow) -> Mapping[str, float]:
    """Messages a second between two measurements: stored by stream, delivered by consumer; 0 if no time passed."""
    seconds = (after.at - before.at).total_seconds()
    was = {each.name: each.last for each in before.streams} | {each.name: each.delivered for each in before.consumers}
    now = {each.name: each.last for each in after.streams} | {each.name: each.delivered for each in after.consumers}
    return {name: max(0, count - was.get(name, count)) / seconds if seconds > 0 else 0.0 for name, count in now.items()}


async def measure_flow(bus: Bus, readable: Collection[Stream] = STREAMS) -> Flow:
    """Measure all streams, and the consumers of `readable` ones: the age of a message is read from the message."""
    dead = await dead_letters.count_by_consumer(bus)
    streams = await asyncio.gather(*(_measure_stream(bus, stream) for stream in STREAMS))
    measured = (each for each in CONSUMERS if stream_of(each.event) in readable)
    consumers = await asyncio.gather(*(_measure_consumer(bus, each, dead[each.name]) for each in measured))
    return Flow(bus.clock.now(), tuple(streams), tuple(consumers), await _measure_conclude(bus))


async def _measure_conclude(bus: Bus) -> ConcludeFlow:
    """Measure the fold: the first request after its mark is the oldest open one."""
    mark = int(await (await Bucket.open(bus, MARKS)).get(CONCLUDE_MARK) or b"0")
    oldest = await _read_time(bus, ERRATA.name, f"{InvestigationRequested.SUBJECT}.*", mark + 1)
    return ConcludeFlow(mark, _age(bus, oldest))


def _age(bus: Bus, since: datetime | None) -> float | None:
    return max(0.0, (bus.clock.now() - since).total_seconds()) if since else None


async def _measure_stream(bus: Bus, stream: Stream) -> StreamFlow:
    state = (await bus.jetstream.stream_info(stream.name)).state
    return StreamFlow(stream.name, state.messages, state.bytes, state.first_seq, state.last_seq)


async def _measure_consumer(bus: Bus, consumer: Consumer, dead: int) -> ConsumerFlow:
    info: ConsumerInfo = await bus.jetstream.consumer_info(stream_of(consumer.event).name, consumer.name)
    twin: ConsumerInfo = await bus.jetstream.consumer_info(REDELIVERY.name, consumer.name)
    waiting, in_hand = info.num_pending or 0, info.num_ack_pending or 0
    floor = info.ack_floor.stream_seq if info.ack_floor else 0
    stream = stream_of(consumer.event).name
    oldest = await _read_time(bus, stream, consumer.filter, floor + 1) if waiting or in_hand else None
    return ConsumerFlow(
        name=consumer.name,
        waiting=waiting,
        in_hand=in_hand,
        redelivered=info.num_redelivered or 0,
        again=(twin.num_pending or 0) + (twin.num_ack_pending or 0),
        dead=dead,
        acknowledged=floor,
        delivered=info.delivered.consumer_seq if info.delivered else 0,
        oldest_s=_age(bus, oldest),
        paused=bool(info.paused),
    )


async def _read_time(bus: Bus, stream: str, subjects: str, start: int) -> datetime | None:
    """When the first fact on the subjects from `start` on was stored."""
    request = {"seq": start, "next_by_subj": subjects}
    answer = await bus.client.request(f"$JS.API.STREAM.MSG.GET.{stream}", orjson.dumps(request), timeout=5)
    found = orjson.loads(answer.data)
    if "error" in found:
        if found["error"].get("code") == 404:
            return None
        nats.js.errors.APIError.from_error(found["error"])
    return datetime.fromisoformat(found["message"]["time"])
