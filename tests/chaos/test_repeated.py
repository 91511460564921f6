"""Facts come twice, late and in any order; the tables are those of a quiet day."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from contracts.topology import ERRATA, VIEWS
from kit import topology
from kit.bus import Bus
from tests.chaos.conftest import KEY, disturbed
from tests.e2e.posts import BATS, BRAIN, FIVE, WALL, on_lesswrong, on_substack, on_wikipedia, on_x
from tests.support.extension_client import Extension
from tests.support.oracle import Fact, Oracle, Rows, differences, oracle
from tests.support.servers import Servers, nats_server
from tests.support.sites import Sites
from tests.support.system import System, system

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("chaos-repeated")]

SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Quiet:
    """A system after a day on which nothing went wrong, and what it holds."""

    system: System
    oracle: Oracle
    facts: Sequence[Fact]
    rows: Rows


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def quiet(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Quiet]:
    """All sites, an edited article, several readers, results and views of them."""
    async with (
        Sites() as sites,
        system(tmp_path_factory.mktemp("quiet"), **{**disturbed(sites), "OPENERRATA_DEMO_PACE_S": "0"}) as running,
    ):
        await running.up()
        assert (await running.run("keys", "add", "tests", "--key", KEY)).code == 0
        async with oracle(running.database_url, running.nats_url) as looking:
            async with Extension(running.url, api_key=KEY) as member, Extension(running.url) as stranger:
                first = on_wikipedia(sites, BRAIN, WALL, title="A quiet walk")
                page_id = int(first.observation["metadata"]["pageId"])
                for observation in (first.observation, on_x(*FIVE), on_substack(BATS), on_lesswrong(WALL)):
                    version, _, _ = await member.investigated(observation)
                    await stranger.register(observation)
                    await stranger.view(version["postVersionId"])
                    await looking.settled()
                edited = on_wikipedia(sites, BRAIN, page_id=page_id, title="A quiet walk")
                await stranger.view((await stranger.register(edited.observation))["postVersionId"])
                await stranger.register(on_substack(WALL))
            await looking.settled()
            yield Quiet(running, looking, await looking.facts(), await looking.rows(without_places=True))


def disordered(facts: Iterable[Fact], chance: random.Random) -> list[Fact]:
    """The same facts in another order, and every one of them again at some later place.

    Shapes: the facts about one post's versions, of one investigation, of one page's checking or of one post's views
    stay in order: whoever wrote the second had read the first.
    """
    queues: dict[str, deque[Fact]] = defaultdict(deque)
    for fact in facts:
        queues[_about(fact)].append(fact)
    told: list[Fact] = []
    while queues:
        about = chance.choice(list(queues))
        told.append(queues[about].popleft())
        if not queues[about]:
            del queues[about]
    for fact in tuple(told):
        told.insert(chance.randint(told.index(fact) + 1, len(told)), fact)
    return told


def _about(fact: Fact) -> str:
    event = fact.envelope["event"]
    if fact.stream == VIEWS.name:
        return f"views of {event['post_id']}"
    if ".version." in fact.subject:
        return f"versions of {event['post']}"
    return fact.subject.rpartition(".")[2]


async def tell(bus: Bus, facts: Iterable[Fact], ids: str | None) -> None:
    """Put facts into the log as they are; `ids` makes the stream take them for new ones."""
    for number, fact in enumerate(facts):
        message_id = fact.envelope["id"] if ids is None else f"{ids}-{number}"
        await bus.jetstream.publish(fact.subject, fact.data, headers={"Nats-Msg-Id": message_id})


@pytest.mark.requirement("3.5-03", "2.8-01")
async def test_facts_that_come_again_change_nothing(quiet: Quiet) -> None:
    """3.5-03: Registrations at once make one version.
    2.8-01: One investigation for a post's version.
    """
    before = await quiet.oracle.settled()
    await tell(quiet.oracle.bus, quiet.facts, None)
    assert await quiet.oracle.settled() == before, "the stream knows its own facts"

    again = list(quiet.facts)
    random.Random(0).shuffle(again)
    await tell(quiet.oracle.bus, again, "again")
    after = await quiet.oracle.settled(within_s=60)
    repeated = sum(fact.stream == ERRATA.name for fact in again)
    assert after[ERRATA.name] >= before[ERRATA.name] + repeated
    assert differences(quiet.rows, await quiet.oracle.rows(without_places=True)) == []
    assert await quiet.oracle.dead() == []
    assert (await quiet.system.run("ledger", "verify")).code == 0
    assert (await quiet.system.run("projector", "rebuild")).code == 0
    assert differences(quiet.rows, await quiet.oracle.rows(without_places=True)) == []


@pytest.mark.requirement("3.5-03")
@pytest.mark.parametrize("seed", SEEDS)
async def test_facts_in_any_order_and_more_than_once_make_the_same_tables(
    quiet: Quiet, stack: Servers, tmp_path: Path, seed: int
) -> None:
    """3.5-03: Registrations at once make one version."""
    told = disordered(quiet.facts, random.Random(seed))
    s3 = quiet.system.blob_settings
    with nats_server(tmp_path, durable=True) as broker, stack.database() as database_url:
        given = {
            "OPENERRATA_NATS_URL": broker.endpoints.nats_url,
            "OPENERRATA_NATS_MONITOR_URL": broker.endpoints.nats_monitor_url,
            "OPENERRATA_DATABASE_URL": database_url,
            "OPENERRATA_ENCRYPTION_KEYS": "A" * 43,
            **s3,
        }
        async with oracle(database_url, broker.endpoints.nats_url) as looking:
            await topology.apply(looking.bus)
            await tell(looking.bus, told, f"seed-{seed}")
            async with system(tmp_path / "fresh", **given) as fresh:
                await fresh.up("projector", settings={"OPENERRATA_MODEL": "demo"})
                await looking.settled(only_projector=True)
                ours, theirs = [
                    await each.rows(without_places=True, without_firsts=True) for each in (quiet.oracle, looking)
                ]
                assert differences(ours, theirs) == []
                assert (await fresh.run("ledger", "verify")).code == 0
