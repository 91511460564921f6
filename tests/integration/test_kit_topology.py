"""What stands in the broker and what should, against a real one."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from nats.js.api import PersistMode, StoreCompression

from contracts.topology import DEAD, ERRATA, JOBS, VIEWS, Consumer
from contracts.v1 import (
    CanonicalFetched,
)
from kit import topology
from kit.bus import Bus, connect
from kit.embedded import EmbeddedStack
from tests.support.certificates import certificate_for
from tests.support.delivering import (
    WORK,
)
from tests.support.servers import nats_server

pytest_plugins = ["tests.support.delivering"]


async def test_topology_is_applied_once_and_found_as_declared(bus: Bus) -> None:
    assert await topology.apply(bus) == []
    assert [item async for item in topology.find_differences(bus)] == []
    await topology.require(bus)


async def test_what_differs_is_named_and_mended(bus: Bus) -> None:
    js = bus.jetstream
    await js.delete_consumer(ERRATA.name, WORK.name)
    await js.add_consumer("ERRATA", topology.consumer_config(Consumer("ingest", CanonicalFetched, ack_wait_s=7.0)))
    await js.update_stream(replace(topology.stream_config(DEAD, 1), max_age=600))
    await js.update_stream(replace(topology.stream_config(VIEWS, 1), compression=StoreCompression.S2))
    await js.update_stream(replace(topology.stream_config(JOBS, 1), allow_atomic=False))
    await js.delete_stream("KV_marks")
    with pytest.raises(topology.TopologyMissing, match="topology apply"):
        await topology.require(bus)
    found = {item.thing for item in await topology.apply(bus)}
    assert found == {
        f"consumer {WORK.name}",
        "consumer ingest-canonical-fetched",
        f"stream {DEAD.name}",
        f"stream {VIEWS.name}",
        f"stream {JOBS.name}",
        "bucket marks",
    }
    assert await topology.apply(bus) == []


async def test_a_broker_that_acknowledges_too_early_is_refused(bus: Bus, server: EmbeddedStack) -> None:
    with pytest.raises(topology.UnsafeBroker, match="sync_interval"):
        await topology.require_durable(bus, server.endpoints.nats_monitor_url)
    with pytest.raises(topology.UnsafeBroker, match="MONITOR"):
        await topology.require_durable(bus, None)


async def test_a_broker_that_writes_first_is_accepted(tmp_path: Path) -> None:
    with nats_server(tmp_path, durable=True) as own:
        async with connect(own.endpoints.nats_url, name="test") as bus:
            await topology.apply(bus)
            await topology.require_durable(bus, own.endpoints.nats_monitor_url)


async def test_a_monitoring_address_may_have_a_certificate_of_the_operators_own(
    bus: Bus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certified, _ = certificate_for(["localhost"], tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "site.pem"))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b'HTTP/1.0 200 OK\r\n\r\n{"config": {"sync_always": true}}')
        writer.close()

    await topology.apply(bus)
    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=certified) as monitor:
        port = monitor.sockets[0].getsockname()[1]
        await topology.require_durable(bus, f"https://localhost:{port}")


@pytest.mark.parametrize("stream", [ERRATA.name, "KV_marks"])
async def test_a_stream_that_is_told_to_write_later_is_refused_whatever_its_server_says(
    tmp_path: Path, stream: str
) -> None:
    with nats_server(tmp_path, durable=True) as own:
        async with connect(own.endpoints.nats_url, name="test") as bus:
            await topology.apply(bus)
            config = (await bus.jetstream.stream_info(stream)).config
            await bus.jetstream.delete_stream(stream)
            await bus.jetstream.add_stream(replace(config, persist_mode=PersistMode.ASYNC))
            with pytest.raises(topology.UnsafeBroker, match=f"stream {stream} acknowledges before"):
                await topology.require_durable(bus, own.endpoints.nats_monitor_url)
