"""One investigation as an operator looks into it, replays it, ends it and takes it up again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from tests.e2e.posts import BRAIN, GOLDFISH, on_x
from tests.support.extension_client import Extension
from tests.support.openai_server import Answer, HttpError, OpenAIServer, Request, Turn, call, message, openai_server
from tests.support.oracle import Oracle, oracle
from tests.support.sites import Answer as PageAnswer
from tests.support.sites import Sites
from tests.support.system import Ended, System, system, until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("e2e-investigation")]

KEY = "oe_the-member"
READERS_KEY = "sk-test-a-reader-pays-0123456789"
USAGE = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}
NOBODY = "01960000-0000-7000-8000-000000000001"


class Provider(OpenAIServer):
    """Reads a page, finds two sentences, and rejects the second on review; may refuse, and may be slow."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page
        self.refuses = False
        self.holds = asyncio.Event()
        self.holds.set()

    def turn(self, request: Request) -> Turn:
        if self.refuses:
            return HttpError(400, {"error": {"message": "no such thing", "type": "t", "code": "c"}})
        if "tools" not in request.body:
            approved = f'"text": "{GOLDFISH}"' not in request.body["input"]
            return Answer((message(json.dumps({"approved": approved, "reason": "looked"})),), usage=USAGE)
        if request.body.get("previous_response_id"):
            return Answer((message("That is all."),), usage=USAGE)
        fetch = call("fetch_url", {"url": self.page}, "call_0")
        return Answer((fetch, self.found(BRAIN, 1), self.found(GOLDFISH, 2)), usage=USAGE, gate=self.holds)

    def found(self, text: str, number: int) -> dict[str, Any]:
        """A sentence handed in."""
        source = {"url": self.page, "title": "A source", "snippet": "It is otherwise."}
        claim = {"text": text, "context": text, "summary": "It is not so.", "reasoning": "See.", "sources": [source]}
        return call("submit_correction", claim, f"call_{number}")


@dataclass(frozen=True)
class World:
    """The system, its provider, and a look behind its back."""

    system: System
    provider: Provider
    oracle: Oracle

    def member(self) -> Extension:
        """Somebody with the instance key."""
        return Extension(self.system.url, api_key=KEY)

    async def command(self, *arguments: str) -> Ended:
        """What the command says."""
        return await self.system.run("investigation", *arguments, within_s=120)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The running system."""
    async with Sites() as sites:
        sites.pages["/a"] = PageAnswer(200, {"content-type": "text/html"}, b"<p>It is otherwise.</p>")
        provider = Provider(f"{sites.url}/a")
        async with (
            openai_server(provider),
            system(
                tmp_path_factory.mktemp("investigation"),
                OPENAI_API_KEY="sk-test-of-the-instance-0123456789",
                OPENAI_BASE_URL=provider.url,
                OPENAI_MODEL_ID="gpt-test",
                OPENERRATA_VALIDATOR_PAGE_ORIGIN=sites.url,
                OPENERRATA_VALIDATOR_GATE_FAMILIES="1",
                OPENERRATA_INVESTIGATOR_PAGE_ORIGIN=sites.url,
                OPENERRATA_SELECTOR_RUNS_PER_DAY="0",
            ) as running,
        ):
            await running.up()
            assert (await running.run("keys", "add", "member", "--key", KEY)).code == 0
            async with oracle(running.database_url, running.nats_url) as looking:
                yield World(running, provider, looking)


@pytest.mark.requirement("2.12-03", "2.12-04")
async def test_the_story_the_words_and_the_same_again(world: World) -> None:
    """2.12-03: Provider/model/version metadata.
    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    async with world.member() as reader:
        _, run, _ = await reader.investigated(on_x(BRAIN, GOLDFISH), within_s=60)
    shown = await world.command("show", run)
    assert shown.code == 0, shown.err
    assert "\x1b" not in shown.out, "colours are for terminals"
    for words in (f"investigation {run}  COMPLETE", f"\u201c{BRAIN}\u201d", "REJECTED by model", "because: looked"):
        assert words in shown.out
    assert "source found: " in shown.out
    assert "COMPLETE" in shown.out
    assert ": 1 of 2 candidates published" in shown.out

    whole = json.loads((await world.command("show", run, "--json", "--transcript")).out)
    assert whole["status"] == "COMPLETE"
    (asked,) = whole["rounds"]
    assert [each["state"] for each in asked["candidates"]] == ["APPROVED", "REJECTED"]
    assert [each["usage"]["total_tokens"] for each in (*asked["attempts"], *asked["candidates"])] == [200, 100, 100]
    assert set(whole["transcripts"]) == {
        each["transcript"]["sha256"] for each in asked["attempts"] + asked["candidates"]
    }

    words_ = (await world.command("show", run, "--transcript")).out
    order = (
        "attempt 1  transcript",
        "called fetch_url",
        "It is otherwise.",
        "called submit_correction",
        "That is all.",
    )
    places = [words_.index(each, words_.index("in all:")) for each in order]
    assert places == sorted(places)
    assert f"review of \u201c{GOLDFISH}\u201d" in words_

    asked_before = len(world.provider.requests)
    again = await world.command("replay", run)
    assert again.code == 0, again.out + again.err
    assert [line.split()[0] for line in again.out.splitlines()] == ["same"] * 4
    assert len(world.provider.requests) == asked_before
    read = await world.oracle.value(
        "SELECT array_agg(DISTINCT state) FROM (SELECT transcript_state FROM readmodel.investigation_attempt "
        "UNION ALL SELECT transcript_state FROM readmodel.claim_review) t (state)"
    )
    assert read == ["read"]
    done = await world.command("cancel", run)
    assert (done.code, "nothing to cancel" in done.err) == (1, True)
    assert (await world.command("retry", run)).code == 1


@pytest.mark.requirement("2.1-08", "2.12-04")
async def test_what_a_reader_paid_for_is_run_again_without_the_key(world: World) -> None:
    """2.1-08: User OpenAI key path.
    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    before = len(world.provider.requests)
    async with Extension(world.system.url, openai_key=READERS_KEY) as reader:
        _, run, _ = await reader.investigated(on_x(BRAIN, GOLDFISH), within_s=60)
    asked = world.provider.requests[before:]
    assert {request.headers["authorization"] for request in asked} == {f"Bearer {READERS_KEY}"}

    async def forgotten() -> bool:
        return await world.oracle.readers_keys() == []

    await until(forgotten, "the key is forgotten", within_s=60)
    again = await world.command("replay", run)
    assert again.code == 0, again.out + again.err
    assert [line.split()[0] for line in again.out.splitlines()] == ["same"] * 4
    assert len(world.provider.requests) == before + len(asked)


@pytest.mark.requirement("3.7-09")
async def test_what_failed_is_taken_up_again_at_once(world: World) -> None:
    """3.7-09: FAILED is final."""
    world.provider.refuses = True
    async with world.member() as reader:
        version = (await reader.register(on_x(BRAIN)))["postVersionId"]
        run = (await reader.investigate(version))["investigationId"]
        assert (await reader.result(run, within_s=60))["investigationState"] == "FAILED"
        failed = await world.command("show", run)
        assert "failed with" in failed.out
        assert "no such thing" in failed.out
        world.provider.refuses = False
        asked = await world.command("retry", run)
        assert asked.code == 0, asked.err

        async def over() -> bool:
            return str((await reader.look(run))["investigationState"]) == "INVESTIGATED"

        await until(over, "the second round finds something", within_s=60)
    story = json.loads((await world.command("show", run, "--json")).out)
    assert [asked["end"]["state"] for asked in story["rounds"]] == ["FAILED", "COMPLETE"]
    assert (await world.command("replay", run)).code == 0


@pytest.mark.requirement("3.7-09")
async def test_nobody_waits_for_what_was_cancelled(world: World) -> None:
    """3.7-09: FAILED is final."""
    world.provider.holds.clear()
    async with world.member() as reader:
        version = (await reader.register(on_x(BRAIN)))["postVersionId"]
        run = (await reader.investigate(version))["investigationId"]

        async def under_way() -> bool:
            return (await reader.look(run)).get("status") == "PROCESSING"

        await until(under_way, "a worker has it", within_s=60)
        ended = await world.command("cancel", run)
        assert (ended.code, ended.out.strip()) == (0, "cancelled"), ended.err
        assert (await reader.result(run, within_s=60))["investigationState"] == "FAILED"
        world.provider.holds.set()

        await world.oracle.settled()
        assert (await reader.look(run))["investigationState"] == "FAILED"
    told = (await world.command("show", run)).out
    assert "cancelled by operator (NON_RETRYABLE)" in told


async def test_with_a_model_nobody_is_told_of_a_demo(world: World) -> None:
    assert not any(line["event"].startswith("demo model") for line in world.system.log_lines())


async def test_what_nobody_knows(world: World) -> None:
    for command in ("show", "replay", "retry", "cancel"):
        ended = await world.command(command, NOBODY)
        assert (ended.code, f"has no investigation {NOBODY}" in ended.err) == (1, True)
    strange = await world.command("show", "everything")
    assert strange.code == 2
    taught = " ".join((await world.command("replay", "--help")).out.split())
    assert "Exit status 1 if anything is DIFFERENT" in taught
