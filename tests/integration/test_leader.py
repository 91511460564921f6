"""One leads: from the first moment, after a death, after a farewell, and whoever was overtaken knows it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from contracts.topology import LEADERS
from kit import topology
from kit.bus import connect
from kit.kv import Bucket
from kit.leader import RENEW_EVERY_S, Leadership
from tests.support.system import until

pytest_plugins = ["tests.support.servers"]

TAKEN_OVER_WITHIN_S = LEADERS.ttl_s + 3 * RENEW_EVERY_S


@pytest.fixture
async def two(nats_url: str) -> AsyncIterator[tuple[Leadership, Leadership]]:
    """Two processes' claims to one job."""
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(connect(nats_url, name=name)) for name in ("one", "two")]
        await topology.apply(first)
        yield Leadership(first, "job", "one"), Leadership(second, "job", "two")


async def test_of_many_who_ask_at_once_one_leads(two: tuple[Leadership, Leadership], nats_url: str) -> None:
    async with connect(nats_url, name="many") as bus:
        many = [Leadership(bus, "job", f"worker-{number}") for number in range(20)]
        held = await asyncio.gather(*(each.renew() for each in many))
        assert held.count(True) == 1
        assert [each.is_leader for each in many] == held
        assert await asyncio.gather(*(each.renew() for each in many)) == held, "it stays the leader"
    assert not await two[0].renew()


async def test_after_a_death_the_other_leads(two: tuple[Leadership, Leadership]) -> None:
    first, second = two
    alive = asyncio.create_task(first.run())
    await until(lambda: _is(first), "the first leads", within_s=60)
    waiting = asyncio.create_task(second.run())
    alive.cancel()  # it says no farewell
    await until(lambda: _is(second), "the second leads", within_s=TAKEN_OVER_WITHIN_S)
    assert not first.is_leader, "it stopped believing in itself before the other began"
    waiting.cancel()


async def test_after_a_farewell_the_other_leads_at_once(two: tuple[Leadership, Leadership]) -> None:
    first, second = two
    assert await first.renew()
    assert not await second.renew()
    await first.release()
    assert not await first.renew(), "who resigned does not take it up again"
    assert await second.renew()
    await first.release()
    assert await second.renew(), "a farewell takes nothing from anybody else"


async def test_a_lease_counts_from_when_it_was_asked_for(
    two: tuple[Leadership, Leadership], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s, create = [0.0], Bucket.create

    async def create_slowly(bucket: Bucket, key: str, value: bytes) -> bool:
        now_s[0] += 0.9 * LEADERS.ttl_s
        return await create(bucket, key, value)

    monkeypatch.setattr("kit.leader.monotonic", lambda: now_s[0])
    monkeypatch.setattr(Bucket, "create", create_slowly)
    assert await two[0].renew()
    assert not two[0].is_leader, "the broker drops it soon"


async def test_whoever_was_overtaken_cannot_renew(two: tuple[Leadership, Leadership]) -> None:
    first, second = two
    assert await first.renew()
    bucket = await Bucket.open(first._bus, LEADERS)
    await bucket.purge("job")
    assert await second.renew()
    assert not await first.renew()
    assert not first.is_leader


async def test_a_value_is_replaced_only_by_who_knows_it(nats_url: str) -> None:
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        bucket = await Bucket.open(bus, LEADERS)
        assert await bucket.entry("k") is None
        assert await bucket.create("k", b"a")
        entry = await bucket.entry("k")
        assert entry is not None
        assert await bucket.update("k", b"b", entry.revision)
        assert not await bucket.update("k", b"c", entry.revision)
        assert not await bucket.remove("k", entry.revision)
        newer = await bucket.entry("k")
        assert newer is not None
        assert newer.value == b"b"
        assert await bucket.remove("k", newer.revision)
        assert await bucket.entry("k") is None


async def _is(leadership: Leadership) -> bool:
    return leadership.is_leader
