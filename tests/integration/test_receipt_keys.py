"""Keys of receipts stay announced, also when several processes announce theirs at once."""

from __future__ import annotations

import asyncio

import pytest

from kit import topology
from kit.bus import connect
from kit.receipts import ReceiptKey, announce_key, read_keys

pytest_plugins = ["tests.support.servers"]


@pytest.mark.requirement("FH-162")
async def test_every_key_that_was_announced_stays_listed_once(nats_url: str) -> None:
    """FH-162: A result carries a signed receipt."""
    keys = [ReceiptKey(bytes([number]) * 32) for number in range(5)]
    async with connect(nats_url, name="announcing") as bus:
        await topology.apply(bus)
        before = set((await read_keys(bus)).keys)
        await asyncio.gather(*(announce_key(bus, key) for key in keys * 2))
        found = (await read_keys(bus)).keys
        assert set(found) == before | {key.public for key in keys}
        assert len(found) == len(set(found))
