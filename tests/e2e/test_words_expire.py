"""An article's words and where they are: while its job runs, a day later, and when all of it has expired.

The services live by a clock which the test moves; what expires is deleted by the curator's own schedule. A process with
that clock cannot be forked from one that has imported the command, so there are few.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import httpx
import psutil
import pytest

from contracts.topology import AUDITOR_JOB_REQUESTED, DEAD, FAILURES, JOBS
from contracts.v1 import JobEnded
from contracts.v1.parts import EPHEMERAL
from kit.clock import SystemClock
from kit.database import migrate
from kit.ephemeral import EphemeralTexts, TextBucket
from kit.history import read_latest
from kit.kv import Bucket
from tests.support.audits import asked
from tests.support.clocks import JumpingClock
from tests.support.everywhere import WORDS, read_everything
from tests.support.oracle import Oracle, oracle
from tests.support.system import GivenServers, System, system, until

CANARY: Final = "The zebras of Quixotia sleep in violet hammocks."
TITLE: Final = "Nights in Quixotia"
WRONG: Final = "Humans use only 10 percent of their brains."
ARTICLE: Final = f"{TITLE}. {WRONG} {CANARY}"
LABEL: Final = "a secret label"
UNREADABLE: Final = "Otters of Quixotia read at dusk."
WORDS_OF_THE_ARTICLE: Final = (CANARY, TITLE, LABEL)
DAY, QUARTER = timedelta(hours=25), timedelta(days=92)
EXTRACTION, ANALYSIS, ASSESSMENT = 0.003, 0.081, 0.03
PROCESSES: Final = {"audits": ("projector", "gateway", "auditor"), "curator": ("curator",)}


@dataclass(frozen=True)
class World:
    """A running system, and a client of its job API."""

    system: System
    oracle: Oracle
    clock: JumpingClock
    client: httpx.AsyncClient

    async def find(self, *words: str) -> list[str]:
        """Where any of these words are."""
        await self.oracle.settled()
        found = await read_everything(self.system, self.oracle) | processes(self.system)
        assert {"stream JOBS", "stream ERRATA_REDELIVERY", "stream KV_memos", "logs"} <= found.keys()
        assert found[f"stream {DEAD.name}"], "a dead letter lies there"
        assert "handler failed" in found["logs"]
        for services in PROCESSES.values():
            line = f"services up {' '.join(services)} --"
            assert any(line in text for where, text in found.items() if where.startswith("process"))
        return sorted(where for where, text in found.items() if any(word in text for word in words))

    async def wait(self, age: timedelta) -> None:
        """Let so much time have passed since the start, and wait until the curator has deleted what has expired."""
        self.clock.jump(int(age.total_seconds()))
        now = datetime.now(UTC) + age
        last = f"{now:%Y-%m-%d/%H}"

        async def swept() -> bool:
            return all(each[: len(last)] > last for each in await TextBucket(self.oracle.bus).names(EPHEMERAL))

        await until(swept, "what has expired is deleted", within_s=60)

    async def end_curator(self) -> None:
        """Leave the log as it is: each minute the curator would close a week's scores."""
        curator = self.system.processes.pop("curator")
        curator.send(signal.SIGTERM)
        assert await curator.ended() == 0
        await self.oracle.settled(only_projector=True)


def processes(running: System) -> dict[str, str]:
    """What the list of processes shows of the system's own."""
    found: dict[str, str] = {}
    for process in running.processes.values():
        main = psutil.Process(process.pid)
        for each in (main, *main.children(recursive=True)):
            found[f"process {each.pid}"] = f"{' '.join(each.cmdline())} {each.environ()}"
    return found


@asynccontextmanager
async def started(folder: Path) -> AsyncIterator[World]:
    """The services of audits over servers, each a process, with a clock that can be moved."""
    clock = JumpingClock(folder)
    with GivenServers(folder / "servers") as servers:
        settings = {
            **servers.settings,
            "OPENERRATA_GATEWAY_JOBS": "on",
            "OPENERRATA_MODEL": "demo",
            "OPENERRATA_CURATOR_SWEEP_S": "0.5",
            "OPENERRATA_LOG_LEVEL": "debug",
        }
        async with system(folder / "system", **settings) as running:
            await migrate(running.database_url)
            assert (await running.run("topology", "apply")).code == 0
            assert (await running.run("accounts", "add", "alice")).code == 0
            key = (await running.run("keys", "add", "alice", "--account", "alice", "--right", "audit")).out.strip()
            running.settings |= clock.settings
            for name, services in PROCESSES.items():
                running.spawn(*services, name=name)
            await asyncio.gather(*(process.started() for process in running.processes.values()))
            headers = {"authorization": f"Bearer {key}"}
            async with (
                oracle(running.database_url, running.nats_url) as looking,
                httpx.AsyncClient(base_url=running.url, headers=headers, timeout=60) as client,
            ):
                yield World(running, looking, clock, client)


async def audit(world: World, text: str, **labels: str) -> dict[str, Any]:
    """Have an article audited; the job."""
    sent = {"input_text": text, "client": labels}
    answer = await world.client.post("/v1/analyze", json=sent, headers={"prefer": "wait=60"})
    done: dict[str, Any] = answer.json()
    assert done["status"] == "SUCCEEDED", done

    async def closed() -> bool:
        return bool((await world.client.get("/v1/user/credit")).json()["open_jobs"] == 0)

    await until(closed, "the job is settled")
    view: dict[str, Any] = (await world.client.get(done["links"]["self"])).json()
    return {**done, **view}


async def require_expired(world: World, job: dict[str, Any]) -> None:
    """Assert that a job is still known, and that what is asked of its words is answered by their having expired."""
    links = job["links"]
    view = (await world.client.get(links["self"])).json()
    kept = ("job_id", "status", "created_at", "ended_at", "expires_at", "charged")
    assert [view[each] for each in kept] == [job[each] for each in kept]
    assert view["client"] == {"request_id": None, "source_label": None}
    for name in ("result", "report"):
        answer = await world.client.get(links[name])
        assert (answer.status_code, answer.json()["error"]["code"]) == (410, "EXPIRED"), name
    events = await world.client.get(links["events"])
    assert events.text.count("event: ended") == 1
    assert (await world.client.delete(links["self"])).status_code == 204


async def fail_for_good(world: World) -> None:
    """Have a job given up whose words have a form that this version cannot read, as those of a later one may have."""
    bus, job = world.oracle.bus, uuid4()
    texts = EphemeralTexts(TextBucket(bus), SystemClock())
    words = json.dumps({"job_id": str(job), "text": [UNREADABLE]})
    ref = await texts.put(words, datetime.now(UTC) + timedelta(hours=24))
    deadline = datetime.now(UTC) + timedelta(minutes=15)
    request = asked(job, cache_only=True).model_copy(update={"input": ref, "deadline_at": deadline})
    receipt = await bus.publish(request, correlation=uuid4())
    failures, message = await Bucket.open(bus, FAILURES), f"{AUDITOR_JOB_REQUESTED.name}.JOBS.{receipt.sequence}"

    async def failed() -> bool:
        return await failures.get(message) == b"1"

    await until(failed, "the auditor fails")
    await failures.put(message, str(AUDITOR_JOB_REQUESTED.attempts - 1).encode())  # instead of the minutes between
    await until(world.oracle.dead, "it is given up")
    assert await read_latest(bus, f"{JobEnded.SUBJECT}.{job}", stream=JOBS), "its account is told"


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
    async with started(tmp_path) as world:
        job = await audit(world, ARTICLE, source_label=LABEL)
        known = await audit(world, WRONG)
        assert known["charged"] == EXTRACTION + ASSESSMENT
        await fail_for_good(world)
        everywhere = await world.find(*WORDS_OF_THE_ARTICLE)
        assert everywhere, "the request is kept for a day"
        unread = await world.find(UNREADABLE)
        assert len(unread) == 1, unread
        assert everywhere == unread == [WORDS], (everywhere, unread)
        elsewhere = set(await world.find(WRONG)) - {WORDS}
        assert not [where for where in elsewhere if where.startswith(("stream", "logs", "process"))]

        words = (*WORDS_OF_THE_ARTICLE, UNREADABLE, WRONG)
        backup = await restored(world, tmp_path / "at once")
        assert "job.extracted" in backup["stream JOBS"], "the backup holds the job"
        assert "job.requested" in backup[f"stream {DEAD.name}"], "and the dead letter"
        assert [where for where, text in backup.items() if any(word in text for word in words)] == []

        await world.wait(DAY)
        assert await world.find(*WORDS_OF_THE_ARTICLE, UNREADABLE) == []
        assert await world.find(WRONG), "an analysis lives for 90 days"
        await require_expired(world, job)
        again = await audit(world, WRONG)
        assert again["charged"] == EXTRACTION + ASSESSMENT, "what was extracted has expired, the analysis has not"
        assert [each["cache_hit"] for each in again["result"]["claims"]] == [True]
        backup = await restored(world, tmp_path / "a day later")
        assert [where for where, text in backup.items() if any(word in text for word in words)] == []

        await world.wait(QUARTER)
        assert await world.find(*words) == []
        await world.end_curator()
        found = await read_everything(world.system, world.oracle)
        assert not found[WORDS]
        before = {where: text for where, text in found.items() if where.startswith("table readmodel.")}
        assert len(before["table readmodel.job"]) > 0
        assert len(before["table readmodel.analysis"]) > 0
        rebuilt = await world.system.run("projector", "rebuild")
        assert rebuilt.code == 0, rebuilt.err
        await world.oracle.settled(only_projector=True)
        found = await read_everything(world.system, world.oracle)
        after = {where: text for where, text in found.items() if where.startswith("table readmodel.")}
        assert {name: sorted(text.splitlines()) for name, text in after.items()} == {
            name: sorted(text.splitlines()) for name, text in before.items()
        }
        await require_expired(world, job)
        last = await audit(world, WRONG)
        assert last["charged"] == EXTRACTION + ANALYSIS + ASSESSMENT, "nothing is left"
        assert [each["cache_hit"] for each in last["result"]["claims"]] == [False]
