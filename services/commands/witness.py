"""`openerrata witness`: cosign the checkpoints of transparency logs, for others to trust them."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from secrets import token_bytes
from typing import Final

import click

from services.commands.shared import Group, as_message, choose_log_level, handle_errors, run
from services.witness.store import Store, StoreError
from tlog.errors import MalformedError
from tlog.keys import SEED_BYTES, Algorithm, SigningKey, VerifierKey

_MAX_NAME: Final = 255
_FAILURES: Final = (MalformedError, OSError, StoreError, sqlite3.Error)
_OF_LOGS: Final = (Algorithm.ED25519, Algorithm.ML_DSA_44)

folder_option = click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("witness"),
    show_default=True,
    help="The folder with the witness's key and state.",
)


@click.group(cls=Group)
def command() -> None:
    """Run a witness: it cosigns the checkpoints of transparency logs, if each continues the one before.

    A log whose checkpoints several independent witnesses cosigned cannot show different histories to different people.
    A witness needs no other part of this system, and no database: its folder is all that it has.

    \b
    openerrata witness init witness.example/w1      make its key, once
    openerrata witness add VKEY                     add a log, by the key that its operator publishes
    openerrata witness serve --host 0.0.0.0         answer logs

    docs/operations/witness.md is the guide.
    """


@command.command()
@click.argument("name")
@folder_option
@handle_errors
def init(name: str, folder: Path) -> None:
    """Make a new witness, and print the keys that logs and readers are to know.

    NAME is its name in all signatures, best an address without https:// that you own: witness.example/w1. It cannot be
    changed later. Nothing is ever overwritten.
    """
    if len(name.encode()) > _MAX_NAME:
        raise click.ClickException(f"a name has at most {_MAX_NAME} bytes")
    if "://" in name:
        raise click.ClickException(f"the name of a witness has no scheme: {name.partition('://')[2]}")
    with as_message(*_FAILURES):
        keys = [
            SigningKey(name, kind, token_bytes(SEED_BYTES)) for kind in (Algorithm.COSIGNATURE, Algorithm.ML_DSA_44)
        ]
        Store.create(folder, keys)
    for key in keys:
        click.echo(str(key.verifier))
    click.echo(
        f"\nThe witness is in {folder}. Give the first line to operators of logs; the second, long one is for those who"
        " verify\npost-quantum signatures. Next: openerrata witness add VKEY",
        err=True,
    )


@command.command()
@click.argument("vkey")
@folder_option
@handle_errors
def add(vkey: str, folder: Path) -> None:
    """Add a log, or a further key of it; a running witness knows it at once.

    VKEY is the log's verifier key, name+id+key; its name is the log's origin. Get it from the log's operator over a
    channel that you trust.
    """
    with as_message(*_FAILURES):
        key = VerifierKey.parse(vkey)
        if key.algorithm not in _OF_LOGS:
            raise StoreError("this is the key of a witness, not of a log")
        if len(key.name.encode()) > _MAX_NAME:
            raise StoreError(f"an origin has at most {_MAX_NAME} bytes here")
        Store(folder).add(key)
    click.echo(f"knows {key.name}")


@command.command()
@folder_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8790,
    show_default=True,
    help="The port to listen on; 0: a free one.",
)
@handle_errors
def serve(folder: Path, host: str, port: int) -> None:
    """Answer logs until stopped: POST /add-checkpoint, and /<SHA-256 of an origin>/checkpoint for monitors."""
    from kit.settings import Infrastructure, load
    from kit.telemetry import configure_logging

    configure_logging(level=choose_log_level(load(Infrastructure), None))
    with as_message(*_FAILURES):
        store = Store(folder)
    run(_serve(store, host, port))


async def _serve(store: Store, host: str, port: int) -> None:
    import structlog

    from kit.clock import SystemClock
    from kit.http import HttpServer, bind
    from services.commands.process import listen_for_signals
    from services.witness.app import make_app

    stop = asyncio.Event()
    listen_for_signals(stop)
    server = HttpServer(make_app(store, SystemClock()), bind(host, port, given_by="--port"))
    await server.start()
    structlog.get_logger("witness").info("running", url=server.url, name=store.keys[0].name)
    await stop.wait()
    await server.stop()
