"""Two curators as they are started: one leads, an overdue job ends once, and what has expired is deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from contracts.topology import JOBS, LEADERS
from contracts.v1 import ClaimApproved, ClaimHoldEnded, JobEnded, RetentionPurged
from kit import topology
from kit.bus import connect
from kit.database import migrate
from kit.ephemeral import EphemeralTexts, TextBucket
from kit.history import read_history, read_latest
from kit.host import Host
from kit.kv import Bucket
from kit.servers_in_use import find_servers
from kit.settings import Infrastructure, load
from services.commands.process import Plan, assemble
from tests.support.audits import asked
from tests.support.factories import held
from tests.support.fakes import StillClock
from tests.support.system import GivenServers, until

PLAN = Plan(("curator",))


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with GivenServers(tmp_path / "given") as servers:
        asyncio.run(migrate(servers.settings["OPENERRATA_DATABASE_URL"]))
        for name, value in servers.settings.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("OPENERRATA_CURATOR_SWEEP_S", "0.2")
        yield


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Host]:
    """One curator at work."""
    stop = asyncio.Event()
    with find_servers(load(Infrastructure), folder, start=False, needs=PLAN.servers) as found:
        async with assemble(PLAN, found) as host:
            working = asyncio.create_task(host.run(stop))
            try:
                yield host
            finally:
                stop.set()
                await working


@pytest.mark.requirement("FH-171")
@pytest.mark.usefixtures("given")
async def test_one_of_two_curators_does_what_time_demands(tmp_path: Path) -> None:
    """FH-171: Overdue jobs fail and release their credit.

    The reservation is released by the fold of jobs, see test_curator.py.
    """
    now = datetime.now(UTC)
    overdue = asked(uuid4(), cache_only=True).model_copy(update={"deadline_at": now})
    later = asked(uuid4(), cache_only=True).model_copy(update={"deadline_at": now + timedelta(hours=1)})
    async with connect(load(Infrastructure).nats_url or "", name="test") as bus, AsyncExitStack() as stack:
        await topology.apply(bus)
        for request in (overdue, later):
            await bus.publish(request, correlation=uuid4())
        for _ in range(2):
            await stack.enter_async_context(running(tmp_path))
        store = TextBucket(bus)
        texts = EphemeralTexts(store, StillClock(now))
        gone = await texts.put("So they said.", now - timedelta(hours=2))
        kept = await texts.put("So they say.", now + timedelta(hours=2))

        async def ended() -> bool:
            return bool(await read_latest(bus, f"{JobEnded.SUBJECT}.{overdue.job_id}", stream=JOBS))

        async def swept() -> bool:
            return await store.get(gone.name) is None

        await until(ended, "the overdue job has ended")
        await until(swept, "expired words are deleted")
        assert await (await Bucket.open(bus, LEADERS)).get("curator") is not None
        ends = [each.event for each in await read_history(bus, str(overdue.job_id), stream=JOBS)][1:]
        assert [(each.code, each.outcome) for each in ends if isinstance(each, JobEnded)] == [
            ("DEADLINE_EXCEEDED", "FAILED")
        ]
        assert await read_latest(bus, f"{JobEnded.SUBJECT}.{later.job_id}", stream=JOBS) == []
        assert await store.get(kept.name) is not None
        info = await bus.jetstream.stream_info(JOBS.name, subjects_filter=f"{RetentionPurged.SUBJECT}.>")
        assert 1 <= len(info.state.subjects or {}) <= 2, "one fact an hour, however often it sweeps"


@pytest.mark.usefixtures("given")
async def test_a_held_claim_waits_in_the_broker_and_its_verdict_is_published_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENERRATA_DISPLAY_MEDIUM_S", "0.5")
    claim = held().model_copy(update={"held_at": datetime.now(UTC)})
    async with connect(load(Infrastructure).nats_url or "", name="test") as bus, AsyncExitStack() as stack:
        await topology.apply(bus)
        await bus.publish(claim, correlation=uuid4())
        for _ in range(2):
            await stack.enter_async_context(running(tmp_path))

        async def released() -> bool:
            return bool(await read_latest(bus, f"{ClaimApproved.SUBJECT}.{claim.investigation_id}"))

        await until(released, "its hold is over")
        facts = [each.event for each in await read_history(bus, str(claim.investigation_id))]
        assert facts == [claim, claim.approval]
        (end,) = await read_history(bus, str(claim.claim_id))
        assert isinstance(end.event, ClaimHoldEnded)
        assert (end.event.state, end.event.views_a_day) == ("RELEASED", None)
        assert end.envelope.occurred_at - claim.held_at >= timedelta(seconds=0.5)
