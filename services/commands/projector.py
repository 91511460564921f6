"""`openerrata projector`: build the read model anew."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic
from typing import Final

import click

from analyses import FLAGGING
from contracts.topology import ERRATA, VIEWS
from kit.blobs import Blobs
from kit.bus import connect
from kit.clock import SystemClock
from kit.database import Database, migrate
from kit.pages import last_sequence
from kit.settings import load
from kit.surroundings import Surroundings
from services.commands.shared import Group, data_dir_option, plain_errors, run, servers
from services.projector.adapters import BlobTexts, Reached
from services.projector.chain import LedgerBroken
from services.projector.rebuild import rebuild as rebuild_readmodel
from services.projector.settings import ProjectorSettings
from services.projector.skipping import Skip, record

FOLLOWED: Final = (ERRATA.name, VIEWS.name)


@click.group(cls=Group)
def command() -> None:
    """Work on the read model, which holds nothing that the log does not.

    \b
    openerrata projector rebuild
    openerrata projector skip 4711 --reason "ends the database server"
    """


@command.command(name="migrate")
@data_dir_option
@plain_errors
def migrate_schemas(data_dir: Path) -> None:
    """Bring the database to this version's schemas, as its owner; nothing else changes."""
    with servers(data_dir, quieter="warning", needs=["postgres"]) as found:
        run(migrate(found.database_url))
    click.echo("the database is of this version")


@command.command()
@data_dir_option
@plain_errors
def rebuild(data_dir: Path) -> None:
    """Drop the read model and replay every fact into an identical one.

    Services keep running: the new tables are filled beside the live ones and change places with them at the end.
    """
    with servers(data_dir, quieter="warning") as found:
        began = monotonic()
        try:
            count = run(_rebuild(found))
        except LedgerBroken as error:
            raise click.ClickException(f"{error}; the live tables were left as they are") from error
    seconds = monotonic() - began
    click.echo(f"replayed {count:,} facts in {seconds:.1f} s ({count / seconds:,.0f} per second)")


@command.command()
@click.argument("sequence", type=click.IntRange(min=1))
@click.option("--reason", required=True, help="Why, for the record; shown by `openerrata doctor`.")
@click.option("--stream", type=click.Choice(FOLLOWED), default=ERRATA.name, show_default=True, help="Of which stream.")
@data_dir_option
@plain_errors
def skip(sequence: int, reason: str, stream: str, data_dir: Path) -> None:
    """Leave one message out of the read model for good, a rebuild included: a last resort.

    A fact that cannot be applied is refused and passed without this. SEQUENCE is a message that ends or blocks the
    projector each time; `openerrata doctor` names the next one. The message itself stays in the log and in the ledger.

    \b
    openerrata projector skip 4711 --reason "ends the database server"
    """
    reason = reason.strip()
    if not reason:
        raise click.BadParameter("say why", param_hint="--reason")
    with servers(data_dir, quieter="warning") as found:
        passed = run(_skip(found, Skip(stream, sequence, reason)))
    when = "at the next `openerrata projector rebuild`" if passed else "as soon as the projector starts again"
    click.echo(f"{stream} {sequence:,} is left out {when}")


async def _skip(found: Surroundings, wanted: Skip) -> bool:
    """Whether the live tables have passed the message already."""
    await migrate(found.database_url)
    async with connect(found.nats_url, name="openerrata-skip") as bus:
        last = await last_sequence(bus, wanted.stream)
    if wanted.sequence > last:
        raise click.ClickException(f"{wanted.stream} ends at {last:,}: there is no message {wanted.sequence:,}")
    database = Database(found.database_url, role="operator")
    try:
        if not await record(database, wanted, SystemClock().now()):
            raise click.ClickException(f"{wanted.stream} {wanted.sequence:,} is left out already")
        return await Reached(database).position(wanted.stream) >= wanted.sequence
    finally:
        await database.close()


async def _rebuild(found: Surroundings) -> int:
    await migrate(found.database_url)
    blobs = Blobs(found.blobs)
    try:
        return await rebuild_readmodel(
            found.database_url,
            BlobTexts(blobs),
            analyses=[kind.name for kind in FLAGGING],
            view_rules=load(ProjectorSettings).view_rules,
            progress=_show if sys.stderr.isatty() else _silent,
        )
    finally:
        blobs.close()


def _show(stream: str, done: int, of: int) -> None:
    click.echo(f"\r{stream}: {done:,} of {of:,} facts", err=True, nl=done >= of)


def _silent(stream: str, done: int, of: int) -> None:
    pass
