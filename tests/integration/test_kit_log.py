"""Reading the log, against a real broker: complete, in its order, and through the end of the broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from nats.aio.msg import Msg
from nats.js.api import ConsumerInfo

from contracts.topology import ERRATA
from contracts.v1 import PREFIX, InvestigationFailed
from kit import topology
from kit.bus import Bus, connect
from kit.cancelling import cancel_and_wait
from kit.embedded import EmbeddedStack
from kit.errors import Reject, Retry
from kit.history import read_history, read_latest
from kit.ordered import OrderedLog, StoredMessage, parse_ack_subject
from tests.support.delivering import (
    failed,
    kill,
    observed,
    publish_when_possible,
    rejected,
    until,
)
from tests.support.line import Line
from tests.support.servers import nats_server

pytest_plugins = ["tests.support.delivering"]


async def test_history_is_complete_and_in_order(bus: Bus) -> None:
    """More facts than one read returns, with other aggregates' in between."""
    key = uuid4()
    receipts = []
    for _ in range(7):
        facts = [rejected(key, uuid4()) for _ in range(100)]
        receipts += await asyncio.gather(*(bus.publish(fact, correlation=uuid4()) for fact in facts))
        await bus.publish(rejected(uuid4()), correlation=uuid4())
    await bus.publish(failed(key), correlation=uuid4())
    found = await read_history(bus, str(key))
    assert [past.sequence for past in found] == [*sorted(receipt.sequence for receipt in receipts), found[-1].sequence]
    assert isinstance(found[-1].envelope.event, InvestigationFailed)
    assert await read_history(bus, str(uuid4())) == []


async def test_history_leaves_out_kinds_of_events_that_only_a_newer_version_knows(bus: Bus) -> None:
    """Old and new versions run side by side while one replaces the other."""
    key = uuid4()
    await bus.publish(rejected(key), correlation=uuid4())
    for _ in range(2):
        await bus.jetstream.publish(f"{PREFIX}claim.questioned.{key}", b"{}")
    await bus.publish(failed(key), correlation=uuid4())
    assert [past.envelope.event for past in await read_history(bus, str(key))] == [rejected(key), failed(key)]
    await bus.jetstream.publish(f"{InvestigationFailed.SUBJECT}.{key}", b"{}")
    with pytest.raises(Reject, match="history cannot be read"):
        await read_history(bus, str(key))


async def test_latest_is_the_last_of_each_subject(bus: Bus) -> None:
    one, two = uuid4(), uuid4()
    await bus.publish(rejected(one, uuid4()), correlation=uuid4())
    await bus.publish(rejected(two), correlation=uuid4())
    await bus.publish(last := rejected(one, uuid4()), correlation=uuid4())
    found = await read_latest(bus, rejected(one).subject(), rejected(two).subject())
    assert [past.envelope.event for past in found] == [rejected(two), last]
    assert await read_latest(bus, rejected(uuid4()).subject()) == []


async def test_history_without_a_broker_is_a_retry(tmp_path: Path) -> None:
    with nats_server(tmp_path) as own:
        async with connect(own.endpoints.nats_url, name="test") as bus:
            with pytest.raises(Retry):
                await read_history(bus, "no stream at all")


async def read(log: OrderedLog, into: list[StoredMessage]) -> None:
    async for batch in log.batches(limit=7):
        into.extend(batch)


@asynccontextmanager
async def reading(bus: Bus, start: int = 1) -> AsyncIterator[list[StoredMessage]]:
    found: list[StoredMessage] = []
    task = asyncio.create_task(read(OrderedLog(bus, ERRATA.name, start), found))
    try:
        yield found
    finally:
        await cancel_and_wait([task])
        assert task.cancelled() or task.exception() is None


async def test_the_reader_gets_everything_in_order_from_where_it_starts(bus: Bus) -> None:
    for _ in range(20):
        await bus.publish(observed(), correlation=uuid4())
    async with reading(bus) as all_of_it, reading(bus, start=11) as second_half:
        await until(lambda: len(all_of_it) == 20)
        for _ in range(20):
            await bus.publish(observed(), correlation=uuid4())
        await until(lambda: len(all_of_it) == 40 and len(second_half) == 30)
    assert [item.sequence for item in all_of_it] == list(range(1, 41))
    assert [item.sequence for item in second_half] == list(range(11, 41))


async def test_the_reader_survives_a_broker_killed_and_restarted(tmp_path: Path) -> None:
    with nats_server(tmp_path, durable=True) as own:
        url = own.endpoints.nats_url
        async with connect(url, name="reader") as bus:
            await topology.apply(bus)
            async with reading(bus) as found, reading(bus, start=31) as idle:
                for _ in range(30):
                    await bus.publish(observed(), correlation=uuid4())
                await until(lambda: len(found) >= 10)
                kill(own)
                assert own.endpoints.nats_url == url
                await publish_when_possible(bus, 30)
                await until(lambda: len(found) >= 60 and len(idle) >= 30, within_s=60)
            assert [item.sequence for item in found] == list(range(1, 61))
            assert [item.sequence for item in idle] == list(range(31, 61)), "also if it had not read anything yet"


async def test_a_reader_that_has_read_nothing_is_not_sent_the_whole_log_once_its_consumer_is_lost(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long log would hold up what is new for as long as the broker sends it."""
    sent: list[int] = []
    add = OrderedLog._add

    async def note(log: OrderedLog, message: Msg) -> None:
        sent.append(parse_ack_subject(message.reply)[0])
        await add(log, message)

    monkeypatch.setattr(OrderedLog, "_add", note)
    for _ in range(20):
        await bus.publish(observed(), correlation=uuid4())

    async def consumers() -> set[str]:
        return {each.name for each in await bus.jetstream.consumers_info(ERRATA.name)}

    declared = await consumers()
    async with reading(bus, start=21) as found:

        async def own() -> set[str]:
            return await consumers() - declared

        (first,) = await until(own)
        await bus.jetstream.delete_consumer(ERRATA.name, first)
        await until(own)
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: found)
    assert sent == [21]


async def test_a_reader_whose_first_message_was_lost_with_its_connection_is_sent_it_again(
    bus: Bus, server: EmbeddedStack
) -> None:
    """It connects anew so soon that its consumer lives on, and no later message shows the gap."""
    declared = {each.name for each in await bus.jetstream.consumers_info(ERRATA.name)}

    async def own() -> list[ConsumerInfo]:
        infos = await bus.jetstream.consumers_info(ERRATA.name)
        return [each for each in infos if each.name not in declared and each.push_bound]

    async def is_sent(consumer: ConsumerInfo) -> bool:
        info = await bus.jetstream.consumer_info(ERRATA.name, consumer.name)
        return info.delivered is not None and info.delivered.consumer_seq == 1

    async with (
        Line(server.endpoints.nats_url) as line,
        connect(line.url, name="reader") as far,
        reading(far) as found,
    ):
        (consumer,) = await until(own)
        line.fail("half-open")
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: is_sent(consumer))
        line.fail("cut")
        line.heal()
        await until(lambda: found, within_s=30)
    assert [item.sequence for item in found] == [1]
