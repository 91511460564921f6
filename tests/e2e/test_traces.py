"""A running system sends one trace for one story, under the correlation that readers see."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.e2e.posts import BATS, on_x
from tests.support.extension_client import Extension
from tests.support.system import system, until

pytest_plugins = ["tests.support.collector"]
pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("e2e")]


async def test_spans_of_all_services_arrive_at_the_collector(
    tmp_path: Path, collector: tuple[str, list[ExportTraceServiceRequest]]
) -> None:
    url, got = collector
    settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OPENERRATA_SELECTOR_RUNS_PER_DAY": "0"}
    async with system(tmp_path, **settings) as running:
        await running.up()
        assert (await running.run("keys", "add", "tests", "--key", "oe_of-the-tests")).code == 0
        async with Extension(running.url, api_key="oe_of-the-tests") as reader:
            await reader.investigated(on_x(BATS))
            correlation = UUID(reader.correlations[0])

        async def arrived() -> bool:
            spans = [
                span.name
                for request in got
                for resource in request.resource_spans
                for scope in resource.scope_spans
                for span in scope.spans
                if span.trace_id == correlation.bytes
            ]
            return {
                "ingest-observation-unverifiable",
                "investigator-investigation-requested",
                "validator-claim-proposed",
            } <= set(spans)

        await until(arrived, "one trace has the spans of all services", within_s=60)
