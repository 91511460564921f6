"""Traces reach a collector under the correlation's own id, and cost nothing when nobody asks for them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import UTC, datetime
from uuid import UUID

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from kit.tracing import ENDPOINT, make_spans

pytest_plugins = ["tests.support.collector"]

CORRELATION = UUID("01a1f8dd-4919-7485-807c-2bdcd13d4f4e")
AT = datetime(2026, 8, 14, 9, 30, tzinfo=UTC)


async def test_a_story_is_one_trace(
    collector: tuple[str, list[ExportTraceServiceRequest]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, got = collector
    monkeypatch.setenv(ENDPOINT, url)
    told = make_spans("openerrata ingest")
    assert told is not None
    told.record("ingest-canonical-fetched", CORRELATION, AT, 0.25, "ok", sequence=7)
    told.record("validator-claim-proposed", CORRELATION, AT, 1.0, "dead")
    await asyncio.to_thread(told.close)
    (resource,) = [each for request in got for each in request.resource_spans]
    assert resource.resource.attributes[0] is not None
    sent = {span.name: span for scope in resource.scope_spans for span in scope.spans}
    assert {span.trace_id for span in sent.values()} == {CORRELATION.bytes}
    fetched = sent["ingest-canonical-fetched"]
    assert fetched.end_time_unix_nano - fetched.start_time_unix_nano == 250_000_000
    assert {each.key for each in fetched.attributes} == {"openerrata.outcome", "sequence"}
    assert (fetched.status.code, sent["validator-claim-proposed"].status.code) == (0, 2)


def test_nothing_is_imported_when_nobody_asks() -> None:
    code = "import sys, kit.delivery, kit.tracing as t; assert t.make_spans('x') is None; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, capture_output=True, text=True, env={}, check=True, timeout=120)
    assert "kit.tracing" in ended.stdout
    assert "opentelemetry.sdk" not in ended.stdout
    assert "opentelemetry.exporter" not in ended.stdout
