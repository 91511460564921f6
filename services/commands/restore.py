"""`openerrata restore`: a backup on empty servers; every file, every blob and every link of the chain is proved."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import click

from analyses import FLAGGING
from kit import topology
from kit.blobs import Blobs, BlobsUnavailable
from kit.bus import connect
from kit.database import migrate
from kit.dump import NotEmpty, load, sha256_of
from kit.settings import Infrastructure
from kit.settings import load as load_settings
from kit.snapshot import SnapshotFailed, bring_back, make_room
from kit.surroundings import Surroundings
from services.commands.backup import MANIFEST, STREAM_NAMES
from services.commands.shared import data_dir_option, plain_errors, run, servers
from services.projector.adapters import BlobTexts
from services.projector.chain import LedgerBroken
from services.projector.rebuild import rebuild
from services.projector.settings import ProjectorSettings


class BadBackup(Exception):
    """The folder holds no whole backup."""


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True, path_type=Path))
@data_dir_option
@plain_errors
def command(folder: Path, data_dir: Path) -> None:
    """Bring the backup in FOLDER back; nothing may run over the servers yet, and they must be empty.

    Every file is compared with its hash before anything is written. Readers' instance keys come back; the master key
    is yours to bring.

    \b
    openerrata restore backups
    """
    try:
        manifest = _checked(folder)
        with servers(data_dir, quieter="error") as found:
            facts = run(_restore(found, folder, manifest))
    except (BadBackup, NotEmpty, SnapshotFailed, BlobsUnavailable, LedgerBroken) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"restored {facts:,} facts and {manifest['blobs']:,} blobs of {manifest['taken_at']}")


def _checked(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    except FileNotFoundError:
        raise BadBackup(f"{folder} holds no finished backup") from None
    data = folder / manifest["data"]
    for name, wanted in manifest["files"].items():
        if not (data / name).is_file() or sha256_of(data / name) != wanted:
            raise BadBackup(f"{name} is not what was saved")
    blobs = _saved_blobs(folder)
    if len(blobs) != manifest["blobs"]:
        raise BadBackup(f"there are {len(blobs)} blobs instead of {manifest['blobs']}")
    for blob in blobs:
        if sha256_of(blob) != blob.name:
            raise BadBackup(f"the blob {blob.name} is not what was saved")
    return manifest


def _saved_blobs(folder: Path) -> list[Path]:
    return [file for file in (folder / "blobs").iterdir() if not file.name.startswith(".")]


async def _restore(found: Surroundings, folder: Path, manifest: dict[str, Any]) -> int:
    data, settings = folder / manifest["data"], load_settings(Infrastructure)
    await migrate(found.database_url)
    blobs = Blobs(found.blobs)
    try:
        async with connect(found.nats_url, name="openerrata-restore") as bus:
            for name in STREAM_NAMES:
                await make_room(bus, name)
            for file in _saved_blobs(folder):
                ref = await blobs.put(await asyncio.to_thread(file.read_bytes))
                assert ref.sha256 == file.name
            await load(found.database_url, data, manifest["tables"])
            facts = await rebuild(
                found.database_url,
                BlobTexts(blobs),
                analyses=[kind.name for kind in FLAGGING],
                view_rules=load_settings(ProjectorSettings).view_rules,
            )
            for name, about in manifest["streams"].items():
                file = data / f"{name}.snapshot"
                await bring_back(bus, name, about, file, replicas=settings.nats_replicas)
            await topology.apply(bus, replicas=settings.nats_replicas, ack_wait_s=settings.ack_wait_s)
    finally:
        blobs.close()
    return facts
