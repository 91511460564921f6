"""An article's words and where they are: while its job runs, a day later, and when all of it has expired."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from contracts.v1.parts import EPHEMERAL
from kit.blobs import Blobs, BlobSettings
from kit.ephemeral import EphemeralTexts
from services.curator.adapters import EventLog
from services.curator.sweep import Sweep
from tests.support.curating import Metrics
from tests.support.everywhere import read_everything
from tests.support.fakes import StillClock
from tests.support.oracle import Oracle, oracle
from tests.support.system import System, system, until

CANARY = "The zebras of Quixotia sleep in violet hammocks."
TITLE = "Nights in Quixotia"
WRONG = "Humans use only 10 percent of their brains."
ARTICLE = f"{TITLE}. {WRONG} {CANARY}"
WORDS_OF_THE_ARTICLE = (CANARY, TITLE)
DAY, QUARTER = timedelta(hours=25), timedelta(days=92)


class World:
    """A system with one audit that has ended."""

    def __init__(self, running: System, looking: Oracle, job_id: str) -> None:
        self.system = running
        self.oracle = looking
        self.job_id = job_id

    async def find(self, *words: str) -> list[str]:
        """Where any of these words are."""
        await self.oracle.settled()
        found = await read_everything(self.system, self.oracle) | processes(self.system)
        assert {"stream JOBS", "stream ERRATA_DEAD", "stream ERRATA_REDELIVERY", "logs"} <= found.keys()
        assert any("services up" in text for where, text in found.items() if where.startswith("process"))
        return sorted(where for where, text in found.items() if any(word in text for word in words))

    async def sweep(self, age: timedelta) -> int:
        """Delete what has expired at that age, as the curator does."""
        given = self.system.blob_settings
        endpoint, access, secret, bucket = (
            given[f"OPENERRATA_S3_{name}"] for name in ("ENDPOINT", "ACCESS_KEY", "SECRET_KEY", "BUCKET")
        )
        blobs = Blobs(BlobSettings(endpoint.removeprefix("http://"), access, secret, bucket))
        clock = StillClock(datetime.now(UTC) + age)
        try:
            return await Sweep(EventLog(self.oracle.bus), EphemeralTexts(blobs, clock), Metrics(), clock).run_once()
        finally:
            blobs.close()


def processes(running: System) -> dict[str, str]:
    """What the list of processes shows of the system's own."""
    found: dict[str, str] = {}
    for process in running.processes.values():
        main = psutil.Process(process.pid)
        for each in (main, *main.children(recursive=True)):
            found[f"process {each.pid}"] = f"{' '.join(each.cmdline())} {each.environ()}"
    return found


@asynccontextmanager
async def audited(folder: Path) -> AsyncIterator[World]:
    """A system that has audited one article."""
    settings = {"OPENERRATA_GATEWAY_JOBS": "on", "OPENERRATA_LOG_LEVEL": "debug"}
    async with system(folder, **settings) as running, AsyncExitStack() as stack:
        await running.up(settings={"LD_PRELOAD": ""})  # as a command of its own, which the list of processes shows
        assert (await running.run("accounts", "add", "alice")).code == 0
        key = (await running.run("keys", "add", "alice", "--account", "alice", "--right", "audit")).out.strip()
        client = await stack.enter_async_context(
            httpx.AsyncClient(base_url=running.url, headers={"authorization": f"Bearer {key}"}, timeout=60)
        )
        looking = await stack.enter_async_context(oracle(running.database_url, running.nats_url))
        asked: dict[str, Any] = {"input_text": ARTICLE, "client": {"source_label": "a secret label"}}
        done = (await client.post("/v1/analyze", json=asked, headers={"prefer": "wait=30"})).json()
        assert done["status"] == "SUCCEEDED", done

        async def closed() -> bool:
            return bool((await client.get("/v1/user/credit")).json()["open_jobs"] == 0)

        await until(closed, "the job is settled")
        yield World(running, looking, done["job_id"])


async def restored(world: World, folder: Path) -> dict[str, str]:
    """Everything in a system that was restored from a backup of this one."""
    saved = await world.system.run("backup", str(folder / "backup"))
    assert saved.code == 0, saved.err
    async with system(folder / "restored", OPENERRATA_GATEWAY_JOBS="on") as other:
        back = await other.run("restore", str(folder / "backup"), within_s=120)
        assert back.code == 0, back.err
        await other.up()
        async with oracle(other.database_url, other.nats_url) as looking:
            await looking.settled()
            return await read_everything(other, looking)


@pytest.mark.requirement("FH-139", "FH-140", "FH-167", "FH-176")
async def test_words_go_when_they_expire_and_the_tables_can_be_built_again(tmp_path: Path) -> None:
    """FH-139: An article's text is gone when its job ends.
    FH-140: A job's outputs live 24 hours.
    FH-167: Facts hold no words.
    FH-176: Words with an expiry are in no backup.
    """
    async with audited(tmp_path / "system") as world:
        everywhere = await world.find(*WORDS_OF_THE_ARTICLE, "a secret label")
        assert everywhere, "the request is kept for a day"
        assert all(where.startswith(f"object {EPHEMERAL}/") for where in everywhere), everywhere
        assert not [where for where in await world.find(WRONG) if where.startswith(("stream", "logs", "process"))]

        backup = await restored(world, tmp_path)
        assert "job.extracted" in backup["stream JOBS"], "the backup holds the job"
        words = (*WORDS_OF_THE_ARTICLE, WRONG, "a secret label")
        assert [where for where, text in backup.items() if any(word in text for word in words)] == []

        assert await world.sweep(DAY) > 0
        assert await world.find(*WORDS_OF_THE_ARTICLE, "a secret label") == []
        assert await world.find(WRONG), "an analysis lives for 90 days"

        assert await world.sweep(QUARTER) > 0
        assert await world.find(*words) == []
        found = await read_everything(world.system, world.oracle)
        assert [where for where in found if where.startswith(f"object {EPHEMERAL}/")] == []
        before = {where: text for where, text in found.items() if where.startswith("table readmodel.")}
        assert len(before["table readmodel.job"]) > 0
        assert len(before["table readmodel.analysis"]) > 0
        rebuilt = await world.system.run("projector", "rebuild")
        assert rebuilt.code == 0, rebuilt.err
        await world.oracle.settled()
        found = await read_everything(world.system, world.oracle)
        after = {where: text for where, text in found.items() if where.startswith("table readmodel.")}
        assert {name: sorted(text.splitlines()) for name, text in after.items()} == {
            name: sorted(text.splitlines()) for name, text in before.items()
        }
