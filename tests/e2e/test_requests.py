"""Who may ask, who counts, and that asking many times is asking once."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from contracts.v1.ids import investigation_id
from tests.e2e.conftest import CREDIT_CAP, KEY, World
from tests.e2e.posts import BRAIN, GOLDFISH, on_substack, on_wikipedia, on_x
from tests.support.extension_client import Extension, RpcFailed
from tests.support.oracle import Fact
from tests.support.system import until

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("e2e")]

ROUNDS = 200
SIDE_BY_SIDE = 8
MANY = 50
REVOKED_WITHIN_S = 5.0


async def requested(world: World, run: str | UUID) -> int:
    """How often a run was asked for, by the log."""
    await world.oracle.settled()
    return len(await world.oracle.facts(f"errata.v1.investigation.requested.{run}"))


async def registered(world: World, *versions: str) -> list[Fact]:
    """The facts that made these versions."""
    return [fact for each in versions for fact in await world.oracle.facts(f"errata.v1.version.registered.{each}")]


@pytest.mark.requirement("2.6-01", "2.6-12", "3.5-01")
async def test_what_one_gateway_said_another_knows_at_once(world: World) -> None:
    """2.6-01: A page load registers the version, then records the view.
    2.6-12: Requests at once make one investigation.
    3.5-01: A result is looked up by version.
    """
    members = Extension(world.system.url, api_key="nobody"), Extension(world.second.url, api_key="nobody")
    turn = asyncio.Semaphore(SIDE_BY_SIDE)

    async def once(number: int) -> None:
        async with turn:
            here, there = members if number % 2 else members[::-1]
            version = (await here.register(on_x(f"Round {number} of the walk was uneventful.")))["postVersionId"]
            await there.view(version)
            with pytest.raises(RpcFailed) as refused:
                await there.investigate(version)
            assert refused.value.data["code"] == "UNAUTHORIZED", "an unknown version would be a bad request"

    await asyncio.gather(*map(once, range(ROUNDS)))
    for member in members:
        await member.http.aclose()


@pytest.mark.requirement("2.6-12", "3.3-03")
async def test_a_run_asked_for_at_one_gateway_is_known_at_the_other(world: World) -> None:
    """2.6-12: Requests at once make one investigation.
    3.3-03: An investigation's four states have their shapes.
    """
    async with Extension(world.system.url, api_key=KEY) as here, Extension(world.second.url, api_key=KEY) as there:
        for number in range(20):
            version = (await here.register(on_x(f"Round {number} was uneventful.")))["postVersionId"]
            asked = await there.investigate(version)
            status = await here.look(asked["investigationId"])
            assert status["investigationState"] in {"INVESTIGATING", "INVESTIGATED"}
            assert (await there.result(asked["investigationId"]))["claims"] == []


@pytest.mark.requirement("3.5-03", "3.2-01", "2.8-02")
async def test_a_hundred_readers_of_one_page_make_one_version(world: World) -> None:
    """3.5-03: Registrations at once make one version.
    3.2-01: A post is unique by platform and its id there.
    2.8-02: The server computes the version.
    """
    article = on_wikipedia(world.sites, BRAIN, title="A crowded walk")
    async with world.reader() as here, Extension(world.second.url) as there:
        answers = await asyncio.gather(
            *(reader.register(article.observation) for reader in (here, there) for _ in range(MANY))
        )
    assert len({answer["postVersionId"] for answer in answers}) == 1
    assert {answer["provenance"] for answer in answers} == {"SERVER_VERIFIED"}
    revision = article.observation["metadata"]["revisionId"]
    assert sum(seen.query.get("oldid") == revision for seen in world.sites.requests) == 1, "the site was asked once"


@pytest.mark.requirement("2.6-12", "2.6-15", "2.8-01", "3.2-02")
async def test_fifty_readers_ask_at_once_and_one_run_is_made(world: World) -> None:
    """2.6-12: Requests at once make one investigation.
    2.6-15: A request during a run starts no second one.
    2.8-01: One investigation for a post's version.
    3.2-02: One investigation per version.
    """
    async with world.member() as here, Extension(world.second.url, api_key=here.api_key) as there:
        version = (await here.register(on_x(BRAIN, GOLDFISH)))["postVersionId"]
        answers = await asyncio.gather(
            *(reader.investigate(version) for reader in (here, there) for _ in range(MANY // 2))
        )
        runs = {answer["investigationId"] for answer in answers}
        assert runs == {str(investigation_id(UUID(version), "FACT_CHECK"))}
        run = runs.pop()
        await here.result(run)
    assert await requested(world, run) == 1
    assert await world.oracle.once_each(run) == [BRAIN, GOLDFISH]
    assert (
        await world.oracle.value(
            "SELECT count(*) FROM readmodel.investigation_attempt WHERE investigation_id = %s", run
        )
        == 1
    )


@pytest.mark.requirement("2.10-01", "2.10-07", "3.6-01", "2.6-12")
async def test_selectors_and_readers_agree_on_one_run(world: World) -> None:
    """2.10-01: Order by capped unique score.
    2.10-07: Edited posts re-enter the pool.
    3.6-01: Latest seen version per post.
    2.6-12: Requests at once make one investigation.
    """
    before = {fact.subject for fact in await world.oracle.facts("errata.v1.investigation.requested.%")}
    async with world.member() as reader:
        wanted = [(await reader.register(on_substack(BRAIN)))["postVersionId"] for _ in range(3)]
        for version in wanted:
            await reader.view(version)
        await world.oracle.settled()
        observed = {fact.envelope["correlation"] for fact in await registered(world, *wanted)}
        eager = {"OPENERRATA_SELECTOR_INTERVAL_S": "0.2", "OPENERRATA_SELECTOR_RUNS_PER_DAY": "1000"}
        names = ("selector-one", "selector-two")
        selectors = [await world.system.up("selector", name=name, settings=eager) for name in names]
        runs = [str(investigation_id(UUID(version), "FACT_CHECK")) for version in wanted]

        async def taken() -> bool:
            state: str = (await reader.look(runs[-1]))["investigationState"]
            return state != "NOT_INVESTIGATED"

        await reader.investigate(wanted[0])
        await until(taken, "the selector takes what was viewed")
        for run in runs:
            assert [claim["text"] for claim in (await reader.result(run))["claims"]] == [BRAIN]
        assert [await requested(world, run) for run in runs] == [1, 1, 1]
        asked = [fact for run in runs for fact in await world.oracle.facts(f"%.investigation.requested.{run}")]
        assert {fact.envelope["correlation"] for fact in asked} == observed
        for selector in selectors:
            await selector.kill()
    after = [fact.subject for fact in await world.oracle.facts("errata.v1.investigation.requested.%")]
    assert len(after) == len(set(after))
    assert before < set(after)


@pytest.mark.requirement("3.3-05", "2.9-08")
async def test_keys_come_and_go_while_everything_runs(world: World) -> None:
    """3.3-05: A request needs an instance key or a provider key.
    2.9-08: One corroboration for each authenticated reader.
    """
    system = world.system
    async with world.reader(api_key="oe_a-second-key") as second, world.member() as first:
        version = (await first.register(on_x(BRAIN)))["postVersionId"]
        with pytest.raises(RpcFailed) as refused:
            await second.investigate(version)
        assert (refused.value.status, refused.value.data["code"]) == (401, "UNAUTHORIZED")

        added = await system.run("keys", "add", "second", "--key", "oe_a-second-key")
        assert added.code == 0, added.err
        assert (await system.run("keys", "list")).out.count("active") >= 2

        async def let_in() -> bool:
            return bool((await second.settings())["instanceApiKeyAccepted"])

        await until(let_in, "a new key works")
        asked = await second.investigate(version)
        await second.result(asked["investigationId"])
        for reader in (first, second, second):
            await reader.view(version)
        await world.oracle.settled()
        page = (await first.http.get(f"/investigations/{asked['investigationId']}.json")).json()
        assert page["investigation"]["corroborationCount"] == 2

        revoked = await system.run("keys", "revoke", "second")
        assert revoked.code == 0, revoked.err
        other = (await first.register(on_x(GOLDFISH)))["postVersionId"]

        async def shut_out() -> bool:
            try:
                await second.investigate(other)
            except RpcFailed as failed:
                return failed.status == 401
            return False

        await until(shut_out, "a revoked key is refused", within_s=REVOKED_WITHIN_S)
        assert "second" not in (await system.run("keys", "list")).out
        assert (await system.run("keys", "revoke", "second")).code == 1


@pytest.mark.requirement("2.10-03", "2.10-04", "2.10-05", "2.10-06")
async def test_views_count_and_credits_are_capped_by_neighbourhood(world: World) -> None:
    """2.10-03: viewCount on every view.
    2.10-04: One credit per viewer per post per day.
    2.10-05: IP range cap.
    2.10-06: Cap configurable.
    """
    async with world.reader() as anybody:
        version = (await anybody.register(on_x("A quiet walk.")))["postVersionId"]
    viewers = [("198.51.100.1", f"Browser {number}") for number in range(CREDIT_CAP + 2)]
    viewers += [("198.51.100.1", "Browser 0"), ("192.0.2.1", "Browser 0")]
    for address, browser in viewers:
        async with world.reader(address=f"10.9.8.7, {address}", user_agent=browser) as reader:
            await reader.view(version)
    await world.oracle.settled()
    row = await world.oracle.value(
        "SELECT array[p.view_count, p.unique_view_score] FROM readmodel.post p "
        "JOIN readmodel.post_version v ON v.post_id = p.id WHERE v.id = %s",
        version,
    )
    assert row == [len(viewers), CREDIT_CAP + 1]
    assert "198.51.100" not in await world.oracle.dump(), "no address is stored"


@pytest.mark.requirement("2.13-01", "3.3-09", "3.3-04", "3.3-08")
async def test_old_extensions_unknown_ids_and_lists(world: World) -> None:
    """2.13-01: Attestation accepted, never required.
    3.3-09: Extensions that are too old are refused.
    3.3-04: An unknown investigation is NOT_INVESTIGATED.
    3.3-08: Statuses come in order, zero for a miss.
    """
    async with world.member() as reader:
        version, run, _ = await reader.investigated(on_x(BRAIN))
        miss = {"investigationState": "NOT_INVESTIGATED", "priorInvestigationResult": None}
        unknown = "00000000-0000-4000-8000-000000000000"
        assert await reader.look(unknown) == await reader.view(unknown) == await reader.view("no id") == miss
        with pytest.raises(RpcFailed) as bad:
            await reader.investigate(unknown)
        assert bad.value.status == 400
        key = {name: version[name] for name in ("platform", "externalId", "versionHash")}
        statuses = await reader.batch([key, {**key, "externalId": "1"}, key])
        assert [status["incorrectClaimCount"] for status in statuses] == [1, 0, 1]
        unsigned = {"x-openerrata-signature": "0" * 64}
        body = f'{{"investigationId":"{run}"}}'
        with pytest.raises(RpcFailed) as wrong_method:
            await reader.send("post.getInvestigation", body, **unsigned)
        assert wrong_method.value.status == 405
        viewed = await reader.send("post.recordViewAndGetStatus", f'{{"postVersionId":"{unknown}"}}', **unsigned)
        assert viewed == miss, "a wrong signature changes nothing"
    for told, status in (("0.1.9", 412), ("", 412), ("abc", 400)):
        async with world.reader(version=told) as old:
            with pytest.raises(RpcFailed) as failed:
                await old.look(unknown)
            assert failed.value.status == status
            if status == 412:
                assert failed.value.data["openerrataCode"] == "UPGRADE_REQUIRED"
                assert failed.value.data["minimumSupportedExtensionVersion"] == "0.2.0"
                assert failed.value.data["receivedExtensionVersion"] == (told or None)
