"""Two projectors over one database: one writes, the other stands by, and goes on when the first is killed."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.support.oracle import Oracle, oracle
from tests.support.system import GivenServers, Process, system, until
from tests.unit.projector.histories import Page, uid

pytestmark = pytest.mark.xdist_group("chaos-two-projectors")

STREAMS = ("ERRATA", "VIEWS")


async def published(looking: Oracle, *names: str) -> None:
    """Tell of some pages, and wait until they are in the read model."""
    before = await looking.value("SELECT count(*) FROM readmodel.post")
    for name in names:
        await looking.bus.publish(Page(name).registered(), correlation=uid("c"))

    async def there() -> bool:
        return bool(await looking.value("SELECT count(*) = %s FROM readmodel.post", before + len(names)))

    await until(there, "the pages are in the read model", within_s=40.0)


async def metric(process: Process, line: str) -> float | None:
    async with httpx.AsyncClient(base_url=process.operations_url, timeout=5, trust_env=False) as client:
        said = (await client.get("/metrics")).text.splitlines()
    return next((float(each.rpartition(" ")[2]) for each in said if each.startswith(line)), None)


async def has_applied(process: Process, facts: int) -> bool:
    """A projector counts a fact a moment after the read model shows it."""
    return (await metric(process, 'openerrata_projector_facts_total{outcome="applied",stream="ERRATA"}') or 0) == facts


async def stands_by(process: Process, *, of_all: bool) -> bool:
    gauges = [await metric(process, f'openerrata_projector_standing_by{{stream="{stream}"}}') for stream in STREAMS]
    return gauges == [float(of_all)] * len(STREAMS)


async def test_one_writes_and_the_other_goes_on_when_it_is_killed(tmp_path: Path) -> None:
    with GivenServers(tmp_path / "servers") as servers:
        async with system(tmp_path / "system", OPENERRATA_MODEL="demo", **servers.settings) as running:
            assert (await running.run("topology", "apply")).code == 0
            first = await running.up("projector", name="first")
            await until(lambda: stands_by(first, of_all=False), "the first follows each stream")
            second = await running.up("projector", name="second")
            async with oracle(running.database_url, running.nats_url) as looking:
                await until(lambda: stands_by(second, of_all=True), "the second stands by")
                assert "standing by: another projector follows this stream" in second.log.read_text()
                await published(looking, "a", "b")
                await until(lambda: has_applied(first, 2), "the first has counted them")
                assert await has_applied(second, 0)

                await first.kill()
                await published(looking, "c", "d", "e")
                await until(lambda: has_applied(second, 3), "the second has counted them")
                await until(lambda: stands_by(second, of_all=False), "it follows each stream")

                assert (await running.run("projector", "rebuild")).code == 0
                await published(looking, "f")
                verified = await running.run("ledger", "verify")
                assert verified.code == 0, verified.out
