"""`openerrata projector`: build the read model anew."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic

import click

from analyses import ANALYSES
from kit.blobs import Blobs
from kit.database import migrate
from kit.settings import load
from kit.surroundings import Surroundings
from services.commands.shared import Group, data_dir_option, plain_errors, run, servers
from services.projector.adapters import BlobTexts
from services.projector.chain import LedgerBroken
from services.projector.rebuild import rebuild as rebuild_readmodel
from services.projector.settings import ProjectorSettings


@click.group(cls=Group)
def command() -> None:
    """Work on the read model, which holds nothing that the log does not.

    \b
    openerrata projector rebuild
    """


@command.command(name="migrate")
@data_dir_option
@plain_errors
def migrate_schemas(data_dir: Path) -> None:
    """Bring the database to this version's schemas, as the projector does when it starts; nothing else changes."""
    with servers(data_dir, quieter="warning") as found:
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


async def _rebuild(found: Surroundings) -> int:
    await migrate(found.database_url)
    blobs = Blobs(found.blobs)
    try:
        return await rebuild_readmodel(
            found.database_url,
            BlobTexts(blobs),
            analyses=[analysis.kind for analysis in ANALYSES],
            view_rules=load(ProjectorSettings).view_rules,
            progress=_show if sys.stderr.isatty() else _silent,
        )
    finally:
        blobs.close()


def _show(stream: str, done: int, of: int) -> None:
    click.echo(f"\r{stream}: {done:,} of {of:,} facts", err=True, nl=done >= of)


def _silent(stream: str, done: int, of: int) -> None:
    pass
