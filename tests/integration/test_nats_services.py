"""Each service runs with its own user of the broker, and that user can do nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

import nats
import pytest
from nats.aio.client import Client

from contracts.access import ACCESS, POSITION, REQUESTER
from contracts.broker_rights import inbox, may_publish, writable_buckets
from contracts.topology import BUCKETS, CONSUMERS, DEAD, ERRATA, FAILURES, HEALTH, STREAMS, Consumer, stream_of
from contracts.v1 import EVENTS, ErasureOrdered
from kit import circuit, topology
from kit.bus import connect
from kit.database import Database, migrate
from kit.embedded import EmbeddedStack
from kit.host import Host
from kit.publisher import Outgoing
from kit.servers_in_use import find_servers
from kit.settings import Infrastructure
from services.commands.keys import activate
from services.commands.process import SERVICES, Plan, assemble
from tests.contract.broker_users import broker_users
from tests.contract.reference import PUBLISHERS
from tests.e2e.posts import BATS, on_wikipedia
from tests.support.extension_client import Extension
from tests.support.servers import nats_server
from tests.support.sites import Sites
from tests.support.system import until

LONE = frozenset({"commands", "projector"})
"""Who publishes without a user of a service: commands, among them the projector's, come in as `openerrata`."""


def violations(server: EmbeddedStack) -> list[str]:
    """What the broker has refused anybody so far."""
    log = (server.data_dir / "logs" / "nats.log").read_text()
    return [line for line in log.splitlines() if "Violation" in line]


def test_a_user_may_publish_what_its_service_publishes() -> None:
    for event, publishers in PUBLISHERS.items():
        allowed = {service for service, access in ACCESS.items() if event in access.publishes}
        assert allowed == set(publishers) - LONE, event.SUBJECT
    assert set(ACCESS) == set(SERVICES)


def test_a_service_that_takes_messages_may_count_their_failures() -> None:
    for service in {consumer.service for consumer in CONSUMERS}:
        assert f"$KV.{FAILURES.name}.>" in may_publish(service), service


def test_the_users_of_a_broker_of_one_s_own_are_the_same() -> None:
    for path, text in broker_users().items():
        assert path.read_text() == text, "run `python -m tests.contract.write`"


@asynccontextmanager
async def all_services(folder: Path) -> AsyncIterator[tuple[EmbeddedStack, str]]:
    """Every service over a connection of its own, as its own user; the gateway's address."""
    with find_servers(Infrastructure(model="demo"), folder / "data", durable=False) as found:
        assert found.stack is not None
        await migrate(found.database_url)
        async with connect(found.nats_url, name="test") as bus:
            await topology.apply(bus)
        operator = Database(found.database_url, role="operator")
        await activate(operator, "tests", "oe_tests")
        await operator.close()
        async with AsyncExitStack() as stack:
            stop, running, hosts = asyncio.Event(), [], {}
            for service in SERVICES:
                plan = Plan((service,), unsafe_broker=True)
                assert found.broker(plan.services) != found.nats_url
                hosts[service] = await stack.enter_async_context(assemble(plan, found))
                running.append(asyncio.create_task(hosts[service].run(stop)))
            try:
                yield found.stack, hosts["gateway"].public_url
                for service, host in hosts.items():
                    await until(partial(_has_no_problems, host), f"{service} reports no problem")
            finally:
                stop.set()
                await asyncio.gather(*running)


async def _has_no_problems(host: Host) -> bool:
    return not await host.problems()


async def test_an_article_goes_through_all_services_each_with_its_own_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Sites() as sites:
        monkeypatch.setenv("OPENERRATA_MODEL", "demo")
        monkeypatch.setenv("OPENERRATA_GATEWAY_PORT", "0")
        monkeypatch.setenv("OPENERRATA_VERIFIER_WIKIPEDIA_URL", f"{sites.url}/w/api.php")
        article = on_wikipedia(sites, BATS)
        on_x = {
            "platform": "X",
            "externalId": "20",
            "url": "https://x.com/ada/status/20",
            "observedContentText": f"A walk in the park. {BATS} Then coffee.",
            "metadata": {"authorHandle": "ada", "text": "A walk in the park.", "mediaUrls": []},
        }
        async with all_services(tmp_path) as (server, url), Extension(url, api_key="oe_tests") as reader:
            for observation, provenance in ((article.observation, "SERVER_VERIFIED"), (on_x, "CLIENT_FALLBACK")):
                version = await reader.register(observation)
                assert version["provenance"] == provenance
                await reader.view(version["postVersionId"])
                asked = await reader.investigate(version["postVersionId"])
                result = await reader.result(asked["investigationId"], within_s=60)
                assert [claim["text"] for claim in result["claims"]] == [BATS]
        assert violations(server) == []


@asynccontextmanager
async def user(server: EmbeddedStack, service: str) -> AsyncIterator[tuple[Client, list[str]]]:
    """A connection of a service, and what it was refused."""
    refused: list[str] = []

    async def note(error: Exception) -> None:
        refused.append(str(error))

    url = server.endpoints.nats_service_urls[service]
    client = await nats.connect(url, error_cb=note, allow_reconnect=False, inbox_prefix=inbox(service))
    try:
        yield client, refused
    finally:
        await client.close()


def forbidden(service: str) -> list[str]:
    """Subjects that are no business of a service's user."""
    access, key = ACCESS[service], uuid4()
    subjects = [f"{event.SUBJECT}.{key}" for event in EVENTS if event not in access.publishes]
    for consumer in CONSUMERS:
        if consumer.service != service:
            stream = stream_of(consumer.event).name
            subjects += [
                f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer.name}",
                f"$JS.ACK.{stream}.{consumer.name}.1.1.1.1.0",
                f"$JS.API.CONSUMER.PAUSE.{stream}.{consumer.name}",
                consumer.dead_letter_subject,
            ]
            if consumer not in access.sends_directly:
                subjects.append(f"{consumer.direct_subject}.{key}")
        subjects += [
            consumer.redelivery_subject,
            f"$JS.API.CONSUMER.DELETE.{stream_of(consumer.event).name}.{consumer.name}",
            f"$JS.API.CONSUMER.DURABLE.CREATE.{stream_of(consumer.event).name}.{consumer.name}",
            f"$JS.API.CONSUMER.CREATE.{stream_of(consumer.event).name}.{consumer.name}.{consumer.filter}",
        ]
    for kept in STREAMS:
        subjects += [f"$JS.API.STREAM.{act}.{kept.name}" for act in ("DELETE", "PURGE", "UPDATE", "MSG.DELETE")]
        subjects += [f"$JS.API.STREAM.{act}.{kept.name}" for act in ("SNAPSHOT", "RESTORE", "CREATE")]
        if kept not in access.log:
            subjects.append(f"$JS.API.STREAM.MSG.GET.{kept.name}")
    for bucket in BUCKETS:
        if bucket not in writable_buckets(service):
            if bucket is not HEALTH:  # everybody writes there, and nobody reads
                subjects.append(f"$KV.{bucket.name}.mine")
            if bucket not in access.reads:
                subjects.append(f"$JS.API.DIRECT.GET.KV_{bucket.name}.$KV.{bucket.name}.mine")
                subjects.append(f"$JS.API.STREAM.MSG.GET.KV_{bucket.name}")
    if not access.announces_position:
        subjects.append(f"{POSITION}.{ERRATA.name}")
    others = [f"{inbox(name)}.x" for name in ACCESS if name != service and not (access.answers and name == REQUESTER)]
    return [*subjects, *others, "stored.errata.v1.claim.approved.x", "anything"]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    with nats_server(tmp_path_factory.mktemp("broker")) as server:
        asyncio.run(_applied(server.endpoints.nats_url))
        yield server


async def _applied(url: str) -> None:
    async with connect(url, name="test") as bus:
        await topology.apply(bus)


@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda consumer: consumer.name)
async def test_a_user_can_pause_its_own_consumer_and_write_its_dead_letters(
    broker: EmbeddedStack, consumer: Consumer
) -> None:
    before = len(violations(broker))
    url, prefix = broker.endpoints.nats_service_urls[consumer.service], inbox(consumer.service)
    async with connect(url, name="test", inbox=prefix) as bus:
        await circuit.pause(bus, consumer, 60)
        await circuit.resume(bus, consumer)
        letter = await bus.wait_for_receipt(await bus.send(Outgoing(consumer.dead_letter_subject, b"{}", {})))
    async with connect(broker.endpoints.nats_url, name="test") as bus:
        await bus.jetstream.delete_msg(DEAD.name, letter.sequence)
    assert len(violations(broker)) == before


@pytest.mark.parametrize("service", SERVICES)
async def test_a_user_can_publish_nobody_elses_events_and_take_nobody_elses_work(
    broker: EmbeddedStack, service: str
) -> None:
    async with user(broker, service) as (client, refused):
        subjects = forbidden(service)
        for subject in subjects:
            await client.publish(subject, b"{}")
        heard = [f"{inbox(name)}.>" for name in ACCESS if name != service]
        heard += ["errata.v1.>", "stored.>", "$KV.>", "$JS.>", ">", "_INBOX.>"]
        for subject in heard:
            await client.subscribe(subject)

        async def all_refused() -> bool:
            await client.flush()
            return len(refused) >= len(subjects) + len(heard)

        await until(all_refused, "every one is refused")
        assert all("permissions violation" in each.lower() for each in refused)
    async with connect(broker.endpoints.nats_url, name="test") as bus:
        for stream in STREAMS:
            assert (await bus.jetstream.stream_info(stream.name)).state.messages == 0
    assert ErasureOrdered not in ACCESS[service].publishes
