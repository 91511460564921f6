"""Jobs over real services, with each stage's provider chosen by settings or stored, one standing in, or a cap."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from contracts.v1 import JobFetched, LlmStageConfigured, RunFailed, RunRetryScheduled, RunStarted
from contracts.v1.ids import step_run_id
from lifecycle.audits.runs import ASSESS, EXTRACT
from tests.support.openai_server import Broken, HttpError, message
from tests.support.stage_providers import (
    FREE,
    GEMINI,
    KEYS,
    PATHS,
    STEPS,
    Instance,
    Step,
    instance,
    read_job_id,
    write_claims,
)
from tests.support.system import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("e2e-stage-providers")]

OVERLOADED = HttpError(503)
FREE_MODEL = {"OPENERRATA_MODEL_PRICES": json.dumps(dict.fromkeys(("another-model", *GEMINI), FREE))}
PAIR = {"LLM_PRIMARY_PROVIDER": "openai", "LLM_FALLBACK_PROVIDER": "google"}
LIMITED = HttpError(429, headers={"retry-after": "30"})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Instance]:
    async with instance(tmp_path_factory.mktemp("stages")) as running:
        yield running


def calls(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Stage and provider of each call that a result names."""
    return [(each["stage"], each["provider"]) for each in result["llm_calls"]]


async def configure(world: Instance, stage: str, provider: str, model: str, max_tokens: int = 4_000) -> None:
    body = {"stage": stage, "provider": provider, "model": model, "max_tokens": max_tokens, "temperature": 0.5}
    answer = await world.client.post("/admin/v1/llm/configure", json=body)
    assert answer.status_code == 200, answer.text


@pytest.mark.requirement("FH-101", "FH-102", "FH-100")
@pytest.mark.parametrize("provider", KEYS)
async def test_a_job_asks_the_provider_that_the_settings_name(world: Instance, provider: str) -> None:
    """FH-101: Anthropic, OpenAI, Google and local servers can be chosen.
    FH-102: Providers and models are chosen by stage from the environment.
    FH-100: All providers have one interface.
    """
    async with world.auditor(LLM_PRIMARY_PROVIDER=provider, LLM_STAGE2_MODEL="another-model", **FREE_MODEL):
        result = await world.audit(*write_claims(1))
    requests = list(world.providers[provider].requests)
    assert world.asked() == {provider: [*STEPS]}
    assert {each.path for each in requests} == {PATHS[provider]}
    assert {each.headers["authorization"] for each in requests} == {f"Bearer {KEYS[provider]}"}
    assert requests[1].body["model"] == "another-model"
    assert calls(result) == [("stage1", provider), ("stage2", provider), ("stage3", provider)]
    assert [each["input_tokens"] for each in result["llm_calls"]] == [100, 100, 100]


@pytest.mark.requirement("FH-102")
async def test_each_stage_has_the_provider_of_its_own_variable(world: Instance) -> None:
    """FH-102: Providers and models are chosen by stage from the environment."""
    settings = {"LLM_STAGE1_PROVIDER": "local", "LLM_STAGE2_PROVIDER": "google", "LLM_STAGE3_PROVIDER": "openai"}
    async with world.auditor(**settings):
        result = await world.audit(*write_claims(2))
    assert world.asked() == {"local": ["extract"], "google": ["analyse"] * 2, "openai": ["assess"]}
    assert calls(result) == [("stage1", "local"), ("stage2", "google"), ("stage2", "google"), ("stage3", "openai")]


@pytest.mark.requirement("FH-104")
async def test_what_cost_nothing_goes_over_once(world: Instance) -> None:
    """FH-104: What cost nothing fails over once; what may have been billed does not."""
    first, second = world.providers["openai"], world.providers["google"]
    cases: dict[Step, HttpError] = {"extract": OVERLOADED, "analyse": LIMITED, "assess": HttpError(500)}
    async with world.auditor(**PAIR) as auditor:
        for number, (step, turn) in enumerate(cases.items(), 1):
            first.trouble[step] = [turn]
            job_id = await world.begin(*write_claims(1))
            result = await world.result(job_id)
            assert (first.asked(), second.asked()) == ([*STEPS], [step])
            answered = dict(calls(result))
            assert answered.pop(f"stage{number}") == "google", "the result names who answered"
            assert set(answered.values()) == {"openai"}
            for own in (EXTRACT, ASSESS):
                facts = await world.facts(step_run_id(read_job_id(job_id), own))
                assert len([each for each in facts if isinstance(each, RunStarted)]) == 1, "it was one attempt"
        metrics = await read_metrics(auditor.operations_url)
    for step in cases:
        counted = f'openerrata_auditor_fallback_answers_total{{provider="google",step="CLAIM_AUDIT/{step}"}} 1.0'
        assert counted in metrics


@pytest.mark.requirement("FH-104")
async def test_a_provider_that_cannot_be_reached_is_stood_in_for(world: Instance) -> None:
    """FH-104: What cost nothing fails over once; what may have been billed does not."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # taken, and never listened on
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        async with world.auditor(**PAIR, OPENAI_BASE_URL=address):
            result = await world.audit(*write_claims(1))
    assert world.asked() == {"google": [*STEPS]}
    assert {provider for _, provider in calls(result)} == {"google"}


async def end_attempt(world: Instance) -> tuple[list[Step], list[Step]]:
    """The requests of a job's first attempt, which fails; the job is cancelled then."""
    job_id = await world.begin(*write_claims(1))
    run = step_run_id(read_job_id(job_id), EXTRACT)

    async def failed() -> bool:
        return any(isinstance(each, RunRetryScheduled | RunFailed) for each in await world.facts(run))

    await until(failed, "the attempt failed", within_s=60)
    asked = world.providers["openai"].asked(), world.providers["google"].asked()
    assert (await world.client.delete(f"/v1/jobs/{job_id}")).status_code == 204
    return asked


@pytest.mark.requirement("FH-104")
async def test_what_may_have_been_billed_does_not_go_over(world: Instance) -> None:
    """FH-104: What cost nothing fails over once; what may have been billed does not."""
    async with world.auditor(**PAIR):
        for how in ("lost", "ends", "garbage", "error"):
            world.providers["openai"].trouble["extract"] = [Broken(how, (message("half an "),), "overloaded_error")]
            assert await end_attempt(world) == (["extract"], []), how


@pytest.mark.requirement("FH-104")
async def test_a_refused_key_is_final_and_both_are_asked_once_an_attempt(world: Instance) -> None:
    """FH-104: What cost nothing fails over once; what may have been billed does not."""
    first, second = world.providers["openai"], world.providers["google"]
    async with world.auditor(**PAIR):
        before = (await world.credit())["credit_used"]
        first.trouble["extract"] = [HttpError(401)]
        job = await world.wait(await world.begin(*write_claims(1)))
        assert (job["status"], job["error"]["code"], job["charged"]) == ("FAILED", "SERVICE_UNAVAILABLE", 0)
        assert (first.asked(), second.asked()) == (["extract"], [])
        first.trouble["extract"], second.trouble["extract"] = [OVERLOADED], [OVERLOADED]
        assert await end_attempt(world) == (["extract"], ["extract"])
        used = (await world.credit())["credit_used"]
    assert used == pytest.approx(before + 0.003), "cancelled after its first step had begun"


@pytest.mark.requirement("FH-106")
async def test_a_call_over_the_cap_is_not_sent_and_not_charged(world: Instance) -> None:
    """FH-106: A call that would cost more than the cap is not sent."""
    settings = {"LLM_PRIMARY_PROVIDER": "openai", "LLM_FALLBACK_PROVIDER": "local"}
    async with world.auditor(LLM_MAX_COST_PER_REQUEST="0.15", **settings):
        before = (await world.credit())["credit_used"]
        job = await world.wait(await world.begin(*write_claims(1)))
        assert world.asked() == {"openai": ["extract"]}, "16,384 tokens at 15 dollars a million could cost 0.25"
        assert (job["status"], job["error"]["code"], job["charged"]) == ("FAILED", "COST_LIMIT", 0)
    async with world.auditor(LLM_MAX_COST_PER_REQUEST="0.000001", **settings):
        job = await world.wait(await world.begin(*write_claims(1)))
        assert (await world.credit())["credit_used"] == before
    assert world.asked() == {}
    assert (job["status"], job["error"]["code"], job["charged"]) == ("FAILED", "COST_LIMIT", 0)


@pytest.mark.requirement("FH-27", "FH-102", "FH-103")
async def test_what_is_stored_counts_for_jobs_that_have_not_begun(world: Instance) -> None:
    """FH-27: Admin routes need the role, and a change holds for jobs not yet started.
    FH-102: Providers and models are chosen by stage from the environment.
    FH-103: Stored configuration beats the environment, and no key is stored.
    """
    openai, google = world.providers["openai"], world.providers["google"]
    openai.gates["extract"] = asyncio.Event()
    async with world.auditor(LLM_PRIMARY_PROVIDER="openai", **FREE_MODEL) as auditor:
        running = await world.begin(*write_claims(1))

        async def began() -> bool:
            return bool(openai.requests)

        await until(began, "the job asks its provider", within_s=60)
        for stage in ("stage1", "stage2", "stage3"):
            await configure(world, stage, "google", "another-model")
        openai.gates.pop("extract").set()
        kept = await world.result(running)
        assert world.asked() == {"openai": [*STEPS]}, "a job that runs keeps its stages"
        assert {provider for _, provider in calls(kept)} == {"openai"}
        changed = await world.audit(*write_claims(1))
        assert auditor.alive
        requests = list(google.requests)
    assert world.asked() == {"google": [*STEPS]}, "the auditor follows without a restart"
    assert {provider for _, provider in calls(changed)} == {"google"}
    assert {(each.body["model"], each.body["max_tokens"], each.body["temperature"]) for each in requests} == {
        ("another-model", 4_000, 0.5)
    }


@pytest.mark.requirement("FH-101", "FH-103")
async def test_each_provider_can_be_stored_by_command_and_by_route(world: Instance) -> None:
    """FH-101: Anthropic, OpenAI, Google and local servers can be chosen.
    FH-103: Stored configuration beats the environment, and no key is stored.
    """
    environment = {"LLM_PRIMARY_PROVIDER": "openai", "LLM_STAGE1_PROVIDER": "openai", "LLM_STAGE2_MODEL": "gpt-5.4"}
    async with world.auditor(**environment, **FREE_MODEL):
        for provider in ("local", "google", "anthropic", "openai"):
            for stage in ("stage1", "stage3"):
                await configure(world, stage, provider, "another-model")
            stored = await world.system.run("stages", "set", "stage2", provider, "another-model", "--max-tokens", "900")
            assert stored.code == 0, stored.err
            job_id = await world.begin(*write_claims(1))
            result = await world.result(job_id)
            requests = list(world.providers[provider].requests)
            assert world.asked() == {provider: [*STEPS]}
            assert {each.body["model"] for each in requests} == {"another-model"}
            assert {name for _, name in calls(result)} == {provider}
            (fetched,) = (each for each in await world.facts(read_job_id(job_id)) if isinstance(each, JobFetched))
            assert [each.max_tokens for each in fetched.stages] == [4_000, 900, 4_000]
    shown = (await world.client.get("/admin/v1/llm/config")).json()
    assert [shown["stages"][stage]["provider"] for stage in ("stage1", "stage2", "stage3")] == ["openai"] * 3
    facts = [each for name in ("extract", "analyse", "assess") for each in await world.facts(name)]
    assert {each.provider for each in facts if isinstance(each, LlmStageConfigured)} == set(KEYS)
    assert not any(key in each.model_dump_json() for each in facts for key in KEYS.values())


async def read_metrics(url: str) -> str:
    async with httpx.AsyncClient(trust_env=False) as client:
        return (await client.get(f"{url}/metrics")).text
