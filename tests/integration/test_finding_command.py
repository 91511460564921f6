"""`openerrata finding` over a real broker and database: what an operator types, sees, and cannot do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import pytest

from contracts.topology import ERRATA
from contracts.v1 import BreakerChanged, FindingChanged
from kit.bus import Bus
from kit.database import Database
from kit.history import read_history
from kit.pages import read_last_sequence
from services.commands.breaker import limit_unknown
from services.curator.record.volumes import SqlVolumes
from tests.support.forked import Forked, without_blobs
from tests.support.gateway import Running, migrated, serving
from tests.support.public_record import Article, Finding
from tests.support.published_finding import Published, run_of
from tests.support.servers import Prepare

pytest_plugins = ["tests.support.servers"]

QUOTE: Final = "Bats are blind."
ARTICLE: Final = Article("en:1", f"{QUOTE} They fly.", Finding(QUOTE, "Bats see."), title="Bats")
LATER: Final = Article("en:1", f"{QUOTE} They fly at night.", Finding(QUOTE, "Bats see well."), title="Bats")
CLAIM: Final = str(ARTICLE.claim(0)[0])
NEWER: Final = Article("en:2", f"{QUOTE} Moles too.", Finding(QUOTE, "Bats see."), title="Moles")

Run = Callable[..., Coroutine[Any, Any, tuple[int, str]]]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.fixture
async def running(nats_url: str, database_url: str) -> AsyncIterator[Running]:
    async with serving(nats_url, database_url) as found:
        told = Published(found, database_url)
        await told.tell(*run_of(ARTICLE), *run_of(LATER))
        yield found


@pytest.fixture
def run(nats_url: str, database_url: str, tmp_path: Path) -> Run:
    environment = without_blobs(nats_url, database_url)

    async def started(*arguments: str) -> tuple[int, str]:
        out = tmp_path / uuid4().hex
        process = Forked(("finding", *arguments), tmp_path, environment, out, out)
        code = await asyncio.to_thread(process.wait, 60)
        return code, out.read_text().strip()

    return started


async def changes(bus: Bus) -> list[FindingChanged]:
    """What the log holds of the finding."""
    facts = await read_history(bus, CLAIM)
    return [fact.event for fact in facts if isinstance(fact.event, FindingChanged)]


async def test_an_operator_suspends_releases_and_retracts(running: Running, run: Run) -> None:
    bus = running.host.bus
    code, shown = await run("suspend", CLAIM, "--note", "  A source is\n checked again. ")
    assert (code, shown.splitlines()) == (
        0,
        [
            "suspended; pages, feeds and readers follow within a minute",
            "other results about this post show the same sentence as wrong; each is a finding of its own:",
            f"  {LATER.claim(0)[0]}",
        ],
    )
    code, shown = await run("suspend", CLAIM, "--note", "Again.")
    assert (code, shown.splitlines()[0]) == (0, "nothing changed: it is SUSPENDED already")
    code, shown = await run("release", CLAIM, "--note", "It was right.")
    assert code == 1
    assert shown.startswith("Error: a suspension lasts 24 hours; it can be released after ")
    assert [event.note for event in await changes(bus)] == ["A source is checked again."], "nothing else was stored"
    code, shown = await run("release", CLAIM, "--note", "Another finding was meant.", "--mistake")
    assert (code, shown) == (0, "released; it is shown again; pages, feeds and readers follow within a minute")
    assert (await run("retract", CLAIM, "--note", "The source is about moles."))[0] == 0
    code, shown = await run("release", CLAIM, "--note", "No.", "--mistake")
    assert code == 1
    assert "final" in shown
    assert [(event.state, event.mistake) for event in await changes(bus)] == [
        ("SUSPENDED", False),
        ("RELEASED", True),
        ("RETRACTED", False),
    ]
    code, shown = await run("show", CLAIM)
    lines = shown.splitlines()
    assert (code, lines[:4]) == (
        0,
        [
            f"sentence   {QUOTE}",
            "finding    Bats see.",
            f"page       /investigations/{ARTICLE.investigation_id}",
            "state      RETRACTED",
        ],
    )
    assert lines[5].endswith("  RELEASED (OPERATOR, the suspension was a mistake): Another finding was meant.")
    assert lines[6].endswith("  RETRACTED (OPERATOR): The source is about moles.")


async def test_bad_input_changes_nothing_and_says_what_to_do(running: Running, run: Run) -> None:
    for arguments, code, words in (
        (("retract", CLAIM), 2, "--note"),
        (("retract", CLAIM, "--note", " "), 2, "must be a sentence of 1 to 500 characters"),
        (("retract", CLAIM, "--note", "x" * 501), 2, "must be a sentence of 1 to 500 characters"),
        (("retract", "no-id", "--note", "It is wrong."), 2, "is not a valid UUID"),
        (("retract", str(UUID(int=7)), "--note", "It is wrong."), 1, "no published finding has the id"),
        (("show", str(ARTICLE.investigation_id)), 1, "/investigations/ID.json shows those of an investigation"),
    ):
        ended, shown = await run(*arguments)
        assert (ended, shown.count("\n")) == (code, 0), shown
        assert words in shown
    assert await changes(running.host.bus) == []


async def test_nothing_is_released_while_a_breaker_stops_it(running: Running, run: Run, database_url: str) -> None:
    await run("suspend", CLAIM, "--note", "It was doubted.")
    await Published(running, database_url).tell(
        BreakerChanged(scope="ALL", state="OPEN", trigger="EVIDENCE", numbers="3 of 50", by="curator")
    )
    refused = (1, "Error: a breaker stops it; see `openerrata breaker show`")
    assert await run("release", CLAIM, "--note", "It is right.", "--mistake") == refused
    opened = await read_last_sequence(running.host.bus, ERRATA.name)
    await Published(running, database_url).tell(
        BreakerChanged(follows=opened, scope="ALL", state="HALF_OPEN", cause="An outage.", by="A")
    )
    assert await run("release", CLAIM, "--note", "It is right.", "--mistake") == refused, "its trial is not over"
    assert [change.state for change in await changes(running.host.bus)] == ["SUSPENDED"]


async def test_while_new_findings_are_stopped_only_older_ones_are_released(
    running: Running, run: Run, database_url: str
) -> None:
    stops = BreakerChanged(scope="NEW", state="OPEN", trigger="NO_NOTE", numbers="none for an hour", by="curator")
    await Published(running, database_url).tell(stops, *run_of(NEWER))
    new = str(NEWER.claim(0)[0])
    for claim in (new, CLAIM):
        await run("suspend", claim, "--note", "It was doubted.")
    code, said = await run("release", new, "--note", "It is right.", "--mistake")
    assert (code, said) == (1, "Error: a breaker stops it; see `openerrata breaker show`")
    assert (await run("release", CLAIM, "--note", "It is right.", "--mistake"))[0] == 0


async def test_nothing_is_released_that_its_variants_quota_leaves_no_place_for(
    running: Running, run: Run, database_url: str
) -> None:
    now, later = datetime.now(UTC), str(LATER.claim(0)[0])
    curator = Database(database_url, role="curator")
    (unknown,) = await SqlVolumes(curator).unknown(now)
    await curator.close()
    limited = limit_unknown(unknown, through=0, why="It is clean.", by="A", now=now - timedelta(days=1))
    await run("suspend", later, "--note", "It was doubted.")
    await Published(running, database_url).tell(limited.model_copy(update={"quota": 1}))
    code, said = await run("release", later, "--note", "It is right.", "--mistake")
    assert (code, said) == (
        1,
        "Error: its variant shows 1 finding a day, and as many of that day stand; see `openerrata variant show`",
    )
    await run("suspend", CLAIM, "--note", "It was doubted.")
    await Published(running, database_url).tell()  # nothing more; the tables then hold all
    assert (await run("release", later, "--note", "It is right.", "--mistake"))[0] == 0
