"""Sixty runs on a made-up key, each with ten pictures that never end, keep no honest reader waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final

import pytest
import pytest_asyncio

from tests.e2e.posts import BRAIN, on_x
from tests.support.extension_client import Extension, Json, RpcFailed
from tests.support.openai_server import Answer, HttpError, OpenAIServer, Request, Turn, message, openai_server
from tests.support.sites import Sites
from tests.support.system import System, system

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("e2e-starving")]

MEMBER_KEY: Final = "oe_the-member"
HONEST_KEY: Final = "sk-test-of-one-reader-0123456789ab"
MADE_UP: Final = "sk-test-made-up-by-a-stranger-012345"
RUNS: Final = 60
PICTURES: Final = 10
OWN_KEY_RUNS: Final = 4
"""Under way at once on readers' keys, per network."""
WITHIN_S: Final = 60.0
PICTURES_S: Final = 300
"""Longer than any test here waits: nothing is over because the pictures were given up."""
USAGE: Final = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}

_networks = count(1)
_addresses = count(1)


class Provider(OpenAIServer):
    """Finds nothing, refuses the made-up key, and says so when it is tried only if it `judges` keys."""

    judges = True

    def turn(self, request: Request) -> Turn:
        if request.headers["authorization"].removeprefix("Bearer ") != MADE_UP:
            return Answer((message("Done."),), usage=USAGE)
        if self.judges or "tools" in request.body:
            return HttpError(401, {"error": {"message": "bad key", "type": "auth", "code": "invalid_api_key"}})
        return HttpError(500)


@dataclass(frozen=True)
class World:
    """The system, its provider, and the host of the pictures."""

    system: System
    provider: Provider
    sites: Sites

    def reader(self, network: int, **given: str) -> Extension:
        """Somebody in a network."""
        return Extension(self.system.url, address=f"203.{network}.113.7", **given)

    def endless(self) -> Json:
        """A post of its own with pictures of its own."""
        urls = [f"{self.sites.url}/{next(_addresses)}.png" for _ in range(PICTURES)]
        places = [{"originalIndex": n, "normalizedTextOffset": 0, "sourceUrl": url} for n, url in enumerate(urls)]
        return {**on_x(BRAIN), "observedImageUrls": urls, "observedImageOccurrences": places}

    async def flood(self, networks: int) -> int:
        """Register sixty such posts and ask for their runs at once; how many were started."""
        senders = [self.reader(next(_networks), openai_key=MADE_UP) for _ in range(networks)]
        try:
            asked = [(senders[n % networks], self.endless()) for n in range(RUNS)]
            versions = await asyncio.gather(*(sender.register(post) for sender, post in asked))
            answers = await asyncio.gather(
                *(
                    sender.investigate(version["postVersionId"])
                    for (sender, _), version in zip(asked, versions, strict=True)
                ),
                return_exceptions=True,
            )
        finally:
            await asyncio.gather(*(sender.http.aclose() for sender in senders))
        refused = [answer for answer in answers if isinstance(answer, RpcFailed)]
        assert {answer.status for answer in refused} <= {401, 429}
        assert not [each for each in answers if isinstance(each, BaseException) and not isinstance(each, RpcFailed)]
        return RUNS - len(refused)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The running system."""
    async with (
        Sites() as sites,
        openai_server(provider := Provider()) as _,
        system(
            tmp_path_factory.mktemp("starving"),
            OPENAI_API_KEY="sk-test-of-the-instance-0123456789",
            OPENAI_BASE_URL=provider.url,
            OPENAI_MODEL_ID="gpt-test",
            OPENERRATA_GATEWAY_TRUSTED_PROXIES="1",
            OPENERRATA_GATEWAY_OWN_KEY_RUNS=str(OWN_KEY_RUNS),
            OPENERRATA_INVESTIGATOR_PICTURE_ORIGIN=sites.url,
            OPENERRATA_INVESTIGATOR_PICTURES_S=str(PICTURES_S),
            OPENERRATA_SELECTOR_RUNS_PER_DAY="0",
        ) as running,
    ):
        await running.up()
        assert (await running.run("keys", "add", "member", "--key", MEMBER_KEY)).code == 0
        yield World(running, provider, sites)


@pytest.fixture
def endless(world: World) -> Iterator[None]:
    """Pictures drip until the test is over."""
    world.sites.requests.clear()
    world.sites.fail("drips")
    yield
    world.sites.heal()
    world.provider.judges = True


@pytest.mark.usefixtures("endless")
async def test_a_key_that_is_refused_starts_nothing_and_has_no_picture_fetched(world: World) -> None:
    assert await world.flood(networks=1) == 0
    await _is_served(world, api_key=MEMBER_KEY)
    await _is_served(world, openai_key=HONEST_KEY)
    assert world.sites.requests == []


@pytest.mark.usefixtures("endless")
async def test_a_key_that_nobody_can_judge_takes_the_share_of_its_network(world: World) -> None:
    world.provider.judges = False
    assert await world.flood(networks=1) == OWN_KEY_RUNS
    await world.sites.seen(OWN_KEY_RUNS)
    await _is_served(world, api_key=MEMBER_KEY)
    await _is_served(world, openai_key=HONEST_KEY)


@pytest.mark.usefixtures("endless")
async def test_whoever_has_many_networks_takes_no_slot_of_runs_that_the_instance_pays_for(world: World) -> None:
    world.provider.judges = False
    assert await world.flood(networks=RUNS // OWN_KEY_RUNS) == RUNS
    await world.sites.seen(OWN_KEY_RUNS)
    await _is_served(world, api_key=MEMBER_KEY)


async def _is_served(world: World, **keys: str) -> None:
    """An honest reader gets a result soon."""
    async with world.reader(next(_networks), **keys) as honest:
        version = await honest.register(on_x(BRAIN))
        asked = await honest.investigate(version["postVersionId"])
        found = await honest.result(asked["investigationId"], within_s=WITHIN_S)
    assert (found["investigationState"], found["claims"]) == ("INVESTIGATED", [])
