"""What an operator sees and changes of jobs and credit, over a real broker."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from uuid import UUID, uuid4

import click
import pytest

from contracts.jobs.ids import format_job_id
from contracts.topology import JOBS
from contracts.v1 import CreditPosted, JobEnded, RunStarted
from contracts.v1.ids import step_run_id
from kit import topology
from kit.bus import Bus, connect
from kit.clock import SystemClock
from kit.database import Database
from kit.ephemeral import EphemeralTexts
from kit.history import read_history
from lifecycle.audits.credits import Terms
from lifecycle.audits.runs import EXTRACT
from lifecycle.audits.words import article_folder, run_folder
from services.commands.account_rows import add_account
from services.commands.credit import Owner, adjust_credit, find_owner, read_period, render_adjustment
from services.commands.job import cancel_job, describe, forget_job, load_job, render
from tests.support.audits import ACCOUNT, LIMIT, MONTH, PERIOD, asked, hash_of, reserved
from tests.support.concluding_jobs import ended, extracted, failed, fetched, planned, requested_analysis
from tests.support.fakes import StillClock
from tests.support.forked import Forked, without_blobs
from tests.support.gateway import migrated
from tests.support.mortal import Store
from tests.support.servers import Prepare

pytest_plugins = ["tests.support.delivering", "tests.support.servers"]

JOB = UUID("019ad5c1-7c00-7000-8000-000000000001")
RUN = UUID(int=100)
ALICE = Owner(ACCOUNT, "alice", Terms(LIMIT, hard=True, max_open_jobs=5))


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


def begun() -> RunStarted:
    return RunStarted(
        run_id=step_run_id(JOB, EXTRACT),
        step=EXTRACT,
        subject_id=JOB,
        attempt=1,
        worker="auditor-1",
        delivery_count=1,
        prompt_version="p-1",
        prompt_sha256=hash_of("prompt"),
        provider="demo",
        model="demo",
        rules="r-1",
    )


async def publish_job(bus: Bus) -> None:
    """A job that waits for one claim."""
    for event in (reserved(JOB), asked(JOB), fetched(JOB), begun(), extracted(JOB, RUN), planned(JOB, RUN)):
        await bus.publish(event, correlation=uuid4())


async def test_credit_is_given_back_and_charged_beside_rivals(bus: Bus) -> None:
    await bus.publish(reserved(JOB), correlation=uuid4())
    clock = SystemClock()
    await adjust_credit(bus, ALICE, MONTH, 5_000_000, clock)
    await asyncio.gather(*(adjust_credit(bus, ALICE, MONTH, -1_000_000, clock) for _ in range(3)))
    period = await read_period(bus, ACCOUNT, MONTH)
    assert (period.used, period.reserved, period.left(LIMIT)) == (2_000_000, 114_000, LIMIT - 2_114_000)
    assert (await adjust_credit(bus, ALICE, MONTH, -9_000_000, clock)).used == 0
    history = [each.event for each in await read_history(bus, str(PERIOD), stream=JOBS)]
    assert [each.entry for each in history if isinstance(each, CreditPosted)] == ["RESERVED"] + ["ADJUSTED"] * 5


async def test_an_adjustment_says_what_it_came_to(bus: Bus) -> None:
    clock = SystemClock()

    async def adjusted(amount: int) -> str:
        return render_adjustment(await adjust_credit(bus, ALICE, MONTH, amount, clock), amount)

    assert await adjusted(3_000_000) == "charged $3.000000"
    assert await adjusted(-1_000_000) == "gave back $1.000000"
    assert await adjusted(-9_000_000) == "gave back $2.000000 instead of $9.000000: no more was used"


async def test_a_month_without_entries_is_whole(bus: Bus) -> None:
    assert (await read_period(bus, ACCOUNT, "2027-03")).left(LIMIT) == LIMIT


async def test_an_account_is_found_by_its_name(database_url: str) -> None:
    operator = Database(database_url, role="operator")
    owner = await add_account(operator, "alice", None, "reader", "enterprise", 200_000_000)
    assert await find_owner(operator, "alice") == Owner(owner, "alice", Terms(200_000_000, False, 20))
    with pytest.raises(click.ClickException, match="no account 'bob'"):
        await find_owner(operator, "bob")
    await operator.close()


def test_an_operator_gives_credit_back_and_charges_it_by_commands(
    nats_url: str, database_url: str, tmp_path: Path
) -> None:
    environment = without_blobs(nats_url, database_url)

    def run(*arguments: str) -> tuple[int, str]:
        out = tmp_path / uuid4().hex
        code = Forked(arguments, tmp_path, environment, out, out).wait(60)
        return code, out.read_text()

    def used(*arguments: str) -> int:
        code, said = run("credit", *arguments, "--json")
        assert code == 0, said
        micro_usd: int = json.loads(said)["used_micro_usd"]
        return micro_usd

    async def apply() -> None:
        async with connect(nats_url, name="test") as bus:
            await topology.apply(bus)

    asyncio.run(apply())
    code, account_id = run("accounts", "add", "alice")
    assert code == 0
    assert used("adjust", "alice", "3", "--charge", "--month", "2026-02") == 3_000_000
    assert used("adjust", "alice", "0.50", "--month", "2026-02") == 2_500_000
    code, said = run("credit", "adjust", "alice", "3", "--charge", "--month", "9999-12")
    assert (code, "is a month that has not begun" in said) == (2, True)
    refused = run("erase", "account", account_id.strip(), "--reason", "mistake")
    assert (refused[0], "first `openerrata accounts close alice --erase`" in refused[1]) == (1, True), (
        "an open account that lost its entries could spend its month again"
    )
    assert (used("show", "alice", "--month", "2026-02"), used("show", "alice", "--month", "2026-01")) == (2_500_000, 0)


async def test_a_job_is_shown_without_its_words(bus: Bus) -> None:
    await publish_job(bus)
    loaded = await load_job(bus, JOB)
    assert render(loaded)[0] == "01KBAW2Z00E008000000000001  RUNNING  CREDIT"
    assert f"C1  OWN  {RUN}" in render(loaded)
    document = json.loads(json.dumps(describe(loaded), default=str))
    assert (document["status"], document["charged_micro_usd"], document["uuid"]) == ("RUNNING", None, str(JOB))
    assert [each["event"] for each in document["facts"]] == [
        f"errata.v1.{name}" for name in ("job.requested", "job.fetched", "run.started", "job.extracted", "job.planned")
    ]


@pytest.mark.parametrize("has_failed", [False, True], ids=["under way", "failed"])
async def test_a_cancelled_job_pays_for_what_was_begun(bus: Bus, has_failed: bool) -> None:
    await publish_job(bus)
    if has_failed:
        await bus.publish(failed(RUN), correlation=uuid4())
    await cancel_job(bus, JOB)
    loaded = await load_job(bus, JOB)
    charged = 3_000 if has_failed else 84_000
    assert isinstance(loaded.job.over, JobEnded)
    assert (loaded.job.over.outcome, loaded.job.over.charged_micro_usd) == ("CANCELED", charged)
    assert (describe(loaded)["charged_micro_usd"], render(loaded)[4]) == (charged, f"charged   $0.{charged:06}")
    with pytest.raises(click.ClickException, match="is over: CANCELED"):
        await cancel_job(bus, JOB)


async def test_a_cancelled_job_pays_for_analyses_that_its_plan_does_not_name_yet(bus: Bus) -> None:
    bought = requested_analysis(RUN, JOB)
    for event in (reserved(JOB), asked(JOB), fetched(JOB), begun(), extracted(JOB, RUN), bought):
        await bus.publish(event, correlation=uuid4())
    await cancel_job(bus, JOB)
    over = (await load_job(bus, JOB)).job.over
    assert over is not None
    assert over.charged_micro_usd == 84_000


async def test_words_are_removed_once_the_job_is_over(bus: Bus) -> None:
    store = Store()
    texts = EphemeralTexts(store, StillClock())
    until = asked(JOB).input.until
    await publish_job(bus)
    for folder in (article_folder(JOB), f"{JOB}/other", f"{run_folder(JOB, EXTRACT)}/first"):
        await texts.put("So they say.", until, folder)
    for ref in (asked(JOB).input, extracted(JOB, RUN).extraction, ended(JOB).result):
        assert ref is not None
        store.objects[ref.name] = b""
    other = await texts.put("So they say.", until, article_folder(UUID(int=9)))
    with pytest.raises(click.ClickException, match="not over"):
        await forget_job(bus, texts, JOB)
    await bus.publish(ended(JOB), correlation=uuid4())
    await forget_job(bus, texts, JOB)
    assert list(store.objects) == [other.name]
    with pytest.raises(click.ClickException, match=f"no job {format_job_id(UUID(int=5))}"):
        await load_job(bus, UUID(int=5))
