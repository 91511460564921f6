"""What an operator does and reads while everything runs."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from services.commands.process import SERVICES
from tests.e2e.conftest import World
from tests.e2e.posts import BATS, BRAIN, WALL, on_wikipedia, on_x
from tests.support.monitored import asked, expressions
from tests.support.oracle import differences
from tests.support.suspended import suspended_tree
from tests.support.system import until

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("e2e")]

PATH = ("verifier-", "ingest-", "investigator-", "validator-")


@pytest.mark.requirement("2.12-04")
async def test_one_id_leads_through_all_logs(world: World) -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    article = on_wikipedia(world.sites, BRAIN, title="A traced walk")
    async with world.member() as reader:
        version = await reader.register(article.observation)
        observed = reader.correlations[-1]
        asked = await reader.investigate(version["postVersionId"])
        await reader.result(asked["investigationId"])
    await world.oracle.settled()
    lines = world.system.log_lines()

    def consumers(correlation: str) -> list[str]:
        return [line["consumer"] for line in lines if line.get("correlation") == correlation and "consumer" in line]

    assert [name.split("-")[0] for name in consumers(observed)] == ["verifier", "ingest", "investigator", "validator"]
    facts = [fact for fact in await world.oracle.facts() if fact.envelope["correlation"] == observed]
    exporter = [fact.subject.removeprefix("errata.v1.").rpartition(".")[0] for fact in facts]
    assert exporter.count("claim.validation_started") == 1, "a review begins while the draft is on its way"
    assert [each for each in exporter if each != "claim.validation_started"] == [
        "observation.received", "canonical.fetched", "version.registered", "investigation.requested",
        "investigation.started", "claim.proposed", "investigation.drafted", "claim.approved", "investigation.completed",
    ]  # fmt: skip
    caused_by = {fact.envelope["id"]: fact.envelope.get("cause") for fact in facts}
    uncaused = [fact.subject for fact in facts if caused_by[fact.envelope["id"]] not in caused_by]
    assert len(uncaused) == 2, f"only what a reader does has no cause: {uncaused}"


async def test_the_doctor_is_content(world: World) -> None:
    await world.oracle.settled()
    visit = await world.system.run("doctor")
    assert visit.code == 0, visit.out + visit.err
    assert visit.out.count("ok ") >= 8
    assert "BAD" not in visit.out


async def test_metrics_and_readiness_of_a_sound_system(world: World) -> None:
    async with world.reader() as reader:
        await reader.view("no id")
        ready = await reader.http.get("/ready")
        assert (await reader.http.get("/metrics")).status_code == 404, "that is for operators, on a port of their own"
        health = (await reader.http.get("/health")).json()
    process = next(each for each in world.system.processes.values() if each.alive)
    async with httpx.AsyncClient(trust_env=False) as operator:
        metrics = (await operator.get(f"{process.operations_url}/metrics")).text
        others = (await operator.get(f"{world.second.operations_url}/metrics")).text
    assert set(re.findall(r'^openerrata_service{service="(\w+)"} 1.0$', metrics, re.MULTILINE)) == set(SERVICES)
    assert re.findall(r'^openerrata_service{service="(\w+)"} 1.0$', others, re.MULTILINE) == ["gateway"]
    assert "openerrata_gateway_request_seconds" in others
    assert "openerrata_projector_facts_total" not in others
    assert (ready.status_code, ready.json()["broken"]) == (200, [])
    assert (health["status"], health["minimumSupportedExtensionVersion"]) == ("ok", "0.2.0")
    assert 'openerrata_gateway_request_seconds_count{procedure="post.recordViewAndGetStatus",status="200"}' in metrics
    for name in ("openerrata_handled_seconds", "openerrata_published_total", "openerrata_projector_position"):
        assert name in metrics
    exposed = set(re.findall(r"^# TYPE (\S+) ", metrics, re.MULTILINE))
    unknown = {where: missing for where, expression in expressions() if (missing := asked(expression) - exposed)}
    assert unknown == {}, "an alert or a panel that can never show anything"


async def test_whoever_runs_the_demo_model_is_told_once_and_clearly(world: World) -> None:
    """All are embedded here and there is no key; the second gateway asks no model."""
    (notice,) = [line for line in world.system.log_lines() if line["event"].startswith("demo model")]
    assert notice["level"] == "warning"
    assert notice["event"] == "demo model: answers come from a small offline catalogue, not from a model"


@pytest.mark.requirement("3.13-05")
async def test_readiness_says_when_the_database_hangs(world: World) -> None:
    """3.13-05: Health endpoint."""
    postgres = next(
        child
        for process in world.system.processes.values()
        if process.alive
        for child in psutil.Process(process.pid).children()
        if child.name() == "postgres"
    )
    with suspended_tree(postgres.pid):
        async with world.reader() as reader:

            async def unready() -> list[str]:
                response = await reader.http.get("/ready")
                return response.json()["broken"] if response.status_code == 503 else []

            assert await until(unready, "the gateway says that it is not ready") == ["database"]
            health = await reader.http.get("/health")
            assert (health.status_code, health.json()["status"]) == (503, "unavailable")
    async with world.reader() as reader:

        async def ready() -> bool:
            return (await reader.http.get("/ready")).status_code == 200

        await until(ready, "the gateway is ready again")
        await reader.register(on_x("A walk after the frost."))


@pytest.mark.requirement("3.2-01")
async def test_the_read_model_is_rebuilt_the_same_while_readers_read(world: World) -> None:
    """3.2-01: A post is unique by platform and its id there."""
    async with world.member() as reader:
        version, run, _ = await reader.investigated(on_wikipedia(world.sites, BRAIN, WALL, title="Rebuilt").observation)
        await world.oracle.settled()
        before = await world.oracle.rows()
        stop = asyncio.Event()
        looks = 0

        async def keep_looking() -> None:
            nonlocal looks
            while not stop.is_set():
                assert (await reader.look(run))["investigationState"] == "INVESTIGATED"
                looks += 1

        looking = asyncio.create_task(keep_looking())
        rebuilt = await world.system.run("projector", "rebuild")
        stop.set()
        await looking
        assert rebuilt.code == 0, rebuilt.err
        assert looks > 10
        assert differences(before, await world.oracle.rows()) == []
        assert sum(map(len, before.values())) > 50
        _, later, _ = await reader.investigated(on_x(BATS))
        assert await world.oracle.once_each(later) == [BATS]
        assert (await reader.view(version["postVersionId"]))["investigationState"] == "INVESTIGATED"


@pytest.mark.requirement("2.12-01")
async def test_an_altered_ledger_is_found_and_never_replayed(world: World) -> None:
    """2.12-01: Input text and contentHash persisted."""
    async with world.member() as reader:
        await reader.investigated(on_x(BATS))
    await world.oracle.settled()
    sound = await world.system.run("ledger", "verify")
    assert sound.code == 0, sound.out + sound.err
    fact = (await world.oracle.facts("errata.v1.claim.approved.%"))[-1]
    forged = fact.data.replace(b"blind", b"brave")
    assert forged != fact.data
    change = "UPDATE ledger.fact SET envelope = %s WHERE stream = %s AND sequence = %s"
    before = await world.oracle.rows()
    with pytest.raises(psycopg.errors.RestrictViolation):
        await world.oracle.execute(change, forged, fact.stream, fact.sequence)
    assert await world.oracle.forge(change, forged, fact.stream, fact.sequence) == 1
    try:
        found = await world.system.run("ledger", "verify")
        assert found.code == 1
        assert f"altered in the ledger: {fact.sequence}" in found.out
        refused = await world.system.run("projector", "rebuild")
        assert refused.code == 1
        assert differences(before, await world.oracle.rows()) == []
    finally:
        await world.oracle.forge(change, fact.data, fact.stream, fact.sequence)
    assert (await world.system.run("ledger", "verify")).code == 0


async def test_commands_without_a_system_say_what_to_do(world: World, tmp_path: Path) -> None:
    wrong = await world.system.run("up", "validator", OPENERRATA_LOG_LEVEL="no")
    assert wrong.code == 1
    assert "OPENERRATA_LOG_LEVEL" in wrong.err
    assert "Traceback" not in wrong.err
    nowhere = await world.system.run(
        "up", "validator", OPENERRATA_MODEL="demo", OPENERRATA_NATS_URL="nats://127.0.0.1:9"
    )
    assert nowhere.code == 1
    assert "OPENERRATA_NATS_URL: no broker answers at 127.0.0.1:9" in nowhere.err
    assert "Traceback" not in nowhere.err
