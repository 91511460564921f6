"""Values in buckets of the broker."""

from __future__ import annotations

from uuid import UUID

import pytest

from contracts import topology as declared
from contracts.topology import MEMOS, USER_KEYS
from kit import topology
from kit.bus import connect
from kit.kv import Bucket
from kit.publisher import BusError
from kit.vault import KeyUnusable, MasterKey, UserKeys

pytest_plugins = ["tests.support.servers"]


async def test_a_value_is_read_until_it_is_removed(nats_url: str) -> None:
    async with connect(nats_url, name="buckets") as bus:
        await topology.apply(bus)
        bucket = await Bucket.open(bus, MEMOS)
        assert await bucket.get("some-entry") is None
        await bucket.put("some-entry", b"\x00 first")
        assert await bucket.get("some-entry") == b"\x00 first"
        await bucket.put("some-entry", b"second")
        assert await bucket.get("some-entry") == b"second"
        found = await bucket.entry("some-entry")
        assert found is not None
        assert await bucket.remove("some-entry", found.revision)
        assert await bucket.get("some-entry") is None
        await bucket.put("some-entry", b"third")
        await bucket.purge("some-entry")
        assert await bucket.get("some-entry") is None


async def test_a_bucket_that_went_away_is_no_missing_value(nats_url: str) -> None:
    async with connect(nats_url, name="buckets") as bus:
        gone = declared.Bucket("of-this-test")
        await bus.jetstream.create_key_value(bucket=gone.name)
        bucket = await Bucket.open(bus, gone)
        assert await bucket.get("some-entry") is None
        await bus.jetstream.delete_key_value(gone.name)
        with pytest.raises(BusError, match="stream not found"):
            await bucket.get("some-entry")


async def test_the_first_master_key_seals(nats_url: str) -> None:
    run, new, old = UUID(int=4), MasterKey.generate(), MasterKey.generate()
    async with connect(nats_url, name="buckets") as bus:
        await topology.apply(bus)
        assert await UserKeys(bus, (new, old)).attach(run, None, "sk-reader")
        assert await UserKeys(bus, (new,)).open(run, None) == "sk-reader"


async def test_a_sealed_key_opens_for_its_own_run_and_attachment_alone(nats_url: str) -> None:
    run, own, other = (UUID(int=number) for number in (1, 2, 3))
    async with connect(nats_url, name="buckets") as bus:
        await topology.apply(bus)
        keys, bucket = UserKeys(bus, (MasterKey.generate(),)), await Bucket.open(bus, USER_KEYS)
        assert await keys.attach(run, own, "sk-reader")
        assert await keys.open(run, own) == "sk-reader"
        for moved_run, moved in ((run, other), (other, own)):
            await bucket.put(f"{moved_run}.{moved}", await bucket.get(f"{run}.{own}") or b"")
            with pytest.raises(KeyUnusable):
                await keys.open(moved_run, moved)
        await keys.discard(run, own)
        with pytest.raises(KeyUnusable):
            await keys.open(run, own)
