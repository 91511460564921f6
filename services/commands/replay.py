"""`openerrata replay`: deliver stored facts to one consumer again, or rebuild a second read model and compare."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import click
from sqlalchemy import select

from analyses import FLAGGING
from contracts.readmodel.posts import post
from contracts.readmodel.versions import post_version
from contracts.topology import CONSUMERS, Consumer
from kit.blobs import Blobs
from kit.bus import connect
from kit.clock import SystemClock
from kit.database import migrate
from kit.ephemeral import TextBucket
from kit.publisher import BusError
from kit.replay import RateLimiter, SelectedFact, Selection, deliver, select_facts
from kit.servers_in_use import Servers
from kit.settings import load
from platforms import PLATFORMS
from services.commands.database import open_database
from services.commands.shared import on_servers, open_servers, run
from services.commands.terminal import clean, format_count, show_progress
from services.projector.adapters import StoredTexts
from services.projector.ledger.chain import LedgerBroken
from services.projector.rebuild.shadow import Difference, shadow
from services.projector.settings import ProjectorSettings

MAX_EXAMPLES = 5
NAMES = [each.name for each in CONSUMERS]
SITES = [each.name for each in PLATFORMS]
TIME_FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]


@click.command()
@click.option("--to", "name", type=click.Choice(NAMES), help="The one consumer to deliver to.")
@click.option("--shadow", "into_shadow", is_flag=True, help="Compare a second read model with the live one.")
@click.option("--since", type=click.DateTime(TIME_FORMATS), help="Stored at this time or later; UTC by default.")
@click.option("--until", type=click.DateTime(TIME_FORMATS), help="Stored before this time.")
@click.option("--platform", type=click.Choice(SITES), help="Only facts about posts of this site.")
@click.option("--aggregate", type=click.UUID, help="Only facts that name this observation, version, post, …")
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="Facts a second, at most.")
@click.option("--go", is_flag=True, help="Deliver; without it, only count.")
@on_servers
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
    """Deliver facts to one consumer again, or compare a fresh projection of the log with the live tables.

    Without --go the matching facts are only counted. --shadow always replays the whole log; exit status 1 if the tables
    differ.

    \b
    openerrata replay --to verifier-observation-received --since 2026-03-01 --rate 50 --go
    openerrata replay --shadow
    """
    if into_shadow == bool(name):
        raise click.UsageError("give either --to CONSUMER or --shadow")
    selection = Selection(_to_utc(since), _to_utc(until), platform, aggregate)
    if selection.since and selection.until and selection.since >= selection.until:
        raise click.UsageError("--since must be before --until")
    if into_shadow:
        if selection != Selection() or rate or go:
            raise click.UsageError("--shadow replays everything: it takes no filter, no --rate and no --go")
        with open_servers(data_dir, quieter="error") as found:
            _compare_with_shadow(found)
        return
    consumer = next(each for each in CONSUMERS if each.name == name)
    with open_servers(data_dir, quieter="error") as found:
        try:
            lines = run(_replay(found, consumer, selection, rate, go=go))
        except BusError as error:
            raise click.ClickException(f"{error}; the facts before it were delivered") from error
    for line in lines:
        click.echo(line)
    if not go:
        click.echo("nothing was delivered; add --go to do it", err=True)


async def _replay(
    found: Servers, consumer: Consumer, selection: Selection, rate: float | None, *, go: bool
) -> list[str]:
    if selection.platform is not None:
        selection = Selection(
            selection.since, selection.until, selection.platform, selection.aggregate, await _read_platforms(found)
        )
    count, first, last = 0, None, None
    days: Counter[str] = Counter()
    pace, replay_id = RateLimiter(rate), str(SystemClock().new_id())
    async with connect(found.nats_url, name="openerrata-replay") as bus:
        async for fact in select_facts(bus, consumer, selection):
            if go:
                await pace.wait()
                await deliver(bus, consumer, fact, replay_id)
            count += 1
            first, last = first or fact, fact
            days[f"{fact.record.time:%Y-%m-%d}"] += 1
    return _summarize(consumer, count, first, last, days, go=go)


def _summarize(
    consumer: Consumer,
    count: int,
    first: SelectedFact | None,
    last: SelectedFact | None,
    days: Counter[str],
    *,
    go: bool,
) -> list[str]:
    lines = [f"{'delivered' if go else 'would deliver'} {format_count(count, 'fact')} to {consumer.name}"]
    if first is not None and last is not None:
        lines += [f"  {label} {each.record.sequence:>10,}  {each.record.time:%Y-%m-%d %H:%M:%S}  {each.record.subject}"
                  for label, each in (("first", first), ("last ", last))]  # fmt: skip
        lines += [f"  {day}  {number:>10,}" for day, number in sorted(days.items())]
    return lines


async def _read_platforms(found: Servers) -> dict[UUID, str]:
    """The platform of every post and version, for facts that do not name it."""
    async with open_database(found.database_url, "reader") as database, database.connect() as connection:
        posts = {row.id: row.platform for row in await connection.execute(select(post.c.id, post.c.platform))}
        rows = await connection.execute(select(post_version.c.id, post_version.c.post_id))
        return posts | {row.id: posts[row.post_id] for row in rows if row.post_id in posts}


def _compare_with_shadow(found: Servers) -> None:
    try:
        differences = run(_build_shadow(found))
    except LedgerBroken as error:
        raise click.ClickException(f"{error}; see `openerrata ledger verify`") from error
    for each in differences:
        click.echo(f"{each.table}: {each.only_live:,} rows only live, {each.only_shadow:,} only in the shadow")
        for side, rows in (("live  ", each.live), ("shadow", each.shadow)):
            for row in rows[:MAX_EXAMPLES]:
                click.echo(f"  {side} {clean(row[:300])}")
    if differences:
        click.echo("the live tables differ from the log: `openerrata projector rebuild`", err=True)
        sys.exit(1)
    click.echo("the live tables agree with the log")


async def _build_shadow(found: Servers) -> list[Difference]:
    await migrate(found.database_url)
    with closing(Blobs(found.blobs)) as blobs:
        async with connect(found.nats_url, name="openerrata-shadow") as bus:
            return await shadow(
                found.database_url,
                StoredTexts(blobs, TextBucket(bus)),
                analyses=[kind.name for kind in FLAGGING],
                view_rules=load(ProjectorSettings).view_rules,
                progress=show_progress,
            )


def _to_utc(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
