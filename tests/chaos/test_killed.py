"""Every service is a process of its own, and each of them and of their servers is killed in the middle of its work.

Nothing may be lost and nothing may happen twice: whoever asked gets the same answer as on a quiet day.
"""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from nats.aio.msg import Msg

from contracts.topology import ERRATA, INGEST_OBSERVATION_UNVERIFIABLE, VALIDATOR_CLAIM_PROPOSED
from services.commands.process import SERVICES
from tests.chaos.conftest import KEY, disturbed
from tests.e2e.posts import FIVE, on_wikipedia, on_x
from tests.support.extension_client import Extension, Json, RpcFailed
from tests.support.oracle import Oracle, oracle
from tests.support.sites import Sites
from tests.support.system import GivenServers, System, system, until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("chaos-killed")]

ON_THE_WAY = ("verifier", "ingest", "projector", "gateway")
"""Who is needed between a reader's page and its version."""


@dataclass(frozen=True)
class World:
    """Seven processes over servers that the test runs."""

    system: System
    servers: GivenServers
    sites: Sites
    oracle: Oracle
    port: int

    def member(self) -> Extension:
        """Somebody with an instance key."""
        return Extension(f"http://127.0.0.1:{self.port}", api_key=KEY)

    async def revive(self, service: str) -> None:
        """Start a killed service again, the gateway at its old address."""
        await self.system.up(service, port=self.port if service == "gateway" else 0)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The running system; the projector is first, since it prepares the database."""
    folder: Path = tmp_path_factory.mktemp("killed")
    with GivenServers(folder / "servers") as servers:
        async with Sites() as sites, system(folder / "system", **servers.settings, **disturbed(sites)) as running:
            applied = await running.run("topology", "apply")
            assert applied.code == 0, applied.err
            assert (await running.run("keys", "add", "tests", "--key", KEY)).code == 0
            for service in SERVICES:
                running.spawn(service)
            await asyncio.gather(*(process.started() for process in running.processes.values()))
            port = httpx.URL(running.url).port
            assert port is not None
            async with oracle(running.database_url, running.nats_url) as looking:
                yield World(running, servers, sites, looking, port)


async def patiently(ask: Any, *, within_s: float = 40.0) -> Json:
    """Ask again while the system cannot answer, as the extension does."""

    async def answer() -> Json | None:
        try:
            answered: Json = await ask()
        except httpx.TransportError:
            return None
        except RpcFailed as failed:
            if failed.status != 503:
                raise
            return None
        return answered

    return await until(answer, "an answer", within_s=within_s)


async def under_way(reader: Extension, observation: Json) -> tuple[str, str]:
    """An investigation that has its first candidates but not all of them: version and run."""
    version = (await reader.register(observation))["postVersionId"]
    run = (await reader.investigate(version))["investigationId"]

    async def begun() -> bool:
        status = await reader.look(run)
        assert status["investigationState"] == "INVESTIGATING", "it was over before it could be disturbed"
        return bool(status["pendingClaims"] or status["confirmedClaims"])

    await until(begun, "the first candidate shows")
    return version, run


async def as_on_a_quiet_day(world: World, reader: Extension, run: str) -> None:
    """Assert that a disturbed investigation ended as an undisturbed one ends."""
    result = await patiently(lambda: reader.result(run, within_s=60))
    assert [claim["text"] for claim in result["claims"]] == list(FIVE)
    await world.oracle.settled(within_s=60)
    assert await world.oracle.once_each(run) == list(FIVE)
    assert await world.oracle.value(
        "SELECT count(*) = count(DISTINCT event_id) FROM ledger.fact WHERE stream = 'ERRATA'"
    ), "a fact was stored twice"
    assert await world.oracle.dead() == []


@pytest.mark.parametrize("service", SERVICES)
async def test_each_service_has_metrics_of_its_own(world: World, service: str) -> None:
    async with world.member() as reader:
        await reader.investigated(on_x(*FIVE), within_s=60)
    async with httpx.AsyncClient(base_url=world.system.processes[service].operations_url, trust_env=False) as operator:
        metrics = (await operator.get("/metrics")).text
    assert re.findall(r'^openerrata_service{service="(\w+)"} 1.0$', metrics, re.MULTILINE) == [service]
    handled = set(re.findall(r'^openerrata_handled_seconds_count{consumer="(\w+)-', metrics, re.MULTILINE))
    assert handled <= {service}
    assert handled or service not in {"ingest", "investigator", "validator"}


@pytest.mark.requirement("3.6-03", "3.2-02", "2.6-15")
@pytest.mark.parametrize("service", SERVICES)
async def test_an_investigation_survives_the_death_of(world: World, service: str) -> None:
    """3.6-03: A run whose worker died is taken up again.
    3.2-02: One investigation per version.
    2.6-15: A request during a run starts no second one.
    """
    async with world.member() as reader:
        _, run = await under_way(reader, on_x(*FIVE))
        await world.system.processes[service].kill()
        await world.revive(service)
        await as_on_a_quiet_day(world, reader, run)


@pytest.mark.requirement("2.6-01", "2.9-02", "3.5-03")
@pytest.mark.parametrize("service", ON_THE_WAY)
async def test_an_observation_survives_the_death_of(world: World, service: str) -> None:
    """2.6-01: A page load registers the version, then records the view.
    2.9-02: Wikipedia verification pinned to revision.
    3.5-03: Registrations at once make one version.
    """
    article = on_wikipedia(world.sites, *FIVE, title=f"The death of the {service}")
    world.sites.fail("slow")
    asked = len(world.sites.requests)
    async with world.member() as reader:
        registering = asyncio.create_task(patiently(lambda: reader.register(article.observation)))
        await world.sites.seen(asked + 1)
        await world.system.processes[service].kill()
        world.sites.heal()
        await world.revive(service)
        version = await registering
        assert version["provenance"] == "SERVER_VERIFIED"
        assert (await reader.view(version["postVersionId"]))["investigationState"] == "NOT_INVESTIGATED"
    await registered_once(world, version)


@pytest.mark.requirement("2.6-01", "2.9-02", "3.5-03")
async def test_an_observation_survives_the_death_of_whom_it_was_handed_to(world: World) -> None:
    """It was handed on and is nowhere stored.

    2.6-01: A page load registers the version, then records the view.
    2.9-02: Wikipedia verification pinned to revision.
    3.5-03: Registrations at once make one version.
    """
    observation = on_x(*FIVE)
    handed = asyncio.Event()

    async def note(message: Msg) -> None:
        handed.set()

    client = world.oracle.bus.client
    listening = await client.subscribe(f"{INGEST_OBSERVATION_UNVERIFIABLE.direct_subject}.*", cb=note)
    await client.flush()
    ingest = world.system.processes["ingest"]
    async with world.member() as reader:
        ingest.send(signal.SIGSTOP)
        registering = asyncio.create_task(patiently(lambda: reader.register(observation)))
        await asyncio.wait_for(handed.wait(), 60)
        assert await stored_observations(world, observation) == 0
        await ingest.kill()
        await world.revive("ingest")
        version = await registering
        assert (await reader.view(version["postVersionId"]))["investigationState"] == "NOT_INVESTIGATED"
    await listening.unsubscribe()
    await registered_once(world, version)
    assert await stored_observations(world, observation) >= 1, "it went by the log"


async def registered_once(world: World, version: Json) -> None:
    """Assert that all work is done, and one fact tells of a version."""
    await world.oracle.settled(within_s=60)
    assert (
        await world.oracle.value(
            "SELECT count(*) FROM ledger.fact WHERE subject LIKE 'errata.v1.version.registered.%%' AND subject LIKE %s",
            f"%{version['postVersionId']}",
        )
        == 1
    )
    assert await world.oracle.dead() == []


async def stored_observations(world: World, observation: Json) -> int:
    """How many facts of the log tell that a post was observed."""
    count: int = await world.oracle.value(
        "SELECT count(*) FROM ledger.fact WHERE subject LIKE 'errata.v1.observation.%%'"
        " AND convert_from(envelope, 'UTF8') LIKE %s",
        f"%{observation['externalId']}%",
    )
    return count


@pytest.mark.requirement("3.6-03")
async def test_an_investigation_survives_the_death_of_the_broker(world: World) -> None:
    """3.6-03: A run whose worker died is taken up again."""
    async with world.member() as reader:
        _, run = await under_way(reader, on_x(*FIVE))
        world.servers.kill("nats")
        assert await broken(reader) == ["broker"]
        world.servers.start("nats")
        await as_on_a_quiet_day(world, reader, run)
        _, again, _ = await reader.investigated(on_x(*FIVE))
    assert await world.oracle.once_each(again) == list(FIVE)


@pytest.mark.requirement("3.6-03", "3.13-05")
async def test_an_investigation_survives_the_death_of_the_database(world: World) -> None:
    """3.6-03: A run whose worker died is taken up again.
    3.13-05: Health endpoint.
    """
    async with world.member() as reader:
        _, run = await under_way(reader, on_x(*FIVE))
        world.servers.kill("postgres")
        assert await broken(reader) == ["database"]
        world.servers.start("postgres")
        await as_on_a_quiet_day(world, reader, run)


async def broken(reader: Extension) -> list[str]:
    """Wait until the gateway says that it is not ready, and why."""

    async def unready() -> list[str]:
        response = await reader.http.get("/ready")
        return response.json()["broken"] if response.status_code == 503 else []

    return await until(unready, "the gateway says that it is not ready")


async def test_nothing_was_lost_and_nothing_forged(world: World) -> None:
    await world.oracle.settled(within_s=60)
    before = await world.oracle.rows()
    verified = await world.system.run("ledger", "verify")
    assert verified.code == 0, verified.out
    assert (await world.system.run("projector", "rebuild")).code == 0
    assert await world.oracle.rows() == before
    visit = await world.system.run("doctor")
    assert visit.code == 0, visit.out


async def test_the_doctor_knows_what_is_missing(world: World) -> None:
    run = world.system.run
    async with world.member() as reader:
        version = (await reader.register(on_x(*FIVE)))["postVersionId"]
        await world.system.processes["projector"].kill()
        await reader.view(version)
        visit = await run("doctor")
        assert visit.code == 1, visit.out
        assert "openerrata up projector" in visit.out
        await world.revive("projector")
        assert (await run("doctor")).code == 0

        await world.oracle.bus.jetstream.delete_consumer(ERRATA.name, VALIDATOR_CLAIM_PROPOSED.name)
        visit = await run("doctor")
        assert visit.code == 1, visit.out
        assert f"consumer {VALIDATOR_CLAIM_PROPOSED.name}: missing" in visit.out
        assert "openerrata topology apply" in visit.out
        applied = await run("topology", "apply")
        assert (applied.code, applied.out.count("changed")) == (0, 1), applied.out
        assert (await run("doctor")).code == 0
        _, again, _ = await reader.investigated(on_x(*FIVE))
    assert await world.oracle.once_each(again) == list(FIVE)
