"""Values in buckets of the broker."""

from __future__ import annotations

import pytest

from contracts import topology as declared
from contracts.topology import MEMOS
from kit import topology
from kit.bus import connect
from kit.kv import Bucket
from kit.publisher import BusError

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
