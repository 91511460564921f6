"""`openerrata backup`: copy ledger, streams and blobs into a folder while the services run.

The order makes the copies consistent: first the database, then the streams, then the blobs, which are stored before any
fact names them. So the ledger is never ahead of the stream, and no blob of a fact is missing.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click

from contracts.topology import MARKS, RECEIPT_KEYS, STREAMS
from kit.blob_settings import BlobMissing
from kit.blobs import Blobs, BlobsUnavailable
from kit.bus import connect
from kit.clock import SystemClock
from kit.database import migrate
from kit.dump import save, sha256_of
from kit.servers_in_use import Servers
from kit.snapshot import SnapshotFailed, StreamDescription, save_stream
from kit.tasks import BACKUP, record_success
from services.commands.shared import lock_folder, on_servers, open_servers, run
from services.commands.terminal import format_count, show_progress

STREAM_NAMES: Final = (*(stream.name for stream in STREAMS), *(f"KV_{each.name}" for each in (MARKS, RECEIPT_KEYS)))
MANIFEST: Final = "manifest.json"
UNFINISHED: Final = ".unfinished-"
MAX_CONCURRENCY: Final = 8


@dataclass(frozen=True)
class Manifest:
    """Describes a backup. Shapes: `files` has hashes by name, `tables` columns by table; `blobs` is their number."""

    version: str
    taken_at: str
    data: str
    files: dict[str, str]
    tables: dict[str, list[str]]
    streams: dict[str, StreamDescription]
    blobs: int


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@on_servers
def command(folder: Path, data_dir: Path) -> None:
    """Save everything that cannot be derived and does not expire into FOLDER; services keep running.

    Blobs of an earlier backup in the folder are kept unless their size is wrong, so only new ones are fetched. Not
    saved: the master key, which belongs with your other secrets; readers' own provider keys, which expire after half
    an hour; and words of audits and of the catalogue, which expire too.

    \b
    openerrata backup backups
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock_folder(folder, "backup"), open_servers(data_dir, quieter="error") as found:
        try:
            manifest = _backup(found, folder)
        except (SnapshotFailed, BlobsUnavailable, BlobMissing, OSError) as error:
            raise click.ClickException(f"{error}; an earlier backup in {folder} is unchanged") from error
        run(_report(found))
    streams = {name: about["state"]["messages"] for name, about in manifest.streams.items()}
    messages, blobs = format_count(sum(streams.values()), "message"), format_count(manifest.blobs, "blob")
    click.echo(f"saved {messages} of {len(streams)} streams and {blobs}")


def _backup(found: Servers, folder: Path) -> Manifest:
    """Write beside the earlier backup; renaming the manifest at the end replaces it."""
    blobs = folder / "blobs"
    blobs.mkdir(mode=0o700, exist_ok=True)
    now = SystemClock().now()
    data = folder / f"data-{now:%Y%m%dT%H%M%S%f}"
    with TemporaryDirectory(prefix=UNFINISHED, dir=folder) as unfinished:
        draft = Path(unfinished)
        saved = run(_collect(found, draft, blobs, {file.name: file.stat().st_size for file in blobs.iterdir()}))
        data.mkdir(mode=0o700)
        for file in sorted(draft.iterdir()):
            file.rename(data / file.name)
        manifest = Manifest(
            version=version("openerrata"),
            taken_at=now.isoformat(),
            data=data.name,
            files={file.name: sha256_of(file) for file in sorted(data.iterdir())},
            tables=saved.tables,
            streams=saved.streams,
            blobs=len(saved.blobs),
        )
        (draft / MANIFEST).write_text(json.dumps(asdict(manifest), indent=1))
        (draft / MANIFEST).rename(folder / MANIFEST)
    for old in {*folder.glob("data-*"), *folder.glob(f"{UNFINISHED}*")} - {data}:  # a killed backup leaves these
        shutil.rmtree(old)
    for file in blobs.iterdir():  # erased blobs must leave the backup too
        if file.name not in saved.blobs:
            file.unlink()
    return manifest


@dataclass(frozen=True)
class _Saved:
    """What was saved. Shapes: `tables` and `streams` as in the manifest; `blobs` are hashes."""

    tables: dict[str, list[str]]
    streams: dict[str, StreamDescription]
    blobs: set[str]


async def _report(found: Servers) -> None:
    async with connect(found.nats_url, name="openerrata-backup") as bus:
        await record_success(bus, BACKUP)


async def _collect(found: Servers, draft: Path, blobs: Path, existing: Mapping[str, int]) -> _Saved:
    await migrate(found.database_url)
    tables = await save(found.database_url, draft)
    async with connect(found.nats_url, name="openerrata-backup") as bus:
        streams = {name: await save_stream(bus, name, draft / f"{name}.snapshot") for name in STREAM_NAMES}
    return _Saved(tables, streams, await _fetch_blobs(found, blobs, existing))


async def _fetch_blobs(found: Servers, folder: Path, existing: Mapping[str, int]) -> set[str]:
    """Fetch the blobs that the folder lacks or, after an interrupted copy, has in part; returns the hashes of all.

    Units: `existing` are bytes by hash.
    """
    limit = asyncio.Semaphore(MAX_CONCURRENCY)

    async def fetch(name: str) -> None:
        async with limit:
            await asyncio.to_thread(_write, folder / name, await blobs.get(name, names[name].under))

    with closing(Blobs(found.blobs)) as blobs:
        names = await blobs.names()
        missing = {name for name, blob in names.items() if existing.get(name) != blob.size_bytes}
        for number, fetched in enumerate(asyncio.as_completed(map(fetch, missing)), 1):
            await fetched
            show_progress("blobs", number, len(missing))
    return set(names)


def _write(file: Path, data: bytes) -> None:
    """Write atomically: an existing file counts as saved."""
    draft = file.with_name(f".{file.name}")
    draft.write_bytes(data)
    draft.rename(file)
