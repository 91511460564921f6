"""Clients of `/events` that reconnect without end keep no reader waiting."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from statistics import median, quantiles
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import httpx
import pytest

from kit import topology
from kit.bus import connect
from tests.support.crowd import crowd
from tests.support.findings import facts
from tests.support.gateway import REGISTER, VIEW, Running, migrated, serving
from tests.support.servers import Prepare
from tests.support.system import until
from tests.unit.gateway.fakes import data, post_on_x

pytest_plugins = ["tests.support.servers"]

CLIENTS: Final = 220
EVERY_S: Final = 1.0
"""Eight times as often as those that were seen."""
INVESTIGATIONS: Final = 400
QUIET_S: Final = 2.0
CROWDED_S: Final = 5.0
ENOUGH: Final = 8


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


async def views_s(running: Running, version: UUID, for_s: float) -> list[float]:
    """How long each of a reader's views took until it was answered, one after the other; at least `ENOUGH`."""
    took: list[float] = []
    end = monotonic() + for_s
    while monotonic() < end or len(took) < ENOUGH:
        began = monotonic()
        data(VIEW, await until(lambda: answered(running, version), "the view is answered"))
        took.append(monotonic() - began)
        await asyncio.sleep(0.01)
    return took


async def answered(running: Running, version: UUID) -> httpx.Response | None:
    """The answer of a view, unless it is to be repeated: a browser asks again, and its reader waits."""
    response = await running.mutate(VIEW, {"postVersionId": str(version)})
    return None if response.status_code == 503 else response


@dataclass(frozen=True)
class Waits:
    """How long readers waited. Units: seconds, as many views as there were."""

    all_s: list[float]

    @property
    def median_s(self) -> float:
        return median(self.all_s)

    @property
    def p99_s(self) -> float:
        return quantiles(self.all_s, n=100)[98]

    def __str__(self) -> str:
        return f"median {1e3 * self.median_s:.0f} ms, p99 {1e3 * self.p99_s:.0f} ms of {len(self.all_s)}"


async def beside_a_crowd(nats_url: str, database_url: str, **settings: Any) -> tuple[Waits, Waits]:
    """What readers wait without a crowd, and with one."""
    async with connect(nats_url, name="past") as bus:
        await topology.apply(bus)
        for number in range(INVESTIGATIONS):
            await asyncio.gather(*(bus.publish(fact, correlation=uuid4()) for fact in facts(number, long=2_000)))
    async with serving(nats_url, database_url, **settings) as running:
        version = await until(lambda: registered(running), "the past is in the tables", within_s=60)
        at = urlsplit(str(running.http.base_url))
        quiet = Waits(await views_s(running, version, QUIET_S))
        with crowd((str(at.hostname), int(at.port or 0)), clients=CLIENTS, every_s=EVERY_S):

            async def came() -> bool:
                """Each of them, once."""
                told = running.host.telemetry.render().decode()
                found = re.findall(r"^openerrata_gateway_event_(?:clients|streams_total\S*) (\S+)$", told, re.M)
                return sum(map(float, found)) >= CLIENTS

            await until(came, "the crowd is there", within_s=60)
            crowded = Waits(await views_s(running, version, CROWDED_S))
    print(f"\nviews alone: {quiet}; while {CLIENTS} clients of /events reconnect: {crowded}")
    return quiet, crowded


async def test_a_crowd_of_one_network_is_hardly_noticed(nats_url: str, database_url: str) -> None:
    quiet, crowded = await beside_a_crowd(nats_url, database_url)
    assert crowded.median_s < 4 * quiet.median_s + 0.02
    assert crowded.p99_s < 10 * quiet.p99_s + 0.1


async def test_a_crowd_of_many_networks_leaves_time_for_readers(nats_url: str, database_url: str) -> None:
    """No limit of one network holds it back: what history may cost does."""
    unlimited = {"events_clients": 1_000, "events_clients_per_network": 1_000, "events_connects_burst": 100_000}
    _, crowded = await beside_a_crowd(nats_url, database_url, **unlimited)
    assert crowded.median_s < 1.0


async def registered(running: Running) -> UUID | None:
    """A version, once the projector has caught up."""
    answer = await running.mutate(REGISTER, post_on_x())
    return UUID(data(REGISTER, answer)["postVersionId"]) if answer.status_code == 200 else None
