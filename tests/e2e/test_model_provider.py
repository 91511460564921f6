"""A real provider's protocol behind the whole path: what is sent, with whose key, and that no key is kept anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from contracts.topology import USER_KEYS
from kit.kv import Bucket
from tests.e2e.posts import BRAIN, GOLDFISH, on_x
from tests.support.extension_client import Extension, RpcFailed
from tests.support.openai_server import Answer, HttpError, OpenAIServer, Request, Turn, call, message, openai_server
from tests.support.oracle import Oracle, oracle
from tests.support.sites import Answer as PageAnswer
from tests.support.sites import Sites
from tests.support.system import System, system, until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("e2e-provider")]

INSTANCE_KEY = "sk-test-of-the-instance-0123456789"
USER_KEY = "sk-test-of-one-reader-0123456789ab"
OTHER_USER_KEY = "sk-test-of-another-reader-0123456"
MEMBER_KEY = "oe_the-member"
USAGE = {
    "input_tokens": 90,
    "output_tokens": 10,
    "total_tokens": 100,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


def correction(text: str, context: str, number: int, page: str) -> dict[str, Any]:
    """What the model submits."""
    claim = {
        "text": text,
        "context": context,
        "summary": "It is not so.",
        "reasoning": "The source says otherwise.",
        "sources": [{"url": page, "title": "A source", "snippet": "It is otherwise."}],
    }
    return call("submit_correction", claim, f"call_{number}")


class Provider(OpenAIServer):
    """Finds two sentences and an invented one, and rejects the second on review; answers by what is asked."""

    refuses: set[str]
    holds: asyncio.Event

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page
        self.refuses = set()
        self.holds = asyncio.Event()
        self.holds.set()

    def turn(self, request: Request) -> Turn:
        if request.headers["authorization"].removeprefix("Bearer ") in self.refuses:
            return HttpError(401, {"error": {"message": "bad key", "type": "auth", "code": "invalid_api_key"}})
        if "tools" not in request.body:
            approved = f'"text": "{GOLDFISH}"' not in request.body["input"]
            return Answer((message(f'{{"approved":{str(approved).lower()},"reason":"looked"}}'),), usage=USAGE)
        if request.body.get("previous_response_id"):
            return Answer((message("Done."),), usage=USAGE)
        items = (
            correction(BRAIN, BRAIN, 1, self.page),
            correction(GOLDFISH, GOLDFISH, 2, self.page),
            correction("Nobody wrote this.", "Nobody wrote this.", 3, self.page),
        )
        return Answer(items, usage=USAGE, gate=self.holds)

    def keys(self) -> list[str]:
        """Whose keys came, in order."""
        return [request.headers["authorization"].removeprefix("Bearer ") for request in self.requests]


@dataclass(frozen=True)
class World:
    """The system, its provider, and a look behind its back."""

    system: System
    provider: Provider
    oracle: Oracle

    def reader(self, **given: str) -> Extension:
        """Somebody with or without keys."""
        return Extension(self.system.url, **given)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The running system."""
    async with Sites() as sites:
        sites.pages["/a"] = PageAnswer(200, {"content-type": "text/html"}, b"<p>It is otherwise.</p>")
        provider = Provider(f"{sites.url}/a")
        async with (
            openai_server(provider),
            system(
                tmp_path_factory.mktemp("provider"),
                OPENAI_API_KEY=INSTANCE_KEY,
                OPENAI_BASE_URL=provider.url,
                OPENAI_MODEL_ID="gpt-test",
                OPENERRATA_VALIDATOR_PAGE_ORIGIN=sites.url,
                OPENERRATA_VALIDATOR_GATE_FAMILIES="1",
                OPENERRATA_SELECTOR_RUNS_PER_DAY="0",
                OPENERRATA_LOG_LEVEL="debug",
            ) as running,
        ):
            await running.up()
            assert (await running.run("keys", "add", "member", "--key", MEMBER_KEY)).code == 0
            async with oracle(running.database_url, running.nats_url) as looking:
                yield World(running, provider, looking)


async def no_trace(world: World, *keys: str) -> None:
    """Assert that no key is in any fact, row, message or log line."""
    everything = {"database": await world.oracle.dump(), "logs": world.system.log_text()}
    for stream in ("ERRATA", "VIEWS", "ERRATA_DEAD", f"KV_{USER_KEYS.name}"):
        everything[stream] = await world.oracle.stream_text(stream)
    assert "investigation" in everything["database"]
    assert "investigation.started" in everything["ERRATA"]
    for where, text in everything.items():
        for key in keys:
            assert key not in text, f"a key is in {where}"
    for file in world.system.data_dir.rglob("*"):
        if file.is_file() and "postgres" not in file.parts:
            held = file.read_bytes()
            assert not any(key.encode() in held for key in keys), file


async def public(world: World, run: str) -> Any:
    """The public page of a run."""
    async with world.reader() as reader:
        response = await reader.http.get(f"/investigations/{run}.json")
    assert response.status_code == 200
    return response.json()


@pytest.mark.requirement("2.9-10", "2.12-03", "2.12-04", "2.13-10", "3.1-02", "3.2-14")
async def test_the_instance_pays_with_its_own_key(world: World) -> None:
    """2.9-10: Every finished result is public, whoever vouches for its text.
    2.12-03: Provider/model/version metadata.
    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    2.13-10: Plaintext keys never in logs.
    3.1-02: Runs need a provider's key of the instance.
    3.2-14: Claims have ≥1 source.
    """
    asked_before = len(world.provider.requests)
    async with world.reader(api_key=MEMBER_KEY) as reader:
        _, run, result = await reader.investigated(on_x(BRAIN, GOLDFISH))
    assert [claim["text"] for claim in result["claims"]] == [BRAIN]
    requests = world.provider.requests[asked_before:]
    assert set(world.provider.keys()[asked_before:]) == {INSTANCE_KEY}
    assert [request.body["model"] for request in requests] == ["gpt-test"] * 4, "two rounds, two reviews"
    verdicts = await world.oracle.value(
        "SELECT jsonb_object_agg(payload ->> 'text', array[state, gate]) FROM readmodel.claim_candidate "
        "WHERE investigation_id = %s",
        run,
    )
    assert verdicts == {
        BRAIN: ["APPROVED", None],
        GOLDFISH: ["REJECTED", "model"],
        "Nobody wrote this.": ["REJECTED", "rule"],
    }
    page = await public(world, run)
    assert page["investigation"]["provider"] == "openai"
    assert page["investigation"]["model"] == "gpt-test"
    spent = await world.oracle.value(
        "SELECT sum(u.total_tokens) FROM readmodel.investigation_attempt_usage u "
        "JOIN readmodel.investigation_attempt a ON a.id = u.attempt_id WHERE a.investigation_id = %s",
        run,
    )
    assert spent == 200
    await no_trace(world, INSTANCE_KEY, MEMBER_KEY)


@pytest.mark.requirement("2.6-15", "2.6-16", "2.6-17", "2.13-10", "3.3-05", "3.7-08")
async def test_a_reader_pays_with_the_first_key_and_nothing_else(world: World) -> None:
    """2.6-15: A request during a run starts no second one.
    2.6-16: A pending run takes the first key that comes.
    2.6-17: The key of a run under way does not change.
    2.13-10: Plaintext keys never in logs.
    3.3-05: A request needs an instance key or a provider key.
    3.7-08: A reader's key is removed when the run ends.
    """
    asked_before = len(world.provider.requests)
    world.provider.holds.clear()
    async with world.reader(openai_key=USER_KEY) as reader, world.reader(openai_key=OTHER_USER_KEY) as other:
        version = (await reader.register(on_x(BRAIN, GOLDFISH)))["postVersionId"]
        run = (await reader.investigate(version))["investigationId"]

        async def under_way() -> bool:
            status = await reader.look(run)
            return bool(status.get("pendingClaims") or status.get("confirmedClaims"))

        await until(under_way, "the first candidate shows")
        (kept,) = await world.oracle.readers_keys()
        assert kept.startswith(run)
        sealed = await (await Bucket.open(world.oracle.bus, USER_KEYS)).get(kept)
        assert sealed
        assert USER_KEY.encode() not in sealed
        again = await other.investigate(version)
        assert (again["investigationId"], again["status"]) == (run, "PROCESSING")
        await no_trace(world, USER_KEY, OTHER_USER_KEY)
        world.provider.holds.set()
        assert [claim["text"] for claim in (await reader.result(run))["claims"]] == [BRAIN]
    assert world.provider.keys()[asked_before:] == [USER_KEY] * 5, "the key is tried once before its run"
    await world.oracle.settled()

    async def forgotten() -> bool:
        return await world.oracle.readers_keys() == []

    await until(forgotten, "the key is forgotten")
    await no_trace(world, USER_KEY, OTHER_USER_KEY)


@pytest.mark.requirement("3.7-03", "3.3-07", "2.6-14")
async def test_a_key_that_the_provider_refuses_starts_nothing_and_holds_up_nobody(world: World) -> None:
    """3.7-03: A refused key or request fails at once.
    3.3-07: Settings are checked with each of their outcomes.
    2.6-14: FAILED is returned unless somebody retries explicitly.
    """
    refused_key = "sk-test-refused-0123456789abcdef"
    world.provider.refuses.add(refused_key)
    asked_before = len(world.provider.requests)
    async with world.reader(openai_key=refused_key) as reader:
        assert (await reader.settings())["openaiApiKeyStatus"] == "invalid"
        version = (await reader.register(on_x(BRAIN)))["postVersionId"]
        with pytest.raises(RpcFailed) as refused:
            await reader.investigate(version)
        assert refused.value.status == 401
    assert world.provider.keys()[asked_before:] == [refused_key] * 2, "one for the settings, one for the run"
    async with world.reader(openai_key=USER_KEY) as honest:
        run = (await honest.investigate(version))["investigationId"]
        assert (await honest.result(run))["investigationState"] == "INVESTIGATED"
    async with world.reader(openai_key="sk-short") as reader, world.reader(openai_key=USER_KEY) as valid:
        assert (await reader.settings())["openaiApiKeyStatus"] == "format_invalid"
        with pytest.raises(RpcFailed) as unauthorized:
            await reader.investigate(version)
        assert unauthorized.value.status == 401
        assert await valid.settings() == {"instanceApiKeyAccepted": False, "openaiApiKeyStatus": "valid"}
    await no_trace(world, refused_key, USER_KEY)
