"""The projector on a real broker: it follows both streams, waits where it must, and goes on after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import click
import psycopg
import pytest
from nats.aio.msg import Msg
from prometheus_client import CollectorRegistry, Gauge

from contracts.topology import HEALTH, STREAMS
from contracts.v1 import Envelope, Event
from contracts.v1 import decode as decode_event
from kit import standstill
from kit.blob_settings import BlobSettings
from kit.blobs import Blobs
from kit.bus import Bus, connect
from kit.cancelling import cancel_and_wait
from kit.clock import SystemClock
from kit.database import Database
from kit.delivery import Delivery
from kit.host import Host
from kit.servers_in_use import Servers
from kit.telemetry import Telemetry
from services.commands import doctor as doctor_command
from services.commands import projector as projector_command
from services.gateway.health import ServerHealth
from services.gateway.record.status import SqlReads
from services.projector import app as projector_app
from services.projector.adapters import BusLog
from services.projector.facts import reading
from services.projector.follow import Follower, Metrics
from services.projector.ledger.chain import LedgerBroken
from services.projector.ledger.skipping import Skip
from services.projector.ledger.verify import verify
from services.projector.ports import Extent
from services.projector.rebuild.rebuild import rebuild
from services.projector.settings import ProjectorSettings
from services.projector.store.store import Store
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, fill, owner, prepare, rows, store_at
from tests.support.servers import Prepare, nats_server
from tests.unit.projector.histories import Page, Tape, uid

pytest_plugins = ["tests.support.servers"]

DEADLINE_S = 60.0


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    with nats_server(tmp_path) as server:
        yield server.endpoints.nats_url


@pytest.fixture
async def bus(broker: str) -> AsyncIterator[Bus]:
    async with connect(broker, name="test") as connected:
        for stream in STREAMS:
            await connected.jetstream.add_stream(name=stream.name, subjects=list(stream.subjects), allow_direct=True)
        await connected.jetstream.create_key_value(bucket=HEALTH.name)
        yield connected


class Asked(BusLog):
    """Tells when somebody has asked where ERRATA ends."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus)
        self.asked = asyncio.Event()

    async def extent(self, stream: str) -> Extent:
        found = await super().extent(stream)
        if stream == "ERRATA":
            self.asked.set()
        return found


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not await condition():  # noqa: ASYNC110 (the database tells nobody)
            await asyncio.sleep(0.01)  # between two looks at the condition


@asynccontextmanager
async def following(source: BusLog, stores: dict[str, Store]) -> AsyncIterator[Metrics]:
    metrics = counted()
    followers = [Follower(stream, store, source, metrics) for stream, store in stores.items()]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(follower.run()) for follower in followers]
        yield metrics
        for task in tasks:
            task.cancel()


async def publish(bus: Bus, *events: Event) -> None:
    for event in events:
        await bus.publish(event, correlation=uid("c"))


async def test_both_streams_arrive_and_positions_are_announced(bus: Bus, database_url: str) -> None:
    page = Page("a")
    heard: list[str] = []

    async def note(message: Msg) -> None:
        heard.append(message.subject)

    await bus.client.subscribe("errata-position.*", cb=note)
    await publish(bus, page.registered(), page.viewed("v"))
    look = store_at(database_url)

    async def there() -> bool:
        return await look.position("ERRATA") == 1 and await look.position("VIEWS") == 1 and len(heard) >= 2

    async with following(BusLog(bus), {"ERRATA": store_at(database_url), "VIEWS": store_at(database_url)}) as metrics:
        await until(there)
    await look.close()
    assert set(heard) == {"errata-position.ERRATA", "errata-position.VIEWS"}
    assert metrics.facts.labels("VIEWS", "applied")._value.get() == 1
    assert (await everything(database_url))["post"][0]["view_count"] == 1


@pytest.mark.parametrize("known", [True, False])
async def test_a_view_waits_for_its_version_as_long_as_that_may_come(bus: Bus, database_url: str, known: bool) -> None:
    page, other = Page("a"), Page("b")
    await publish(bus, page.viewed("v"), other.registered())
    if known:
        await publish(bus, page.registered())
    look = store_at(database_url)

    async def passed() -> bool:
        return await look.position("VIEWS") == 1

    source = Asked(bus)
    async with following(source, {"VIEWS": store_at(database_url)}) as metrics:
        async with asyncio.timeout(DEADLINE_S):
            await source.asked.wait()
        assert not await passed()
        async with following(BusLog(bus), {"ERRATA": store_at(database_url)}):
            await until(lambda: has_counted(metrics, 1, "VIEWS"))
    await look.close()
    outcome = "applied" if known else "unknown"
    assert metrics.facts.labels("VIEWS", outcome)._value.get() == 1
    views = {row["external_id"]: row["view_count"] for row in (await everything(database_url))["post"]}
    assert views == ({"a": 1, "b": 0} if known else {"b": 0})


async def test_it_goes_on_from_where_the_database_is(bus: Bus, database_url: str) -> None:
    pages = [Page(f"p{number}") for number in range(30)]
    look = store_at(database_url)

    async def reached(number: int) -> bool:
        return await look.position("ERRATA") >= number

    for start in (0, 10, 20):
        await publish(bus, *(page.registered() for page in pages[start : start + 10]))
        async with following(BusLog(bus), {"ERRATA": store_at(database_url)}):
            await until(lambda end=start + 5: reached(end))  # type: ignore[misc]  # a default has no type
    async with following(BusLog(bus), {"ERRATA": store_at(database_url)}):
        await until(lambda: reached(30))
    await look.close()
    versions = (await everything(database_url))["post_version"]
    assert [row["seen_count"] for row in versions] == [1] * 30


async def test_the_position_is_a_metric_before_anything_new_is_applied(bus: Bus, database_url: str) -> None:
    tape = Tape()
    tape.add(Page("a").registered())
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    await publish(bus, Page("a").registered())
    source = Asked(bus)
    async with following(source, {"ERRATA": store_at(database_url)}) as metrics:
        async with asyncio.timeout(DEADLINE_S):
            await source.asked.wait()
        (metric,) = metrics.position.collect()
        assert [(sample.labels, sample.value) for sample in metric.samples] == [({"stream": "ERRATA"}, 1)]


async def test_a_stream_that_lost_its_past_is_refused(bus: Bus, database_url: str) -> None:
    tape = Tape()
    tape.add(*(Page(f"p{number}").registered() for number in range(3)))
    store = store_at(database_url)
    await fill(store, tape.records)
    metrics = counted()
    with pytest.raises(LedgerBroken, match="ERRATA ends at 0, but facts up to 3 were applied"):
        await Follower("ERRATA", store, BusLog(bus), metrics).run()


async def test_of_two_projectors_one_applies_and_the_other_goes_on_when_that_one_loses_its_session(
    bus: Bus, database_url: str
) -> None:
    pages = [Page(f"p{number}") for number in range(4)]
    store = store_at(database_url)

    async def claimed() -> bool:
        async with await owner(database_url) as db:
            return bool(await rows(db, "(SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2)"))

    async with asyncio.TaskGroup() as group:
        first, second = counted(), counted()
        leading = asyncio.create_task(Follower("ERRATA", store, BusLog(bus), first).run())
        await until(claimed)
        standing_by = group.create_task(Follower("ERRATA", store_at(database_url), BusLog(bus), second).run())
        await publish(bus, *(page.registered() for page in pages[:2]))
        await until(lambda: has_counted(first, 2))
        assert (applied(first), applied(second)) == (2, 0)

        session = await store.connection()
        async with await owner(database_url) as db:
            await db.execute("SELECT pg_terminate_backend(%s)", (session.info.backend_pid,))
        await publish(bus, *(page.registered() for page in pages[2:]))
        with pytest.raises(psycopg.OperationalError):
            await leading
        await until(lambda: has_counted(second, 4))
        await until(claimed)
        assert (applied(first), applied(second)) == (2, 2)
        standing_by.cancel()
    async with await owner(database_url) as db:
        assert (await verify(db, BusLog(bus))).ok


def counted() -> Metrics:
    return Metrics(CollectorRegistry(), Gauge("position", "", ("stream",), registry=None))


async def has_counted(metrics: Metrics, position: int, stream: str = "ERRATA") -> bool:
    """Whether everything up to a position is counted, a moment after the database shows it."""
    return bool(metrics.position.labels(stream)._value.get() == position)


def applied(metrics: Metrics) -> float:
    count: float = metrics.facts.labels("ERRATA", "applied")._value.get()
    return count


def servers_at(broker: str, database_url: str) -> Servers:
    return Servers(broker, {}, None, database_url, {}, BlobSettings("s3:1", "k", "k", "b"), None, None, embedded=False)


async def test_doctor_notices_a_broker_that_lost_facts(bus: Bus, broker: str, database_url: str) -> None:
    tape = Tape()
    tape.add(Page("a").registered(), Page("b").registered())
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    doctor = await doctor_command._check_projector(bus, servers_at(broker, database_url))
    assert not doctor.good
    assert doctor.text.startswith("ERRATA ends at 0, but facts up to 2 were applied")


async def test_a_message_that_ends_the_projector_each_time_is_left_out_for_good(
    bus: Bus, broker: str, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No error that can be refused, but the end of the process itself: what a last resort is for."""
    good, bad, later = Page("a"), Page("b"), Page("c")
    await publish(bus, good.registered(), bad.registered(), later.registered())
    decoded = decode_event

    def decode(subject: str, data: bytes) -> Envelope:
        if str(bad.version_id) in subject:
            raise MemoryError
        return decoded(subject, data)

    monkeypatch.setattr(reading, "decode", decode)
    look = store_at(database_url)
    with pytest.raises(MemoryError):
        await Follower("ERRATA", store_at(database_url), BusLog(bus), counted()).run()
    assert await look.position("ERRATA") == 0

    found = servers_at(broker, database_url)
    doctor = await doctor_command._check_projector(bus, found)
    assert not doctor.good
    assert "is stuck before ERRATA 1 " in doctor.text
    skip = Skip("ERRATA", 2, "ends the process")
    with pytest.raises(click.ClickException, match="ends at 3"):
        await projector_command._skip(found, Skip("ERRATA", 4, "no such message"))
    assert await projector_command._skip(found, skip) is False
    with pytest.raises(click.ClickException, match="already"):
        await projector_command._skip(found, skip)

    async with following(BusLog(bus), {"ERRATA": store_at(database_url)}) as metrics:
        await until(lambda: has_counted(metrics, 3))
    await look.close()
    assert metrics.facts.labels("ERRATA", "skipped")._value.get() == 1
    before = await everything(database_url)
    assert [(row["sequence"], row["outcome"], row["reason"]) for row in before["refused_fact"]] == [
        (2, "skipped", "ends the process")
    ]
    assert {row["external_id"] for row in before["post"]} == {"a", "c"}
    shown = await doctor_command._check_refused_facts(found)
    assert shown.good
    assert "ERRATA 2 (errata.v1.version.registered." in shown.text
    await rebuild(database_url, NoTexts(), analyses=ANALYSES)
    assert await everything(database_url) == before
    async with await owner(database_url) as db:
        assert (await verify(db, BusLog(bus))).ok


async def test_readiness_says_when_the_projector_stands_still(
    bus: Bus, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the projector and on the gateway, at the first request."""
    monkeypatch.setattr(standstill, "SAMPLE_S", 0.02)
    monkeypatch.setattr(standstill, "STANDSTILL_S", 0.2)
    broken = True
    follow = Follower.run

    async def run(self: Follower) -> None:
        if broken:
            raise MemoryError
        await follow(self)

    monkeypatch.setattr(Follower, "run", run)
    telemetry = Telemetry()
    host = Host(
        bus=bus,
        delivery=Delivery(bus, telemetry),
        blobs=Blobs(BlobSettings("s3:1", "k", "k", "b")),
        clock=SystemClock(),
        telemetry=telemetry,
        database_url=database_url,
        model=cast(Any, None),
        user_keys=cast(Any, None),
    )
    await projector_app.build(host, ProjectorSettings())
    reads = SqlReads(Database(database_url, role="reader"), analysis="FACT_CHECK")
    vitals = ServerHealth(bus, reads, host.blobs)
    await publish(bus, Page("a").registered())
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(host.run(stop))
        watching = group.create_task(vitals.standstill.watch())

        async def seen() -> bool:
            gauge = 'openerrata_projector_standing_still{stream="ERRATA"} 1.0'
            return gauge in telemetry.render().decode() and vitals.standstill.stands

        await until(seen)
        assert "projector-standstill ERRATA" in await host.problems()
        assert "projector" in await vitals.find_failing()
        broken = False

        async def over() -> bool:
            return not await host.problems() and not vitals.standstill.stands

        await until(over)
        assert "projector" not in await vitals.find_failing()
        await cancel_and_wait([watching])  # whose look-up may swallow one cancellation
        stop.set()
    await host.close()
