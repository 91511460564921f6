"""The tools for models, called through the official SDK's own client."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from importlib.metadata import version
from typing import Any

import pytest
from mcp import Client as McpClient

from openerrata_client import mcp_server
from openerrata_client.mcp_server import make_server
from tests.support.job_server import API_KEY, Fault, JobServer


@pytest.fixture(autouse=True)
def environment(server: JobServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENERRATA_API_KEY", API_KEY)
    monkeypatch.setenv("OPENERRATA_SERVER", server.address)
    monkeypatch.setattr(mcp_server, "_UNFINISHED", {})


async def call(tool: str, **arguments: object) -> tuple[bool, str]:
    async with McpClient(make_server()) as client:
        answer: Any = await client.call_tool(tool, arguments)
    return bool(answer.is_error), "\n".join(part.text for part in answer.content)


async def test_the_tools_say_what_they_cost() -> None:
    async with McpClient(make_server()) as client:
        tools = (await client.list_tools()).tools
    assert [each.name for each in tools] == [
        *("estimate_audit", "audit_article", "look_up_claim", "corrections_of_post")
    ]
    assert all("ost" in (each.description or "") or "credit" in (each.description or "") for each in tools)


async def test_hosts_learn_which_tools_may_run_without_asking_their_user() -> None:
    async with McpClient(make_server()) as client:
        hints = {each.name: each.annotations for each in (await client.list_tools()).tools}
    assert [name for name, hint in hints.items() if hint and hint.read_only_hint] == [
        *("estimate_audit", "corrections_of_post")
    ]
    assert [name for name, hint in hints.items() if hint and hint.destructive_hint is False] == [
        *("audit_article", "look_up_claim")
    ]


async def test_an_article_is_estimated_and_audited(server: JobServer) -> None:
    failed, said = await call("estimate_audit", text="The sky is blue.")
    assert (failed, json.loads(said)["estimated_cost"]) == (False, 0.114)
    failed, said = await call("audit_article", text="The sky is blue.", max_claims=2, depth="deep")
    assert (failed, said[:2]) == (False, "# ")
    (job,) = server.jobs.values()
    assert (job.request.options.max_claims, job.request.options.depth) == (2, "deep")


async def test_a_host_sees_the_progress_of_an_audit(server: JobServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "AUDIT_S", 0.0)
    heard: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    async with McpClient(make_server()) as client:
        answer = await client.call_tool("audit_article", {"text": "A text."}, progress_callback=hear)
    assert not answer.is_error
    (job,) = server.jobs
    assert [(progress, job in (message or "")) for progress, message in heard] == [(1, True)]


async def test_an_audit_that_a_host_gives_up_is_cancelled(server: JobServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "AUDIT_S", 0.0)
    monkeypatch.setattr(mcp_server, "PARTS", 1_000_000)
    server.do_jobs_end = False

    async def give_up(progress: float, total: float | None, message: str | None) -> None:
        call_.cancel()

    async with McpClient(make_server()) as client:
        call_ = asyncio.create_task(client.call_tool("audit_article", {"text": "A text."}, progress_callback=give_up))
        with pytest.raises(asyncio.CancelledError):
            await call_
    (job,) = server.jobs.values()
    assert job.status == "CANCELED"


@pytest.mark.parametrize("by_name", [True, False], ids=["by its job", "by its article"])
async def test_an_audit_that_outlives_its_call_is_waited_for_and_not_paid_again(
    server: JobServer, monkeypatch: pytest.MonkeyPatch, by_name: bool
) -> None:
    server.do_jobs_end = False
    with monkeypatch.context() as impatient:
        impatient.setattr(mcp_server, "AUDIT_S", 0.0)
        impatient.setattr(mcp_server, "PARTS", 1)
        failed, said = await call("audit_article", text="A long text.")
    (job,) = server.jobs
    assert (failed, f"audit_article with job_id {job}" in said) == (True, True)
    server.do_jobs_end = True
    failed, said = await call("audit_article", **({"job_id": job} if by_name else {"text": "A long text."}))
    assert (failed, said[:2], list(server.jobs)) == (False, "# ", [job])


async def test_an_audit_whose_server_is_lost_is_named(server: JobServer) -> None:
    server.fail("GET /v1/jobs/{id}", Fault(503, headers={"Retry-After": "61"}))
    failed, said = await call("audit_article", text="A text.")
    (job,) = server.jobs
    assert (failed, f"audit_article with job_id {job}" in said) == (True, True)


async def test_an_audit_that_failed_is_not_offered_again(server: JobServer) -> None:
    server.ends_as = "FAILED"
    failed, said = await call("audit_article", text="A text.")
    assert (failed, "has no result" in said, "to wait for it" in said) == (True, True, False)
    assert (await call("audit_article", job_id=next(iter(server.jobs)), text="A text."))[0]
    assert len(server.jobs) == 1


async def test_a_claim_is_looked_up_without_spending(server: JobServer) -> None:
    failed, said = await call("look_up_claim", claim="The sky is blue.")
    assert (failed, json.loads(said)["claims"][0]["rollup_verdict"]) == (False, "Supported")
    (job,) = server.jobs.values()
    assert job.request.options.cache_preference == "cache_only"


async def test_corrections_of_a_post_are_read_from_the_public_record() -> None:
    failed, said = await call("corrections_of_post", platform="WIKIPEDIA", external_id="en:1")
    assert not failed
    assert json.loads(said)["investigations"][0]["claims"][0]["quote"] == "The sky is green."


@pytest.mark.parametrize(
    "answered",
    ["<html>", "[" * 100_000, *(f'{{"result": {{"data": {data}}}}}' for data in ("null", '{"post": {}}'))],
    ids=["page", "deep", "nothing", "part"],
)
async def test_what_is_no_record_of_a_post_is_said_to_be_none(server: JobServer, answered: str) -> None:
    server.fail("GET /trpc/public.getPostInvestigations", Fault(200, body=answered.encode()))
    failed, said = await call("corrections_of_post", platform="X", external_id="20")
    assert (failed, said.endswith("not the record of a post.")) == (True, True)


async def test_a_model_reads_the_newest_few_results_of_a_post(server: JobServer) -> None:
    found = {"post": {"id": "p"}, "investigations": [{"id": "00000000-0000-7000-8000-000000000001"}] * 9}
    body = json.dumps({"result": {"data": found}}).encode()
    server.fail("GET /trpc/public.getPostInvestigations", Fault(200, body=body))
    failed, said = await call("corrections_of_post", platform="WIKIPEDIA", external_id="en:1")
    assert (failed, len(json.loads(said)["investigations"])) == (False, 5)


async def test_a_procedure_that_refuses_says_why(server: JobServer) -> None:
    refused = {
        "message": '[\n {"path": ["platform"], "message": "Input should be X"}\n]',
        "data": {"code": "BAD_REQUEST"},
    }
    body = json.dumps({"error": refused}).encode()
    server.fail("GET /trpc/public.getPostInvestigations", Fault(400, body=body))
    failed, said = await call("corrections_of_post", platform="x", external_id="20")
    assert (failed, 'BAD_REQUEST: [ {"path": ["platform"], "message": "Input should be X"} ]' in said) == (True, True)


async def test_a_refusal_says_what_to_do(server: JobServer) -> None:
    server.fail("POST /v1/analyze", Fault(402, "CREDIT_LIMIT_REACHED"))
    failed, said = await call("audit_article", text="A text.")
    assert (failed, "cache_only" in said) == (True, True)
    assert (await call("audit_article"))[0]
    failed, said = await call("estimate_audit", text="A text.", max_claims=99)
    assert (failed, "VALIDATION_ERROR" in said) == (True, True)


def test_the_program_speaks_the_protocol_over_its_pipes() -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    done = subprocess.run(
        [sys.executable, "-m", "services", "mcp"],
        input=json.dumps(hello) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        env=dict(os.environ),
        check=True,
    )
    answer = json.loads(done.stdout.splitlines()[0])
    assert answer["result"]["serverInfo"] == {"name": "openerrata", "version": version("openerrata-client")}
