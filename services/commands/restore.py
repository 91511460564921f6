"""`openerrata restore`: restore a backup to empty servers; verifies every file, blob and link of the hash chain."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path

import click

from kit import topology
from kit.blobs import Blobs, BlobsUnavailable
from kit.bus import connect
from kit.database import migrate
from kit.dump import NotEmpty, load, sha256_of
from kit.servers_in_use import Servers
from kit.settings import Infrastructure
from kit.settings import load as load_settings
from kit.snapshot import SnapshotFailed, StreamNotEmpty, delete_empty_stream, restore_stream
from services.commands.backup import MANIFEST, STREAM_NAMES, Manifest
from services.commands.projector import rebuild_read_model
from services.commands.shared import as_message, on_servers, run_on_servers
from services.commands.terminal import format_count, show_progress
from services.projector.adapters import StoredTexts
from services.projector.ledger.chain import LedgerBroken


class BadBackup(Exception):
    """The folder holds no complete backup."""


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True, path_type=Path))
@on_servers
def command(folder: Path, data_dir: Path) -> None:
    """Restore the backup in FOLDER; the servers must be empty, and no service may run yet.

    Every file is compared with its hash before anything is written. Instance keys are restored; the master key is not
    part of a backup.

    \b
    openerrata restore backups
    """
    with as_message(BadBackup, SnapshotFailed, BlobsUnavailable, LedgerBroken):
        manifest = _verify(folder)
        try:
            facts = run_on_servers(data_dir, lambda found: _restore(found, folder, manifest))
        except (NotEmpty, StreamNotEmpty) as error:
            advice = 'how to empty servers after a restore that was broken off: "Backup" in docs/operations/tasks.md'
            raise click.ClickException(f"{error}; {advice}") from error
    restored = f"{format_count(facts, 'fact')} and {format_count(manifest.blobs, 'blob')}"
    click.echo(f"restored {restored} of {manifest.taken_at}")


def _verify(folder: Path) -> Manifest:
    try:
        manifest = Manifest(**json.loads((folder / MANIFEST).read_text()))
    except FileNotFoundError:
        raise BadBackup(f"{folder} holds no complete backup") from None
    except ValueError:
        raise BadBackup(f"{folder / MANIFEST} is damaged") from None
    except TypeError:
        raise BadBackup(f"{folder} holds a backup of another version") from None
    data = folder / manifest.data
    for name, wanted in manifest.files.items():
        if not (data / name).is_file() or sha256_of(data / name) != wanted:
            raise BadBackup(f"{name} does not have its recorded hash")
    blobs = _list_blobs(folder)
    if len(blobs) != manifest.blobs:
        raise BadBackup(f"there are {len(blobs)} blobs instead of {manifest.blobs}")
    for blob in blobs:
        if sha256_of(blob) != blob.name:
            raise BadBackup(f"the blob {blob.name} does not have its hash")
    return manifest


def _list_blobs(folder: Path) -> list[Path]:
    return [file for file in (folder / "blobs").iterdir() if not file.name.startswith(".")]


async def _restore(found: Servers, folder: Path, manifest: Manifest) -> int:
    data, settings = folder / manifest.data, load_settings(Infrastructure)
    await migrate(found.database_url)
    with closing(Blobs(found.blobs)) as blobs:
        async with connect(found.nats_url, name="openerrata-restore") as bus:
            for name in STREAM_NAMES:
                await delete_empty_stream(bus, name)
            for number, file in enumerate(_list_blobs(folder), 1):
                ref = await blobs.put(await asyncio.to_thread(file.read_bytes))
                assert ref.sha256 == file.name
                show_progress("blobs", number, manifest.blobs)
            await load(found.database_url, data, manifest.tables)
            facts = await rebuild_read_model(found.database_url, StoredTexts(blobs, None))
            for name, about in manifest.streams.items():
                file = data / f"{name}.snapshot"
                await restore_stream(bus, name, about, file, replicas=settings.nats_replicas)
            await topology.apply(bus, replicas=settings.nats_replicas, ack_wait_s=settings.ack_wait_s)
    return facts
