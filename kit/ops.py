"""What a process tells its operator: metrics, liveness, readiness, and how far consumers are behind."""

from __future__ import annotations

import asyncio

import nats.errors
import nats.js.errors
import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contracts.topology import CONSUMERS, stream_of
from kit.bus import Bus
from kit.host import Host
from kit.telemetry import Telemetry

LAG_EVERY_S = 15.0


def operations(host: Host) -> Starlette:
    """`/metrics`, `/health` (the process lives) and `/ready` (everything it needs answers; 503 otherwise)."""

    async def metrics(request: Request) -> Response:
        return Response(host.telemetry.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def health(request: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    async def ready(request: Request) -> Response:
        problems = await host.problems()
        body = orjson.dumps({"status": "unready" if problems else "ready", "problems": problems})
        return Response(body, 503 if problems else 200, media_type="application/json")

    return Starlette(routes=[Route("/metrics", metrics), Route("/health", health), Route("/ready", ready)])


class Lag:
    """Keeps the lag gauge current."""

    def __init__(self, bus: Bus, telemetry: Telemetry) -> None:
        self._bus = bus
        self._telemetry = telemetry

    async def run(self) -> None:
        """Ask the broker every so often."""
        while True:
            for consumer in CONSUMERS:
                try:
                    info = await self._bus.jetstream.consumer_info(stream_of(consumer.event).name, consumer.name)
                except (nats.errors.Error, nats.js.errors.Error, TimeoutError):
                    continue
                self._telemetry.lag.labels(consumer.name).set((info.num_pending or 0) + (info.num_ack_pending or 0))
            await asyncio.sleep(LAG_EVERY_S)
