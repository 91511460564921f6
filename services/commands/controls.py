"""`openerrata controls`: posts in which nothing is wrong, committed to before they run and opened after."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import click

from contracts.v1 import ControlCommitted, ControlOpened
from contracts.v1.control import MOST_CONTROLS, OpenedControl
from kit.bus import Bus
from kit.clock import Clock, SystemClock
from kit.database import Database
from kit.settings import load
from services.commands.database import run_on_tables
from services.commands.reviews.samples import wait_for_projection
from services.commands.shared import Group, as_message, on_servers
from services.curator.controls import BadList, ControlList, ControlLists, draw_salts
from services.curator.record.controls import Batch, ControlState, SqlControls
from services.curator.settings import CuratorSettings


@click.group(cls=Group)
def command() -> None:
    """Have posts in which nothing is wrong checked among others: a finding on one of them is a false flag.

    Only the curator knows the posts of a list until it is opened; the log has the list's hash before any of them runs.
    Results of controls are not published. Run this as the curator's user, with OPENERRATA_CURATOR_CONTROLS.

    \b
    openerrata controls commit controls.csv
    openerrata controls show
    openerrata controls open 6a1f0c7e-4a11-5b1f-9d7c-8d2b5b1f6a52
    """


@command.command(name="commit")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--days", type=click.IntRange(1, 400), default=30, show_default=True, help="No run begins after this many days."
)
@on_servers
def commit_(file: Path, days: int, data_dir: Path) -> None:
    """Commit to the posts of FILE, a CSV whose column `version` has the ids of versions that people reviewed.

    The curator requests some of them each day. The same file again changes nothing until its list is open.
    """

    click.echo(
        run_on_tables(
            data_dir,
            lambda bus, database: commit(bus, database, SystemClock(), _open_lists(), read_versions(file), days),
        )
    )


@command.command(name="open")
@click.argument("batch", type=click.UUID)
@on_servers
def open_(batch: UUID, data_dir: Path) -> None:
    """Publish a list with the outcome of each post, once all of them have run or its time is over.

    BATCH is its id, as `show` and `commit` print it.
    """

    click.echo(
        run_on_tables(data_dir, lambda bus, database: open_list(bus, database, SystemClock(), _open_lists(), batch))
    )


@command.command()
@on_servers
def show(data_dir: Path) -> None:
    """Show every list: its size, how many of its posts have run, and how many were flagged."""

    async def work(bus: Bus, database: Database) -> list[str]:
        record = SqlControls(database)
        return [_describe(each, await record.runs(each.id)) for each in await record.batches()]

    lines = run_on_tables(data_dir, work)
    for line in lines or ["no list of controls was committed to"]:
        click.echo(line)


def read_versions(file: Path) -> Sequence[UUID]:
    """The versions of a sheet. Raises: click.ClickException: it cannot be read, or a line is wrong."""
    try:
        reader = csv.DictReader(io.StringIO(file.read_bytes().decode("utf-8-sig"), newline=""), strict=True)
        if "version" not in (reader.fieldnames or ()):
            raise click.ClickException(f"{file}: line 1: there is no column version")
        found: dict[UUID, int] = {}
        for row in reader:
            line, value = reader.line_num, (row["version"] or "").strip()
            version = UUID(value)
            if version in found:
                raise click.ClickException(f"{file}: line {line}: {version} is in line {found[version]} too")
            found[version] = line
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not CSV in UTF-8"
        raise click.ClickException(f"{file}: {reason}") from error
    except ValueError:
        raise click.ClickException(f"{file}: line {line}: {value!r} is not a version's id") from None
    if not 1 <= len(found) <= MOST_CONTROLS:
        raise click.ClickException(f"{file}: a list has 1 to {MOST_CONTROLS} posts")
    return list(found)


async def commit(
    bus: Bus, database: Database, clock: Clock, lists: ControlLists, versions: Sequence[UUID], days: int
) -> str:
    """Store the list, then commit to it; returns the message.

    Raises: click.ClickException: a version is unknown or was a control before; nothing changes.
    """
    await wait_for_projection(bus, database)
    record = SqlControls(database)
    opened = {each.id for each in await record.batches() if each.opened_at is not None}
    kept = [each for each in _read_lists(lists) if each.batch_id not in opened]
    wanted = set(versions)
    controls = next((each for each in kept if {one.version_id for one in each.controls} == wanted), None)
    if controls is None:
        await _refuse_unfit(record, kept, wanted)
        posts = await record.posts(wanted)
        if missing := wanted - posts.keys():
            raise click.ClickException(f"no version has the id {min(missing)}; see `versions` of an export")
        controls = draw_salts((version, posts[version]) for version in versions)
        lists.write(controls)
    closes_at = clock.now() + timedelta(days=days)
    event = ControlCommitted(commitment=controls.commitment, size=len(controls.controls), closes_at=closes_at)
    if not await bus.publish_if_first(event, clock.new_id()):
        return f"nothing changed: the list is committed to as {event.batch_id}"
    return f"{event.size} controls committed to as {event.batch_id}; none begins after {closes_at:%Y-%m-%d %H:%M} UTC"


async def _refuse_unfit(record: SqlControls, kept: Sequence[ControlList], wanted: Collection[UUID]) -> None:
    used = {*await record.used(wanted), *(one.version_id for each in kept for one in each.controls)} & set(wanted)
    if used:
        raise click.ClickException(f"{min(used)} is or was a control of another list")


async def open_list(bus: Bus, database: Database, clock: Clock, lists: ControlLists, batch: UUID) -> str:
    """Publish a list; returns the message. Raises: click.ClickException: it is not here, or its runs are not over."""
    await wait_for_projection(bus, database)
    record = SqlControls(database)
    known = next((each for each in await record.batches() if each.id == batch), None)
    with as_message(BadList, OSError):
        controls = lists.read(batch)
    if known is None or controls is None:
        raise click.ClickException(f"no list {batch} is {'committed to' if known is None else 'in the folder'}")
    if known.opened_at is not None:
        return "nothing changed: it is open"
    outcomes = {each.version_id: each.outcome for each in await record.runs(batch)}
    left = sum(outcomes.get(each.version_id, "PENDING") == "PENDING" for each in controls.controls)
    if left and (known.may_begin(clock.now()) or "PENDING" in outcomes.values()):
        ends = f"{known.closes_at:%Y-%m-%d %H:%M} UTC"
        raise click.ClickException(f"{left} of {known.size} have not run; it closes {ends}")
    opened = ControlOpened(
        batch_id=batch,
        controls=tuple(
            OpenedControl.model_validate(
                {**each.model_dump(exclude={"post_id"}), "outcome": outcomes.get(each.version_id, "NOT_RUN")}
            )
            for each in controls.controls
        ),
    )
    if not await bus.publish_if_first(opened, clock.new_id()):
        return "nothing changed: it is open"
    return _count(list(outcomes.values()), known.size)


def _open_lists() -> ControlLists:
    folder = load(CuratorSettings).controls
    if folder is None:
        raise click.ClickException(
            "set OPENERRATA_CURATOR_CONTROLS to the same folder for this command and the curator"
        )
    return ControlLists(folder)


def _read_lists(lists: ControlLists) -> Sequence[ControlList]:
    with as_message(BadList, OSError):
        return lists.read_all()


def _describe(batch: Batch, runs: Sequence[ControlState]) -> str:
    state = "open" if batch.opened_at is not None else f"closes {batch.closes_at:%Y-%m-%d}"
    return f"{batch.id}  {state}  {_count([each.outcome for each in runs], batch.size)}"


def _count(outcomes: Sequence[str], size: int) -> str:
    ran = sum(each in ("CLEAN", "FLAGGED") for each in outcomes)
    return f"{ran} of {size} have run, {outcomes.count('FLAGGED')} were flagged"
