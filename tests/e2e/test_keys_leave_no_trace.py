"""Keys go in and are found nowhere: every message, row, object, log line, metric and error is searched for them."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from tests.e2e.posts import BRAIN, GOLDFISH, on_x
from tests.e2e.test_model_provider import USAGE, Provider
from tests.support.everywhere import read_everything
from tests.support.extension_client import Extension, RpcFailed
from tests.support.openai_server import Answer, HttpError, Request, Turn, message, openai_server
from tests.support.oracle import Oracle, oracle
from tests.support.sites import Answer as PageAnswer
from tests.support.sites import Sites
from tests.support.system import System, system, until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("e2e-keys")]

OURS = "sk-test-the-instance-pays-0123456789"
GOOD = "sk-test-a-good-reader-0123456789abcd"
REFUSED = "sk-test-a-refused-reader-0123456789"
MEMBER = "oe_somebody-we-trust-0123456789"
LONG = " ".join(f"Step {number} was as quiet as the one before." for number in range(900))


class Approving(Provider):
    """Approves whatever it is asked to review, and quotes the key: in each refusal, and where a run ends."""

    def turn(self, request: Request) -> Turn:
        key = request.headers["authorization"].removeprefix("Bearer ")
        if key in self.refuses:
            said = f"Incorrect API key provided: {key}"
            return HttpError(401, {"error": {"message": said, "type": key, "code": "invalid_api_key"}})
        if request.body.get("previous_response_id"):
            return Answer((message(f"Done with {key}"),), usage=USAGE)
        if "format" in request.body.get("text", {}):
            return Answer((message('{"approved":true,"reason":"looked"}'),), usage=USAGE)
        return super().turn(request)


@dataclass(frozen=True)
class World:
    """The system, its provider, and a look behind its back."""

    system: System
    provider: Provider
    oracle: Oracle


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with Sites() as sites:
        sites.pages["/a"] = PageAnswer(200, {"content-type": "text/html"}, b"<p>It is otherwise.</p>")
        provider = Approving(f"{sites.url}/a")
        provider.refuses.add(REFUSED)
        async with (
            openai_server(provider),
            system(
                tmp_path_factory.mktemp("keys"),
                OPENAI_API_KEY=OURS,
                OPENAI_BASE_URL=provider.url,
                OPENAI_MODEL_ID="gpt-test",
                OPENERRATA_VALIDATOR_PAGE_ORIGIN=sites.url,
                OPENERRATA_VALIDATOR_GATE_FAMILIES="1",
                OPENERRATA_SELECTOR_RUNS_PER_DAY="0",
                OPENERRATA_LOG_LEVEL="debug",
            ) as running,
        ):
            await running.up()
            assert (await running.run("keys", "add", "member", "--key", MEMBER)).code == 0
            async with oracle(running.database_url, running.nats_url) as looking:
                yield World(running, provider, looking)


async def why(world: World, run: str) -> object:
    """What a run failed of."""
    return await world.oracle.value("SELECT failure_reason FROM readmodel.investigation WHERE id = %s", run)


def forms(key: str) -> tuple[str, ...]:
    """A key as it is, in base64 at each place of a group of three, and in hex, as a dump shows bytes."""
    encoded = [base64.b64encode(b"x" * shift + key.encode()).decode()[4:-4] for shift in range(3)]
    return (key, *encoded, key.encode().hex())


@pytest.mark.requirement("2.13-10", "3.2-14", "3.7-07", "3.7-08", "2.6-16")
async def test_no_key_is_found_anywhere(world: World) -> None:
    """2.13-10: Plaintext keys never in logs.
    3.2-14: Claims have ≥1 source.
    3.7-07: A reader's key that is gone fails the run.
    3.7-08: A reader's key is removed when the run ends.
    2.6-16: A pending run takes the first key that comes.
    """
    said: list[str] = []
    async with Extension(world.system.url, openai_key=GOOD) as good, Extension(world.system.url) as refused:
        refused.openai_key = REFUSED
        version = await good.register(on_x(BRAIN, LONG, GOLDFISH))
        run = (await good.investigate(version["postVersionId"]))["investigationId"]
        result = await good.result(run, within_s=60)
        assert result["investigationState"] == "INVESTIGATED", await why(world, run)
        bad = (await refused.register(on_x(BRAIN)))["postVersionId"]
        with pytest.raises(RpcFailed) as error:
            await refused.investigate(bad)
        said.append(f"{error.value} {error.value.data}")
        world.provider.refuses.discard(REFUSED)
        assert str(await refused.settings()).count("'valid'")
        world.provider.refuses.add(REFUSED)  # revoked after it was tried
        failing = (await refused.investigate(bad))["investigationId"]
        failed = await refused.result(failing)
        assert failed["investigationState"] == "FAILED"
        said += [str(result), str(failed), str(await refused.settings())]
        assert "'invalid'" in said[-1]
        for key, body in ((f"{GOOD}!", version["postVersionId"]), (GOOD, "no-such-version")):
            good.openai_key = key
            with pytest.raises(RpcFailed) as error:
                await good.investigate(body)
            said.append(f"{error.value} {error.value.data}")
    async with Extension(world.system.url, api_key=MEMBER) as member:
        repeated = await member.investigate(bad)
        assert repeated["status"] == "PENDING", "a reader's bad key stands in nobody's way"
        assert (await member.result(failing))["investigationState"] == "INVESTIGATED"
    await world.oracle.settled()
    used = set(world.provider.keys())
    assert used == {OURS, GOOD, REFUSED}

    async def forgotten() -> bool:
        return await world.oracle.readers_keys() == []

    await until(forgotten, "the keys are forgotten")
    found = await read_everything(world.system, world.oracle)
    assert any(where.startswith("object ") and "Step 899" in text for where, text in found.items())
    assert "investigation.started" in found["stream ERRATA"]
    assert "openerrata_gateway_request_seconds" in "".join(found.values())
    found["answers"] = "\n".join(said)
    for key in (OURS, GOOD, REFUSED, MEMBER):
        for form in forms(key):
            assert [where for where, text in found.items() if form in text] == [], f"{key} was kept"
    for kind in ("object ", "table "):
        assert any(where.startswith(kind) and "Done with [key]" in text for where, text in found.items())


async def test_a_key_is_found_in_every_form() -> None:
    for text in (f"a{GOOD}b", *(base64.b64encode(b"y" * n + GOOD.encode() + b"zz").decode() for n in range(3))):
        assert any(form in text for form in forms(GOOD))
    assert any(form in f"\\x00{GOOD.encode().hex()}" for form in forms(GOOD))
