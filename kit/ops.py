"""Metrics, liveness, readiness and lag of a process."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import nats.errors
import nats.js.errors
import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contracts.topology import Stream
from kit.flow import Flow, measure_flow
from kit.host import Host
from kit.publisher import BusError
from kit.tasks import read_last_success

LAG_EVERY_S = 15.0


def operations(host: Host) -> Starlette:
    """The application with `/metrics`, `/health` (the process lives) and `/ready` (503 if a dependency is missing)."""

    async def metrics(request: Request) -> Response:
        return Response(host.telemetry.render(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def health(request: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    async def ready(request: Request) -> Response:
        problems = await host.problems()
        body = orjson.dumps({"status": "unready" if problems else "ready", "problems": problems})
        return Response(body, 503 if problems else 200, media_type="application/json")

    return Starlette(routes=[Route("/metrics", metrics), Route("/health", health), Route("/ready", ready)])


class LagGauges:
    """Updates the gauges of checks, streams and consumers, and of the disk of `data_dir` if servers are embedded.

    `readable` are the streams that this process may read; consumers of other streams are measured by other processes.
    """

    def __init__(self, host: Host, readable: Collection[Stream], data_dir: Path | None = None) -> None:
        self._host = host
        self._bus = host.bus
        self._readable = readable
        self._data_dir = data_dir
        self._telemetry = host.telemetry

    async def run(self) -> None:
        """Update the gauges every LAG_EVERY_S."""
        while True:
            problems = await self._host.problems()
            for check in self._host.checks | problems.keys():
                self._telemetry.failing.labels(check).set(check in problems)
            if self._data_dir is not None:
                self._telemetry.free.set(shutil.disk_usage(self._data_dir).free)
            with suppress(nats.errors.Error, nats.js.errors.Error, BusError, TimeoutError):
                self._set(await measure_flow(self._bus, self._readable))
                for task, at in (await read_last_success(self._bus)).items():
                    self._telemetry.succeeded.labels(task).set(at)
            await asyncio.sleep(LAG_EVERY_S)

    def _set(self, flow: Flow) -> None:
        gauges = self._telemetry
        for stream in flow.streams:
            gauges.last.labels(stream.name).set(stream.last)
        for consumer in flow.consumers:
            gauges.lag.labels(consumer.name).set(consumer.waiting + consumer.in_hand + consumer.again)
            gauges.oldest.labels(consumer.name).set(consumer.oldest_s or 0)
            gauges.paused.labels(consumer.name).set(consumer.paused)
            gauges.dead.labels(consumer.name).set(consumer.dead)
