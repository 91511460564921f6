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


async def applied(process: Process) -> float:
    return await metric(process, 'openerrata_projector_facts_total{outcome="applied",stream="ERRATA"}') or 0


async def stands_by(process: Process) -> list[float | None]:
    return [await metric(process, f'openerrata_projector_standing_by{{stream="{stream}"}}') for stream in STREAMS]


async def test_one_writes_and_the_other_goes_on_when_it_is_killed(tmp_path: Path) -> None:
    with GivenServers(tmp_path / "servers") as servers:
        async with system(tmp_path / "system", OPENERRATA_MODEL="demo", **servers.settings) as running:
            assert (await running.run("topology", "apply")).code == 0
            first = await running.up("projector", name="first")
            second = await running.up("projector", name="second")

            async def waits() -> bool:
                return await stands_by(second) == [1, 1]

            async with oracle(running.database_url, running.nats_url) as looking:
                await until(waits, "the second stands by")
                assert "standing by: another projector follows this stream" in second.log.read_text()
                await published(looking, "a", "b")
                assert (await applied(first), await applied(second)) == (2, 0)

                await first.kill()
                await published(looking, "c", "d", "e")
                assert await applied(second) == 3
                assert await stands_by(second) == [0, 0]

                assert (await running.run("projector", "rebuild")).code == 0
                await published(looking, "f")
                verified = await running.run("ledger", "verify")
                assert verified.code == 0, verified.out
