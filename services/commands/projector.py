"""`openerrata projector`: migrate the database, rebuild the read model, skip a message."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Final

import click

from analyses import FLAGGING
from contracts.topology import ERRATA, PROJECTED
from kit.blobs import Blobs
from kit.bus import connect
from kit.clock import SystemClock
from kit.database import migrate
from kit.ephemeral import TextBucket
from kit.pages import read_last_sequence
from kit.servers_in_use import Servers
from kit.settings import load
from services.commands.database import open_database
from services.commands.shared import Group, on_servers, open_servers, run, run_on_servers
from services.commands.terminal import format_count, show_progress
from services.projector.adapters import AppliedPosition, StoredTexts
from services.projector.ledger.chain import LedgerBroken
from services.projector.ledger.skipping import Skip, record_skip
from services.projector.rebuild.rebuild import rebuild as rebuild_from_ledger
from services.projector.settings import ProjectorSettings

STREAM_NAMES: Final = tuple(stream.name for stream in PROJECTED)


@click.group(cls=Group)
def command() -> None:
    """Maintain the read model, which is derived from the log.

    \b
    openerrata projector rebuild
    openerrata projector skip 4711 --reason "ends the database server"
    """


@command.command(name="migrate")
@on_servers
def migrate_schemas(data_dir: Path) -> None:
    """Migrate the database to this version's schemas, as its owner."""
    run_on_servers(data_dir, lambda found: migrate(found.database_url), quieter="warning", needs=["postgres"])
    click.echo("the database is migrated")


@command.command()
@on_servers
def rebuild(data_dir: Path) -> None:
    """Rebuild the read model from every fact.

    Services keep running: the new tables are filled beside the live ones, which they replace at the end.
    """
    with open_servers(data_dir, quieter="warning") as found:
        began = monotonic()
        try:
            count = run(_migrate_and_rebuild(found))
        except LedgerBroken as error:
            raise click.ClickException(f"{error}; the live tables are unchanged") from error
    seconds = monotonic() - began
    click.echo(f"replayed {format_count(count, 'fact')} in {seconds:.1f} s ({count / seconds:,.0f} per second)")


@command.command()
@click.argument("sequence", type=click.IntRange(min=1))
@click.option("--reason", required=True, help="Why, for the record; shown by `openerrata doctor`.")
@click.option("--stream", type=click.Choice(STREAM_NAMES), default=ERRATA.name, show_default=True, help="Its stream.")
@on_servers
def skip(sequence: int, reason: str, stream: str, data_dir: Path) -> None:
    """Leave one message out of the read model permanently, rebuilds included: a last resort.

    Facts that cannot be applied are refused without this. SEQUENCE is a message that stops the projector each time;
    `openerrata doctor` names the next one. The message stays in the log and in the ledger.

    \b
    openerrata projector skip 4711 --reason "ends the database server"
    """
    reason = reason.strip()
    if not reason:
        raise click.BadParameter("give a reason", param_hint="--reason")
    passed = run_on_servers(data_dir, lambda found: _skip(found, Skip(stream, sequence, reason)), quieter="warning")
    when = "at the next `openerrata projector rebuild`" if passed else "as soon as the projector starts again"
    click.echo(f"{stream} {sequence:,} is left out {when}")


async def _skip(found: Servers, order: Skip) -> bool:
    """Record the skip; returns whether the live tables are past the message already."""
    await migrate(found.database_url)
    async with connect(found.nats_url, name="openerrata-skip") as bus:
        last = await read_last_sequence(bus, order.stream)
    if order.sequence > last:
        raise click.ClickException(f"{order.stream} ends at {last:,}: there is no message {order.sequence:,}")
    async with open_database(found.database_url, "operator") as database:
        if not await record_skip(database, order, SystemClock().now()):
            raise click.ClickException(f"{order.stream} {order.sequence:,} is left out already")
        return await AppliedPosition(database).position(order.stream) >= order.sequence


async def _migrate_and_rebuild(found: Servers) -> int:
    await migrate(found.database_url)
    with closing(Blobs(found.blobs)) as blobs:
        async with connect(found.nats_url, name="openerrata-rebuild") as bus:
            return await rebuild_read_model(found.database_url, StoredTexts(blobs, TextBucket(bus)))


async def rebuild_read_model(database_url: str, texts: StoredTexts) -> int:
    """Rebuild by the settings of this installation; the number of facts. Raises: LedgerBroken."""
    return await rebuild_from_ledger(
        database_url,
        texts,
        analyses=[kind.name for kind in FLAGGING],
        view_rules=load(ProjectorSettings).view_rules,
        progress=show_progress,
    )
