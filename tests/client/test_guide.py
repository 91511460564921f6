"""What docs/audits.md shows can be typed as it stands there."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
import yaml

from kit.webhooks import sign
from openerrata_client.command import make_command
from tests.client.test_action import DEFINITION
from tests.support.job_answers import EVENTS
from tests.support.job_server import API_KEY, Fault, JobServer
from tests.support.walk_through import GUIDE, examples, walk_through


def test_the_walk_through_with_curl(tmp_path: Path, server: JobServer) -> None:
    done = walk_through(tmp_path, server.address, API_KEY)
    assert done.returncode == 0, done.stderr
    (job,) = server.jobs.values()
    assert json.loads((tmp_path / "result.json").read_text())["job_id"] == job.id
    assert "event: ended" in done.printed[2]
    assert '"cache_hit_rate":0.626' in done.printed[5]
    assert server.count("DELETE /v1/jobs/{id}") == 1
    assert job.request.options.max_claims == 3


def test_the_walk_through_ends_where_something_fails(tmp_path: Path, server: JobServer) -> None:
    server.fail("GET /v1/jobs/{id}", Fault(503))
    done = walk_through(tmp_path, server.address, API_KEY)
    assert done.returncode != 0
    assert "503" in done.stderr
    assert server.count("DELETE /v1/jobs/{id}") == 0


def test_the_lines_of_python(
    server: JobServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENERRATA_API_KEY", API_KEY)
    monkeypatch.setenv("OPENERRATA_SERVER", server.address)
    client, webhook = examples("python")
    assert len(client.strip().splitlines()) <= 10
    exec(client, {})
    printed = capsys.readouterr().out
    assert printed.startswith("queued {")
    assert "0.195 ['The sky is blue.'" in printed
    names: dict[str, object] = {}
    exec(webhook, names)
    body = b'{"type": "job.succeeded", "timestamp": "2026-12-01T10:00:00Z", "data": {"job_id": "J"}}'
    sent_at = int(time.time())
    signature = sign("whsec_bmV3IHNlY3JldCBvZiBhbGljZQ==", "m", sent_at, body)
    headers = {"webhook-id": "m", "webhook-timestamp": str(sent_at), "webhook-signature": signature}
    receive = names["receive"]
    assert callable(receive)
    assert receive(headers, body) == "J"


def test_lists_in_the_guide_are_whole() -> None:
    text = GUIDE.read_text()
    assert re.findall(r"^\| `(\w+)` \| .*$", text.partition("### Events")[2].partition("\n## ")[0], re.M) == [
        name for name, _ in EVENTS
    ]
    (workflow,) = examples("yaml")
    step = yaml.safe_load(workflow)["jobs"]["audit"]["steps"][-1]
    assert set(step["with"]) <= set(DEFINITION["inputs"])
    (setup,) = examples("json")
    assert json.loads(setup)["mcpServers"]["openerrata"]["command"] == "openerrata-mcp"
    for line in examples("text")[0].splitlines():
        words = line.partition("openerrata-audit ")[2].partition(" >")[0].split()
        command = make_command("openerrata-audit")
        assert command.make_context("openerrata-audit", words)
