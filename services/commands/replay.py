"""`openerrata replay`: facts of the past to one consumer again, or all of them into a shadow of the read model."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import click
from sqlalchemy import select

from analyses import FLAGGING
from contracts.readmodel import post, post_version
from contracts.topology import CONSUMERS, Consumer
from kit.blobs import Blobs
from kit.bus import BusError, connect
from kit.clock import SystemClock
from kit.database import Database, migrate
from kit.replay import Chosen, Pace, Selection, chosen, deliver
from kit.settings import load
from kit.surroundings import Surroundings
from services.commands.shared import data_dir_option, plain_errors, run, servers
from services.projector.adapters import BlobTexts
from services.projector.chain import LedgerBroken
from services.projector.settings import ProjectorSettings
from services.projector.shadow import Difference, shadow

SHOWN = 5
NAMES = [each.name for each in CONSUMERS]
MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]


@click.command()
@click.option("--to", "name", type=click.Choice(NAMES), help="The one consumer to deliver to.")
@click.option("--shadow", "into_shadow", is_flag=True, help="Build a second read model and compare it with the live.")
@click.option("--since", type=click.DateTime(MOMENTS), help="Stored at this moment or later; UTC unless it says else.")
@click.option("--until", type=click.DateTime(MOMENTS), help="Stored before this moment.")
@click.option("--platform", help="Only facts about posts of this site, such as WIKIPEDIA.")
@click.option("--aggregate", type=click.UUID, help="Only facts that name this observation, version, post, …")
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="At most so many facts a second.")
@click.option("--go", is_flag=True, help="Deliver; without it, only say what would be.")
@data_dir_option
@plain_errors
def command(
    name: str | None,
    into_shadow: bool,
    since: datetime | None,
    until: datetime | None,
    platform: str | None,
    aggregate: UUID | None,
    rate: float | None,
    go: bool,
    data_dir: Path,
) -> None:
    """Deliver facts to one consumer once more, or compare what the log means today with the live tables.

    Without --go nothing is delivered: the matching facts are counted. --shadow always replays everything, because the
    tables of a part would differ from the live ones; exit status 1 if they differ.

    \b
    openerrata replay --to ingest-observation-received --since 2026-03-01 --rate 50 --go
    openerrata replay --shadow
    """
    if into_shadow == bool(name):
        raise click.UsageError("give either --to CONSUMER or --shadow")
    selection = Selection(_utc(since), _utc(until), platform, aggregate)
    if into_shadow:
        if selection != Selection() or rate or go:
            raise click.UsageError("--shadow replays everything: it takes no filter, no --rate and no --go")
        with servers(data_dir, quieter="error") as found:
            _shadow(found)
        return
    consumer = next(each for each in CONSUMERS if each.name == name)
    with servers(data_dir, quieter="error") as found:
        try:
            counted = run(_replay(found, consumer, selection, rate, go=go))
        except BusError as error:
            raise click.ClickException(f"{error}; what was delivered is, the rest is not") from error
    for line in counted:
        click.echo(line)
    if not go:
        click.echo("nothing was delivered; add --go to do it", err=True)


async def _replay(
    found: Surroundings, consumer: Consumer, selection: Selection, rate: float | None, *, go: bool
) -> list[str]:
    if selection.platform is not None:
        selection = Selection(
            selection.since, selection.until, selection.platform, selection.aggregate, await _platforms(found)
        )
    count, first, last = 0, None, None
    days: Counter[str] = Counter()
    pace, replay_id = Pace(rate), str(SystemClock().new_id())
    async with connect(found.nats_url, name="openerrata-replay") as bus:
        async for fact in chosen(bus, consumer, selection):
            if go:
                await pace.wait()
                await deliver(bus, consumer, fact, replay_id)
            count += 1
            first, last = first or fact, fact
            days[f"{fact.record.time:%Y-%m-%d}"] += 1
    return _summary(consumer, count, first, last, days, go=go)


def _summary(
    consumer: Consumer, count: int, first: Chosen | None, last: Chosen | None, days: Counter[str], *, go: bool
) -> list[str]:
    lines = [f"{'delivered' if go else 'would deliver'} {count:,} facts to {consumer.name}"]
    if first is not None and last is not None:
        lines += [f"  {label} {each.record.sequence:>10,}  {each.record.time:%Y-%m-%d %H:%M:%S}  {each.record.subject}"
                  for label, each in (("first", first), ("last ", last))]  # fmt: skip
        lines += [f"  {day}  {number:>10,}" for day, number in sorted(days.items())]
    return lines


async def _platforms(found: Surroundings) -> dict[UUID, str]:
    """Which site every post and version is of, for facts that do not say."""
    database = Database(found.database_url, role="reader")
    try:
        async with database.connect() as connection:
            posts = {row.id: row.platform for row in await connection.execute(select(post.c.id, post.c.platform))}
            rows = await connection.execute(select(post_version.c.id, post_version.c.post_id))
            return posts | {row.id: posts[row.post_id] for row in rows if row.post_id in posts}
    finally:
        await database.close()


def _shadow(found: Surroundings) -> None:
    try:
        differences = run(_build_shadow(found))
    except LedgerBroken as error:
        raise click.ClickException(f"{error}; see `openerrata ledger verify`") from error
    for each in differences:
        click.echo(f"{each.table}: {each.only_live:,} rows only live, {each.only_shadow:,} only in the shadow")
        for side, rows in (("live  ", each.live), ("shadow", each.shadow)):
            for row in rows[:SHOWN]:
                click.echo(f"  {side} {row[:300]}")
    if differences:
        click.echo("the live tables are not what the log means today: `openerrata projector rebuild`", err=True)
        sys.exit(1)
    click.echo("the live tables are what the log means")


async def _build_shadow(found: Surroundings) -> list[Difference]:
    await migrate(found.database_url)
    blobs = Blobs(found.blobs)
    try:
        return await shadow(
            found.database_url,
            BlobTexts(blobs),
            analyses=[kind.name for kind in FLAGGING],
            view_rules=load(ProjectorSettings).view_rules,
        )
    finally:
        blobs.close()


def _utc(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
