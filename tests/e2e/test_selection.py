"""Selectors as an operator runs them: a look before they leap, one that leads, and another when it dies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest
import pytest_asyncio

from contracts.topology import LEADERS
from contracts.v1.ids import investigation_id
from tests.e2e.posts import BRAIN, GOLDFISH, on_x
from tests.support.extension_client import Extension, Json
from tests.support.oracle import Oracle, oracle
from tests.support.system import System, system, until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("e2e-selection")]

KEY = "oe_the-key-of-this-instance"


@dataclass(frozen=True)
class World:
    """A system whose own selector is switched off, and a look behind its back.

    `some`, `many` and `none` are versions by how often they were viewed.
    """

    system: System
    oracle: Oracle
    some: str = ""
    many: str = ""
    none: str = ""

    async def viewed(self, text: str, viewers: int) -> str:
        """A post that so many people have seen; its version."""
        async with Extension(self.system.url) as reader:
            version: str = (await reader.register(on_x(text)))["postVersionId"]
        for number in range(viewers):
            async with Extension(self.system.url, user_agent=f"Browser {number}") as reader:
                await reader.view(version)
        await self.oracle.settled()
        return version

    async def select(self, *arguments: str, **settings: str) -> Json:
        """What the command says."""
        ended = await self.system.run("select", "--json", *arguments, within_s=60.0, **settings)
        assert ended.code == 0, ended.err
        said: Json = json.loads(ended.out)
        return said


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder: Path = tmp_path_factory.mktemp("selection")
    # Posts of X are candidates once enough readers vouch for them: here one, since all come from one address range.
    one_range = {"OPENERRATA_PROJECTOR_CORROBORATING_RANGES": "1"}
    async with system(folder, OPENERRATA_MODEL="demo", **one_range) as running:
        await running.up(settings={"OPENERRATA_SELECTOR_RUNS_PER_DAY": "0"})
        assert (await running.run("keys", "add", "tests", "--key", KEY)).code == 0
        async with oracle(running.database_url, running.nats_url) as looking:
            world = World(running, looking)
            viewed = [await world.viewed(text, n) for text, n in ((BRAIN, 1), (GOLDFISH, 3), ("A quiet walk.", 0))]
            async with Extension(running.url, api_key=KEY) as member:
                await member.investigated(on_x("A long walk."))
            await looking.settled()
            yield World(running, looking, *viewed)


@pytest.mark.requirement("2.10-01", "2.10-02")
async def test_a_dry_run_says_what_would_be_taken_and_takes_nothing(world: World) -> None:
    """2.10-01: Order by capped unique score.
    2.10-02: Budget configurable.
    """
    before = await world.oracle.heads()
    said = await world.select("--dry-run")
    taken = [(each["version_id"], each["score"], each["why"]) for each in said["take"]]
    assert taken == [(world.many, 3, "most viewed"), (world.some, 1, "most viewed")]
    assert said["requested"] is None
    assert said["others"] == {"investigated": 1, "unconfirmed": 1}
    assert (await world.select("--dry-run", OPENERRATA_SELECTOR_RUNS_PER_DAY="1"))["allowed"]["limit"] == "1 run a day"
    shown = await world.system.run("select", "--dry-run")
    assert shown.code == 0, shown.err
    lines = shown.out.splitlines()
    assert lines[1].startswith("now:   20 more may be taken")
    listed = lines[lines.index("would take, in this order:") + 2 :][:2]
    assert [line.split()[:2] for line in listed] == [["1", "3"], ["2", "1"]]
    assert "neither their site nor enough readers vouch for the text" in shown.out
    assert await world.oracle.heads() == before
    asked = await world.oracle.facts(f"errata.v1.investigation.requested.{investigation_id_of(world.none)}")
    assert asked == []


@pytest.mark.requirement("2.10-02", "3.6-05")
async def test_one_round_by_hand_and_its_bill(world: World) -> None:
    """2.10-02: Budget configurable.
    3.6-05: Failed and finished posts are left alone.
    """
    said = await world.select(OPENERRATA_SELECTOR_RUNS_PER_DAY="1")
    assert (said["requested"], len(said["take"])) == (1, 1)
    await world.oracle.settled()
    budget = await world.system.run("budget", "--json", OPENERRATA_SELECTOR_RUNS_PER_DAY="1")
    assert budget.code == 0, budget.err
    bill = json.loads(budget.out)
    assert {(each["requested_by"], each["key_source"]): each["runs"] for each in bill["today"]} == {
        ("SELECTOR", "INSTANCE"): 1,
        ("READER", "INSTANCE"): 1,
    }
    assert (bill["selector"]["runs"], bill["selector"]["runs_per_day"]) == (1, 1)
    assert (await world.select(OPENERRATA_SELECTOR_RUNS_PER_DAY="1"))["requested"] == 0
    shown = await world.system.run("budget")
    assert "readers with an instance key" in shown.out
    assert "selector: 1 of 100 runs" in shown.out


@pytest.mark.requirement("2.10-01", "2.3-04", "2.6-12", "3.6-01")
async def test_one_of_two_leads_and_the_other_when_it_dies(world: World) -> None:
    """2.10-01: Order by capped unique score.
    2.3-04: The selector runs periodically.
    2.6-12: Requests at once make one investigation.
    3.6-01: Latest seen version per post.
    """
    eager = {"OPENERRATA_SELECTOR_INTERVAL_S": "0.1"}
    one, two = [await world.system.up("selector", name=name, settings=eager) for name in ("one", "two")]

    async def leader() -> str | None:
        found = await (await world.oracle.bus.jetstream.key_value(LEADERS.name)).get("selector")
        return (found.value or b"").decode()

    async def taken(version: str) -> bool:
        return bool(await world.oracle.facts(f"errata.v1.investigation.requested.{investigation_id_of(version)}"))

    first = await leader()
    assert first is not None
    leading, following = (one, two) if f"-{one.pid}-" in first else (two, one)
    version = await world.viewed("Nobody walked here yet.", 1)
    await until(lambda: taken(version), "the leader takes it")
    refused = await world.system.run("select")
    assert refused.code == 1
    assert "a running selector leads" in refused.err

    await leading.kill()
    again = await world.viewed("Somebody walked here.", 1)
    await until(lambda: taken(again), "the other takes over", within_s=LEADERS.ttl_s + 15)
    assert f"-{following.pid}-" in (await leader() or "")
    selections = [line for line in leading.lines() if line.get("event") == "selected"]
    assert any(line["requested"] for line in selections)
    await asyncio.gather(following.kill())


def investigation_id_of(version: str) -> str:
    """The run of a version."""
    return str(investigation_id(UUID(version), "FACT_CHECK"))
