"""`openerrata export`: the public record as files."""

from __future__ import annotations

from pathlib import Path

import click

from kit.database import is_current
from kit.settings import SettingsError
from services.commands.database import open_database
from services.commands.export.folder import Manifest
from services.commands.export.formats import Format
from services.commands.export.run import DELETED, export
from services.commands.shared import on_servers, run_on_servers


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(["jsonl", "parquet"]),
    default="jsonl",
    show_default=True,
    help="What the files are.",
)
@click.option("--full", is_flag=True, help="Write everything again as the only part, and remove earlier parts.")
@on_servers
def command(folder: Path, format_: Format, full: bool, data_dir: Path) -> None:
    """Write posts, versions, investigations, claims, sources, reviews and authors into FOLDER.

    A repeated run adds only new, changed and deleted rows. docs/export.md describes the files.

    \b
    openerrata export public --format parquet
    """
    earlier = {path.name for path in folder.glob("part-*")}
    manifest = run_on_servers(
        data_dir, lambda found: _export(found.database_url, folder, format_, full), quieter="warning"
    )
    part = manifest["parts"][-1]
    if part["name"] in earlier:
        click.echo(f"no changes up to {', '.join(f'{k} {v:,}' for k, v in manifest['positions'].items())}")
        return
    for file in part["files"]:
        click.echo(f"{file['rows']:>10,} {'deleted rows' if file['table'] == DELETED else file['table']}")
    click.echo(f"{folder / part['name']}, up to {', '.join(f'{k} {v:,}' for k, v in part['positions'].items())}")


async def _export(database_url: str, folder: Path, format_: Format, full: bool) -> Manifest:
    if not await is_current(database_url):
        raise SettingsError("there is nothing to export yet: start the projector first (`openerrata up projector`)")
    async with open_database(database_url, "reader") as database:
        return await export(database, folder, format_, full=full)
