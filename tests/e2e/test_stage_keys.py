"""Keys of stages' providers are found nowhere, though each provider repeats its key wherever it can."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import chain
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from tests.e2e.test_keys_leave_no_trace import forms
from tests.support.everywhere import WORDS, read_everything
from tests.support.openai_server import Broken, HttpError, Turn, message
from tests.support.stage_providers import KEYS, Instance, instance, read_job_id, write_claims
from tests.support.system import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("e2e-stage-keys")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Instance]:
    async with instance(tmp_path_factory.mktemp("keys")) as running:
        yield running


def echo(name: str) -> list[Turn]:
    """Failures that repeat the request's Authorization header in every place that is read."""
    key, header = KEYS[name], f"Authorization: Bearer {KEYS[name]}"
    error = {"message": f"Incorrect API key provided: {header}", "type": key, "code": key, "status": key, "param": key}
    return [
        HttpError(500, {"error": error}, {"x-request-id": key, "retry-after": "0", "www-authenticate": header}),
        HttpError(503, [{"error": error | {"details": [{"retryDelay": key, "detail": header}]}}], {"retry-after": "0"}),
        Broken("error", (message(header),), key),
        HttpError(401, {"error": error}),
    ]


async def fail(world: Instance, name: str) -> list[str]:
    """Jobs of which each meets one failure of its provider; they are left to try again."""
    provider = world.providers[name]
    provider.asked()
    provider.trouble["extract"] = echo(name)
    jobs = [await world.begin(*write_claims(1)) for _ in range(len(provider.trouble["extract"]))]

    async def asked() -> bool:
        return len(provider.requests) >= len(jobs)

    await until(asked, "each job has asked", within_s=60)
    return jobs


def describe_processes(world: Instance) -> str:
    """What anybody on the machine reads of each process of the system."""
    pids = [process.pid for process in world.system.processes.values() if process.alive]
    return "\n".join(
        path.read_bytes().decode(errors="replace").replace("\0", " ")
        for path in chain.from_iterable((Path(f"/proc/{pid}/cmdline"), Path(f"/proc/{pid}/status")) for pid in pids)
    )


@pytest.mark.requirement("FH-103")
async def test_no_key_of_a_stage_is_found_anywhere(world: Instance) -> None:
    """FH-103: Stored configuration beats the environment, and no key is stored."""
    said: dict[str, str] = {}
    failing: list[str] = []
    async with world.auditor(LLM_PRIMARY_PROVIDER="openai") as auditor:
        for name, key in KEYS.items():
            provider = world.providers[name]
            provider.echo = f"My key is {key}, I was sent Bearer {key}."
            for stage in ("stage1", "stage2", "stage3"):
                chosen = await world.system.run("stages", "set", stage, name, "gpt-5.4", "--max-tokens", "4000")
                assert chosen.code == 0, chosen.err
                said[f"stages set {name} {stage}"] = chosen.out + chosen.err
            job_id = await world.begin(*write_claims(1))
            result = await world.result(job_id)
            assert "My key is [key], I was sent Bearer [key]." in json.dumps(result)
            for part in ("", "/result", "/report", "/events"):
                said[f"{name}{part}"] = (await world.client.get(f"/v1/jobs/{job_id}{part}")).text
            said[f"job show {name}"] = (await world.system.run("job", "show", str(read_job_id(job_id)))).out
            failing += await fail(world, name)
        for job_id in failing:
            await world.wait(job_id)
            said[f"failed {job_id}"] = (await world.client.get(f"/v1/jobs/{job_id}")).text
        await world.credit()
        await world.oracle.settled()
        found = await read_everything(world.system, world.oracle)
        async with httpx.AsyncClient(base_url=auditor.operations_url, trust_env=False) as client:
            for path in ("/metrics", "/health", "/ready"):
                said[f"auditor {path}"] = (await client.get(path)).text
        said["processes"] = await asyncio.to_thread(describe_processes, world)
    for path in ("/admin/v1/llm/config", "/openapi.json", "/docs", "/.well-known/openerrata-receipts.json"):
        said[path] = (await world.client.get(path)).text
    said["stages show"] = (await world.system.run("stages", "show")).out
    found |= said
    assert "openerrata_auditor_open_jobs" in found["auditor /metrics"]
    assert f"\nPid:\t{auditor.pid}\n" in found["processes"]
    assert "llm_stage.configured" in found["stream JOBS"]
    assert any(where == WORDS and "Bearer [key]" in text for where, text in found.items())
    for key in KEYS.values():
        for form in forms(key):
            assert [where for where, text in found.items() if form in text] == [], f"{key} was kept"
