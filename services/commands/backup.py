"""`openerrata backup`: ledger, streams and blobs in one folder, taken while everything runs.

The order makes the copies fit: first the database, then the streams, which are of a later moment, then the blobs, which
are stored before any fact names them. So the ledger is never ahead of the stream, and no blob of a fact is missing.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import click

from contracts.topology import MARKS, STREAMS
from kit.blobs import BlobMissing, Blobs, BlobsUnavailable
from kit.bus import connect
from kit.clock import SystemClock
from kit.database import migrate
from kit.dump import save, sha256_of
from kit.snapshot import SnapshotFailed, take
from kit.surroundings import Surroundings
from kit.tasks import BACKUP, went_well
from services.commands.shared import data_dir_option, plain_errors, run, servers

STREAM_NAMES: Final = (*(stream.name for stream in STREAMS), f"KV_{MARKS.name}")
MANIFEST: Final = "manifest.json"
AT_ONCE: Final = 8


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@data_dir_option
@plain_errors
def command(folder: Path, data_dir: Path) -> None:
    """Save everything that cannot be derived into FOLDER; services keep running.

    A folder that holds an earlier backup keeps its blobs, so only new ones are fetched. The master key is not saved:
    keep it with your other secrets. Readers' own provider keys live for half an hour and are not saved either.

    \b
    openerrata backup backups
    """
    with servers(data_dir, quieter="error") as found:
        try:
            manifest = _backup(found, folder)
        except (SnapshotFailed, BlobsUnavailable, BlobMissing, OSError) as error:
            raise click.ClickException(f"{error}; an earlier backup in {folder} is as it was") from error
        run(_tell(found))
    streams = {name: about["state"]["messages"] for name, about in manifest["streams"].items()}
    click.echo(f"saved {sum(streams.values()):,} messages of {len(streams)} streams and {manifest['blobs']:,} blobs")


def _backup(found: Surroundings, folder: Path) -> dict[str, Any]:
    """Everything is written beside the earlier backup; the manifest, renamed last, makes it count."""
    blobs = folder / "blobs"
    blobs.mkdir(mode=0o700, parents=True, exist_ok=True)
    now = SystemClock().now()
    data = folder / f"data-{now:%Y%m%dT%H%M%S%f}"
    with TemporaryDirectory(prefix=".unfinished-", dir=folder) as unfinished:
        draft = Path(unfinished)
        saved = run(_collect(found, draft, blobs, {file.name for file in blobs.iterdir()}))
        data.mkdir(mode=0o700)
        for file in sorted(draft.iterdir()):
            file.rename(data / file.name)
        manifest: dict[str, Any] = {
            "version": version("openerrata"),
            "taken_at": now.isoformat(),
            "data": data.name,
            "files": {file.name: sha256_of(file) for file in sorted(data.iterdir())},
            "tables": saved.tables,
            "streams": saved.streams,
            "blobs": len(saved.blobs),
        }
        (draft / MANIFEST).write_text(json.dumps(manifest, indent=1))
        (draft / MANIFEST).rename(folder / MANIFEST)
    for old in set(folder.glob("data-*")) - {data}:
        shutil.rmtree(old)
    for file in blobs.iterdir():  # what was erased must leave the backup too
        if file.name not in saved.blobs:
            file.unlink()
    return manifest


@dataclass(frozen=True)
class _Saved:
    """Shapes: `tables` has columns by table, `streams` what the broker says of each, `blobs` the hashes."""

    tables: dict[str, list[str]]
    streams: dict[str, Any]
    blobs: set[str]


async def _tell(found: Surroundings) -> None:
    async with connect(found.nats_url, name="openerrata-backup") as bus:
        await went_well(bus, BACKUP)


async def _collect(found: Surroundings, draft: Path, blobs: Path, known: set[str]) -> _Saved:
    await migrate(found.database_url)
    tables = await save(found.database_url, draft)
    async with connect(found.nats_url, name="openerrata-backup") as bus:
        streams = {name: await take(bus, name, draft / f"{name}.snapshot") for name in STREAM_NAMES}
    return _Saved(tables, streams, await _blobs(found, blobs, known))


async def _blobs(found: Surroundings, folder: Path, known: set[str]) -> set[str]:
    """Fetch what is not there yet."""
    blobs = Blobs(found.blobs)
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(name: str) -> None:
        async with limit:
            await asyncio.to_thread(_write, folder / name, await blobs.get(name, names[name]))

    try:
        names = await blobs.names()
        await asyncio.gather(*map(one, names.keys() - known))
    finally:
        blobs.close()
    return set(names)


def _write(file: Path, data: bytes) -> None:
    """Whole or not at all: a file that is there counts as saved."""
    draft = file.with_name(f".{file.name}")
    draft.write_bytes(data)
    draft.rename(file)
