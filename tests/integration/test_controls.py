"""Controls over real servers: committed to before they run, hidden from readers, opened after."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest

from contracts.topology import ERRATA
from contracts.v1 import ControlCommitted, ControlOpened, InvestigationRequested, decode
from contracts.v1.control import commit_to
from kit.bus import Bus
from kit.database import Database
from kit.pages import read_page
from services.commands.controls import commit, open_list, read_versions
from services.commands.export.run import export
from services.commands.reviews.samples import wait_for_projection
from services.curator.adapters import EventLog
from services.curator.controls import BadList, ControlLists, ControlRuns
from services.curator.record.controls import SqlControls
from tests.support.fakes import StillClock
from tests.support.gateway import Running, migrated, serving
from tests.support.public_record import Article, Finding
from tests.support.servers import Prepare
from tests.support.site_client import client_of
from tests.support.site_server import pages_of

pytest_plugins = ["tests.support.servers"]

POSTS = tuple(
    Article(f"en:9{n}", f"The number {n} is a number.", Finding(f"The number {n} is a number.", "It is not."))
    for n in range(3)
)


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.fixture
async def running(nats_url: str, database_url: str) -> AsyncIterator[Running]:
    async with serving(nats_url, database_url) as found:
        yield found


async def facts(bus: Bus, *subjects: str) -> list[tuple[int, object]]:
    page = await read_page(bus, ERRATA.name, subjects, after=0, limit=1_000)
    return [(each.sequence, decode(each.subject, each.data).event) for each in page.messages]


async def exported(reader: Database, folder: Path) -> int:
    """How many controls an export names."""
    (part,) = (await export(reader, folder, "jsonl"))["parts"]
    return next(file["rows"] for file in part["files"] if file["table"] == "controls")


@pytest.mark.requirement("TR-43")
async def test_controls_are_committed_to_hidden_and_opened(running: Running, database_url: str, tmp_path: Path) -> None:
    """TR-43: Controls are committed to before they run, and their prompts are those of ordinary posts to the byte."""
    bus, clock, lists = running.host.bus, StillClock(datetime.now(UTC)), ControlLists(tmp_path / "controls")
    curator, reader = Database(database_url, role="curator"), Database(database_url, role="reader")
    record = SqlControls(curator)
    duty = ControlRuns(lists, record, EventLog(bus), clock, a_day=2)

    async def settle() -> None:
        await wait_for_projection(bus, reader)

    for post in POSTS:
        await running.tell(post.registered())
    versions = [post.version_id for post in POSTS]
    with pytest.raises(click.ClickException, match="no version has the id"):
        await commit(bus, reader, clock, lists, [*versions, Article("en:0", "Nowhere.").version_id], 30)
    assert not list((tmp_path / "controls").glob("*")), "what is refused changes nothing"
    assert "3 controls committed to" in await commit(bus, reader, clock, lists, versions, 30)
    assert "nothing changed" in await commit(bus, reader, clock, lists, versions[::-1], 30)
    with pytest.raises(click.ClickException, match="is or was a control of another list"):
        await commit(bus, reader, clock, lists, versions[:1], 30)
    (file,) = (tmp_path / "controls").iterdir()
    assert file.stat().st_mode & 0o077 == 0, "only the curator's user can read it"

    await settle()
    assert await duty.run_once() == 2
    await settle()
    assert await duty.run_once() == 0, "no more than two in 24 hours"
    clock.time += timedelta(days=30)
    assert await duty.run_once() == 0, "the list is closed"
    clock.time -= timedelta(days=30)
    clock.time += timedelta(days=1, minutes=1)
    assert await duty.run_once() == 1
    await settle()
    requests = await facts(bus, f"{InvestigationRequested.SUBJECT}.*")
    (committed,) = await facts(bus, f"{ControlCommitted.SUBJECT}.*")
    assert len(requests) == 3
    assert all(sequence > committed[0] for sequence, _ in requests)

    by_version = {post.version_id: post for post in POSTS}
    (batch,) = await record.batches()
    with pytest.raises(click.ClickException, match="3 of 3 have not run"):
        await open_list(bus, reader, clock, lists, batch.id)
    for place, (_, event) in enumerate(requests):
        assert isinstance(event, InvestigationRequested)
        control = by_version[event.version_id].checked_again("CONTROL", batch.id)
        run = control.run()
        await running.tell(*(run[1:] if place == 0 else (control.started(), control.drafted(), control.completed())))
    await settle()
    assert await exported(reader, tmp_path / "before") == 0, "which posts are controls is not public yet"
    async with pages_of(database_url, clock.now()) as router, client_of(router) as client:
        for _, event in requests:
            assert isinstance(event, InvestigationRequested)
            assert (await client.get(f"/investigations/{event.investigation_id}")).status_code == 404
        for path in ("/", "/feed.xml", "/corrections"):
            assert "is a number" not in (await client.get(path)).text

    assert await open_list(bus, reader, clock, lists, batch.id) == "3 of 3 have run, 1 were flagged"
    await settle()
    assert await exported(reader, tmp_path / "after") == 3
    assert "nothing changed" in await open_list(bus, reader, clock, lists, batch.id)
    ((_, opened),) = await facts(bus, f"{ControlOpened.SUBJECT}.*")
    assert isinstance(opened, ControlOpened)
    assert isinstance(committed[1], ControlCommitted)
    assert commit_to((each.version_id, each.salt) for each in opened.controls) == committed[1].commitment
    assert sorted(each.outcome for each in opened.controls) == ["CLEAN", "CLEAN", "FLAGGED"]
    await curator.close()
    await reader.close()


async def test_a_list_whose_time_is_over_says_which_of_its_posts_never_ran(
    running: Running, database_url: str, tmp_path: Path
) -> None:
    bus, clock, lists = running.host.bus, StillClock(datetime.now(UTC)), ControlLists(tmp_path / "controls")
    reader = Database(database_url, role="reader")
    await running.tell(POSTS[0].registered())
    await commit(bus, reader, clock, lists, [POSTS[0].version_id], 30)
    await wait_for_projection(bus, reader)
    (batch,) = await SqlControls(reader).batches()
    clock.time += timedelta(days=31)
    assert await open_list(bus, reader, clock, lists, batch.id) == "0 of 1 have run, 0 were flagged"
    ((_, opened),) = await facts(bus, f"{ControlOpened.SUBJECT}.*")
    assert isinstance(opened, ControlOpened)
    assert [each.outcome for each in opened.controls] == ["NOT_RUN"]
    await reader.close()


def test_an_altered_list_is_refused(tmp_path: Path) -> None:
    from services.curator.controls import draw_salts

    lists = ControlLists(tmp_path)
    controls = draw_salts([(POSTS[0].version_id, POSTS[0].post_id)])
    lists.write(controls)
    assert lists.read(controls.batch_id) == controls
    (file,) = tmp_path.iterdir()
    file.write_text(draw_salts([(POSTS[0].version_id, POSTS[0].post_id)]).model_dump_json())
    with pytest.raises(BadList, match="does not match its commitment"):
        lists.read(controls.batch_id)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("claim\nx\n", "no column version"),
        ("version\nx\n", "line 2: 'x' is not a version's id"),
        (f"version\n{POSTS[0].version_id}\n{POSTS[0].version_id}\n", "is in line 2 too"),
        ("version\n", "a list has 1 to 500 posts"),
        ("\xff", "no column version"),
    ],
)
def test_a_sheet_is_read_strictly(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "controls.csv"
    file.write_text(text)
    with pytest.raises(click.ClickException, match=said):
        read_versions(file)
