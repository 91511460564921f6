"""What a consumer of the broker has done, as tests wait for it."""

from __future__ import annotations

import nats.js.errors

from contracts.topology import Consumer, stream_of
from kit.bus import Bus


async def have_handled_all(bus: Bus, *consumers: Consumer) -> bool:
    """Whether each of the consumers was delivered the newest of its messages, and all are acknowledged.

    `num_pending` alone does not show it: the broker counts a message there a moment after it has answered its
    publisher.
    """
    return all([await _has_handled_all(bus, each) for each in consumers])


async def has_left(bus: Bus, consumer: Consumer, waiting: int) -> bool:
    """Whether so many messages wait for the consumer, and none is in the hands of a worker."""
    info = await bus.jetstream.consumer_info(stream_of(consumer.event).name, consumer.name)
    return (info.num_pending, info.num_ack_pending) == (waiting, 0)


async def _has_handled_all(bus: Bus, consumer: Consumer) -> bool:
    stream = stream_of(consumer.event).name
    try:
        newest = (await bus.jetstream.get_last_msg(stream, consumer.filter)).seq or 0
    except nats.js.errors.NotFoundError:
        newest = 0
    info = await bus.jetstream.consumer_info(stream, consumer.name)
    delivered = info.delivered.stream_seq if info.delivered else 0
    return info.num_pending == info.num_ack_pending == 0 and delivered >= newest
