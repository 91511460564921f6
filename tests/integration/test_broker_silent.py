"""A broker that stops, or a connection that dies without a word: both are noticed and over within seconds."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from nats.aio.subscription import Subscription
from structlog.testing import capture_logs

from contracts.topology import ERRATA, MARKS
from kit.bus import Bus, connect
from kit.cancelling import cancel_and_wait
from kit.embedded import EmbeddedStack
from kit.errors import Outage
from kit.history import read_history
from kit.kv import Bucket
from kit.ordered import OrderedLog
from kit.pages import read_last_sequence
from kit.publisher import BusError
from kit.snapshot import SnapshotFailed, save_stream
from tests.support.delivering import Calls, observed, until, worker
from tests.support.line import Line
from tests.support.suspended import suspended

pytest_plugins = ["tests.support.delivering"]

RECOVERED_S = 10.0
REFUSED_S = 3.0


async def publishes(bus: Bus) -> bool:
    try:
        await bus.publish(observed(), correlation=uuid4())
    except BusError:
        return False
    return True


async def refused(bus: Bus) -> float:
    """Publish once; how long it took to be refused."""
    began = asyncio.get_running_loop().time()
    with pytest.raises(BusError):
        await bus.publish(observed(), correlation=uuid4())
    return asyncio.get_running_loop().time() - began


@asynccontextmanager
async def following(bus: Bus) -> AsyncIterator[list[int]]:
    """Sequences of the log as an ordered reader gets them."""
    found: list[int] = []

    async def follow() -> None:
        async for batch in OrderedLog(bus, ERRATA.name, 1).batches():
            found.extend(each.sequence for each in batch)

    task = asyncio.create_task(follow())
    try:
        yield found
    finally:
        await cancel_and_wait([task])


@contextmanager
def other_password(server: EmbeddedStack) -> Iterator[None]:
    """Give the user of services another password while the server runs."""
    file = server.data_dir / "nats" / "nats.json"
    configured = file.read_text()
    password = urlsplit(server.endpoints.nats_url).password
    assert password is not None
    try:
        file.write_text(configured.replace(password, "another"))
        os.kill(server.pids["nats"], signal.SIGHUP)
        yield
    finally:
        file.write_text(configured)
        os.kill(server.pids["nats"], signal.SIGHUP)


@pytest.mark.parametrize("stopped_s", [3.0, 9.0])
async def test_a_broker_that_was_stopped_is_used_again_at_once(
    bus: Bus, server: EmbeddedStack, stopped_s: float
) -> None:
    """Requests, consumers and readers of the log."""
    calls = Calls()
    async with worker(server.endpoints.nats_url, calls.handle), following(bus) as read:
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: len(calls.made) == 1 and len(read) == 2)
        loop = asyncio.get_running_loop()
        with suspended(server):
            until_s = loop.time() + stopped_s
            assert await refused(bus) < REFUSED_S
            while (left_s := until_s - loop.time()) > 0:
                assert await refused(bus) < REFUSED_S
                await asyncio.sleep(min(0.5, left_s))
        began = loop.time()
        await until(lambda: publishes(bus), RECOVERED_S)
        await until(lambda: len(calls.made) >= 2, RECOVERED_S)
        last = (await bus.jetstream.stream_info(ERRATA.name)).state.last_seq
        await until(lambda: bool(read) and read[-1] >= last, RECOVERED_S)
        assert loop.time() - began < RECOVERED_S
        assert read == sorted(set(read))


@pytest.mark.parametrize(
    "read",
    [lambda bus: read_last_sequence(bus, ERRATA.name), lambda bus: read_history(bus, "nothing")],
    ids=["last sequence", "history"],
)
async def test_reading_a_stopped_broker_ends_with_its_reason(
    bus: Bus, server: EmbeddedStack, read: Callable[[Bus], Awaitable[object]]
) -> None:
    with suspended(server), pytest.raises(Outage, match=r"the log could not be read: timeout$"):
        await read(bus)


async def test_saving_a_stream_whose_bytes_do_not_arrive_ends_with_the_reason(
    bus: Bus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribe = bus.client.subscribe

    async def miss(subject: str, **options: Any) -> Subscription:
        return await subscribe(f"{subject}.elsewhere", **options)

    monkeypatch.setattr(bus.client, "subscribe", miss)
    monkeypatch.setattr("kit.snapshot.TIMEOUT_S", 0.5)
    with pytest.raises(SnapshotFailed, match=r"^ERRATA: the broker does not answer$"):
        await save_stream(bus, ERRATA.name, tmp_path / "stream")


async def test_a_half_open_connection_is_replaced(bus: Bus, server: EmbeddedStack) -> None:
    """The old connection stays open and says nothing, as after a firewall lost its state."""
    calls = Calls()
    loop = asyncio.get_running_loop()
    async with (
        Line(server.endpoints.nats_url) as line,
        connect(line.url, name="test") as far,
        worker(line.url, calls.handle),
        following(far) as read,
    ):
        await far.publish(observed(), correlation=uuid4())
        await until(lambda: len(calls.made) == 1 and len(read) == 2)
        line.fail("half-open")
        assert await refused(far) < REFUSED_S
        line.heal()
        began = loop.time()
        await until(lambda: publishes(far), RECOVERED_S)
        await until(lambda: len(calls.made) >= 2, RECOVERED_S)
        await until(lambda: len(read) >= 4, RECOVERED_S)
        assert loop.time() - began < RECOVERED_S


async def test_a_connection_full_of_unsent_data_is_replaced(bus: Bus, server: EmbeddedStack) -> None:
    """Closing it would wait until the other side has read everything."""
    async with Line(server.endpoints.nats_url) as line, connect(line.url, name="test") as far:
        line.fail("half-open")
        for _ in range(32):
            await far.client.publish("nobody.listens", bytes(1024 * 1024))
        line.heal()
        await until(lambda: publishes(far), RECOVERED_S)


async def test_a_process_ends_while_it_connects_to_a_silent_broker(server: EmbeddedStack) -> None:
    """What went on connecting would be awaited by its end, until the broker answers."""
    async with AsyncExitStack() as stack:
        far = await stack.enter_async_context(connect(server.endpoints.nats_url, name="test"))
        with suspended(server):
            await until(lambda: far.client.is_reconnecting, RECOVERED_S)
            connecting = far.client._reconnection_task
            assert connecting is not None
            async with asyncio.timeout(REFUSED_S):
                await stack.aclose()
            assert connecting.done()


async def test_a_client_that_stopped_reading_connects_anew(bus: Bus) -> None:
    reading = bus.client._reading_task
    assert reading is not None
    reading.cancel()
    began = asyncio.get_running_loop().time()
    await until(lambda: publishes(bus), RECOVERED_S)
    assert asyncio.get_running_loop().time() - began < REFUSED_S


async def test_a_client_that_stopped_reconnecting_is_started_again(bus: Bus, server: EmbeddedStack) -> None:
    """An error that the client library does not expect there ends its task, and it would try no more."""
    async with Line(server.endpoints.nats_url) as line, connect(line.url, name="test") as far:
        line.fail("cut")
        await until(lambda: far.client.is_reconnecting, RECOVERED_S)
        task = far.client._reconnection_task
        assert task is not None
        task.cancel()
        line.heal()
        await until(lambda: publishes(far), RECOVERED_S)


async def test_a_broker_that_refuses_a_password_for_a_while_is_used_again(bus: Bus, server: EmbeddedStack) -> None:
    """It says so and closes the connection. Reported is the reason."""
    calls = Calls()
    async with worker(server.endpoints.nats_url, calls.handle), following(bus) as read:
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: len(calls.made) == 1 and len(read) == 2)
        with other_password(server), capture_logs() as logged:
            await until(lambda: not bus.link.is_reachable, RECOVERED_S)
            with pytest.raises(BusError):
                await bus.publish(observed(), correlation=uuid4())
        await until(lambda: publishes(bus), RECOVERED_S)
        await until(lambda: len(calls.made) >= 2 and len(read) >= 4, RECOVERED_S)
    assert {entry["error"] for entry in logged if entry["event"] == "the broker does not answer"} == {
        "nats: 'Authorization Violation'"
    }


async def test_a_short_silence_is_waited_out(bus: Bus, server: EmbeddedStack) -> None:
    """No connection is lost, and what was sent is stored once."""
    reconnects = bus.client.stats["reconnects"]
    with suspended(server):
        sending = asyncio.create_task(bus.publish(observed(), correlation=uuid4()))
        await asyncio.sleep(1.0)
        assert not sending.done()
    assert (await sending).sequence == 1
    assert bus.client.stats["reconnects"] == reconnects


async def test_shared_state_is_not_waited_for(bus: Bus, server: EmbeddedStack) -> None:
    bucket = await Bucket.open(bus, MARKS)
    began = asyncio.get_running_loop().time()
    with suspended(server), pytest.raises(BusError):
        await bucket.get("conclude")
    assert asyncio.get_running_loop().time() - began < REFUSED_S
