"""`openerrata up` with everything in it is asked to stop, or is killed, in the middle of an investigation."""

from __future__ import annotations

import signal
from pathlib import Path

import psutil
import pytest

from tests.chaos.conftest import KEY, disturbed
from tests.e2e.posts import FIVE, on_x
from tests.support.extension_client import Extension
from tests.support.oracle import oracle
from tests.support.sites import Sites
from tests.support.system import System, system, until

pytestmark = [pytest.mark.asyncio(loop_scope="function"), pytest.mark.xdist_group("chaos-repeated")]


async def begun(running: System) -> str:
    """An investigation with its first candidate."""
    async with Extension(running.url, api_key=KEY) as reader:
        version = (await reader.register(on_x(*FIVE)))["postVersionId"]
        run: str = (await reader.investigate(version))["investigationId"]

        async def first() -> bool:
            status = await reader.look(run)
            return bool(status.get("pendingClaims") or status.get("confirmedClaims"))

        await until(first, "the first candidate shows")
    return run


async def completes(running: System, run: str) -> None:
    """Assert that it ends as on a quiet day."""
    async with Extension(running.url, api_key=KEY) as reader:
        result = await reader.result(run)
        assert [claim["text"] for claim in result["claims"]] == list(FIVE)
    async with oracle(running.database_url, running.nats_url) as looking:
        await looking.settled()
        assert await looking.once_each(run) == list(FIVE)
        assert await looking.dead() == []
    assert (await running.run("ledger", "verify")).code == 0


def alive(family: list[psutil.Process]) -> list[str]:
    """Who of them still runs."""
    found = []
    for one in family:
        try:
            if one.is_running() and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one.name())
        except psutil.NoSuchProcess:
            continue
    return found


@pytest.mark.requirement("3.6-03", "2.6-15")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
async def test_the_next_start_finishes_what_was_begun(tmp_path: Path, end: signal.Signals) -> None:
    """3.6-03: A run whose worker died is taken up again.
    2.6-15: A request during a run starts no second one.
    """
    async with Sites() as sites, system(tmp_path, **disturbed(sites)) as running:
        process = await running.up()
        assert (await running.run("keys", "add", "tests", "--key", KEY)).code == 0
        run = await begun(running)
        family = psutil.Process(process.pid).children(recursive=True)
        assert {"nats-server", "postgres", "weed"} <= {one.name() for one in family}
        process.send(end)
        assert await process.ended() == (0 if end == signal.SIGTERM else -signal.SIGKILL)

        async def gone() -> bool:
            return not alive(family)

        await until(gone, "no server outlives its parent")
        await running.up()
        await completes(running, run)
