"""A client that is stopped before it knows its job leaves none that goes on and costs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from openerrata_client import AsyncClient, Client, ClientLabels
from tests.support.job_server import API_KEY, Fault, JobServer

ANALYZE = "POST /v1/analyze"
TEXT = "The sky is blue."
LOST = Fault(carried_out=True)
SLOW = Fault(carried_out=True, is_slow=True)


def status(server: JobServer) -> str:
    (job,) = server.jobs.values()
    return job.status


def analyze_until_interrupted(kind: str, server: JobServer, **named: Any) -> None:
    """Ask, and be interrupted while the client waits to ask again."""

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    async def cancel(_: float) -> None:
        raise asyncio.CancelledError

    async def analyze() -> None:
        async with AsyncClient(API_KEY, server=server.address, sleep=cancel) as client:
            await client.analyze(text=TEXT, **named)

    if kind == "async":
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(analyze())
        return
    with Client(API_KEY, server=server.address, sleep=interrupt) as client, pytest.raises(KeyboardInterrupt):
        client.analyze(text=TEXT, **named)


def test_a_job_whose_id_never_came_is_cancelled(kind: str, server: JobServer) -> None:
    server.fail(ANALYZE, LOST)
    analyze_until_interrupted(kind, server)
    assert status(server) == "CANCELED"


@pytest.mark.parametrize("named", [{"idempotency_key": "mine"}, {"labels": ClientLabels(request_id="mine")}])
def test_a_job_that_its_caller_can_find_again_goes_on(kind: str, server: JobServer, named: dict[str, Any]) -> None:
    server.fail(ANALYZE, LOST)
    analyze_until_interrupted(kind, server, **named)
    assert (status(server), server.count(ANALYZE)) == ("QUEUED", 1)


def test_a_server_that_is_gone_is_not_asked_for_long(kind: str, server: JobServer) -> None:
    server.fail(ANALYZE, *[Fault()] * 9)
    analyze_until_interrupted(kind, server)
    assert server.count(ANALYZE) == 2


async def analyze_until_cancelled(server: JobServer) -> None:
    """Ask in a scope of anyio, which cancels at every step and not once."""
    async with AsyncClient(API_KEY, server=server.address) as client, anyio.create_task_group() as group:

        async def analyze() -> None:
            await client.analyze(text=TEXT)

        group.start_soon(analyze)
        await asyncio.to_thread(server.stalls.wait, 30)
        group.cancel_scope.cancel()


def test_a_scope_that_is_cancelled_again_and_again_still_cancels_the_job(server: JobServer) -> None:
    server.fail(ANALYZE, SLOW)
    anyio.run(analyze_until_cancelled, server)
    assert status(server) == "CANCELED"


def environment(server: JobServer) -> dict[str, str]:
    return {**os.environ, "OPENERRATA_API_KEY": API_KEY, "OPENERRATA_SERVER": server.address}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_server_has_answered_cancels_the_job(
    server: JobServer, tmp_path: Path, number: signal.Signals
) -> None:
    server.fail(ANALYZE, SLOW)
    (tmp_path / "draft.md").write_text(TEXT)
    program = [sys.executable, "-c", "from openerrata_client.command import main; main()", str(tmp_path / "draft.md")]
    process = subprocess.Popen(program, stderr=subprocess.PIPE, env=environment(server))
    assert server.stalls.wait(60)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said, status(server)) == (130, b"interrupted\n", "CANCELED")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_for_models_ends_at_a_signal_and_cancels_its_audit(server: JobServer, number: signal.Signals) -> None:
    server.fail(ANALYZE, SLOW)
    program = [sys.executable, "-c", "from openerrata_client.mcp_server import main; main()"]
    pipe = subprocess.PIPE
    with subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=pipe, env=environment(server)) as process:
        assert process.stdin is not None
        for message in (
            {"id": 1, "method": "initialize", "params": HELLO},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": "audit_article", "arguments": {"text": TEXT}}},
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
        assert server.stalls.wait(60)
        process.send_signal(number)
        assert process.wait(30) == 0, "its input has not ended"
        assert process.stderr is not None
        assert (b"Traceback" in process.stderr.read(), status(server)) == (False, "CANCELED")


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
