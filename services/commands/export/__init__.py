"""`openerrata export`: the public record as files, for whoever wants to count for themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kit.database import Database, is_current
from kit.settings import SettingsError
from services.commands.export.formats import Format
from services.commands.export.run import DELETED, export
from services.commands.shared import data_dir_option, plain_errors, run, servers


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--format",
    "chosen",
    type=click.Choice(["jsonl", "parquet"]),
    default="jsonl",
    show_default=True,
    help="What the files are.",
)
@click.option("--full", is_flag=True, help="Write everything again as the only part, and remove earlier parts.")
@data_dir_option
@plain_errors
def command(folder: Path, chosen: Format, full: bool, data_dir: Path) -> None:
    """Write posts, versions, investigations, claims, sources and authors into FOLDER.

    Run again, it adds only what is new, changed or gone since the last time. docs/export.md says what is in the files.

    \b
    openerrata export public --format parquet
    """
    earlier = {path.name for path in folder.glob("part-*")}
    with servers(data_dir, quieter="warning") as found:
        manifest = run(_export(found.database_url, folder, chosen, full))
    part = manifest["parts"][-1]
    if part["name"] in earlier:
        click.echo(f"nothing new, up to {', '.join(f'{k} {v:,}' for k, v in manifest['positions'].items())}")
        return
    for file in part["files"]:
        click.echo(f"{file['rows']:>10,} {'rows gone' if file['table'] == DELETED else file['table']}")
    click.echo(f"{folder / part['name']}, up to {', '.join(f'{k} {v:,}' for k, v in part['positions'].items())}")


async def _export(database_url: str, folder: Path, chosen: Format, full: bool) -> dict[str, Any]:
    if not await is_current(database_url):
        raise SettingsError("there is nothing to export yet: start the projector first (`openerrata up projector`)")
    database = Database(database_url, role="reader")
    try:
        return await export(database, folder, chosen, full=full)
    finally:
        await database.close()
