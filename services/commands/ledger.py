"""`openerrata ledger`: is what we say happened what happened?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kit.bus import connect
from kit.database import migrate, open_session
from kit.surroundings import Surroundings
from kit.tasks import LEDGER_VERIFY, went_well
from services.commands.shared import Group, data_dir_option, plain_errors, run, servers
from services.projector.adapters import BusLog
from services.projector.verify import Report, Silent, StreamReport
from services.projector.verify import verify as verify_ledger

SHOWN = 10


@click.group(cls=Group)
def command() -> None:
    """Inspect the ledger: every fact ever applied, chained by hashes.

    \b
    openerrata ledger verify
    """


@command.command()
@data_dir_option
@plain_errors
def verify(data_dir: Path) -> None:
    """Compute the chain again and compare it with the streams; exit status 1 if anything is missing or altered."""
    with servers(data_dir, quieter="warning") as found:
        try:
            report = run(_verify(found))
        except Silent as error:
            raise click.ClickException(str(error)) from error
    for stream in report.streams:
        _show(stream)
    sys.exit(0 if report.ok else 1)


async def _verify(found: Surroundings) -> Report:
    await migrate(found.database_url)
    async with connect(found.nats_url, name="openerrata-ledger") as bus, await open_session(found.database_url) as db:
        report = await verify_ledger(db, BusLog(bus))
        if report.ok:
            await went_well(bus, LEDGER_VERIFY)
        return report


def _show(stream: StreamReport) -> None:
    mark = click.style("ok ", fg="green") if stream.ok else click.style("BAD", fg="red")
    waiting = f", {stream.waiting:,} not applied yet" if stream.waiting else ""
    erased = f", {stream.erased:,} erased" if stream.erased else ""
    click.echo(f"{mark} {stream.stream:<8} {stream.facts:,} facts up to sequence {stream.last:,}{erased}{waiting}")
    for first, last in stream.holes[:SHOWN]:
        click.echo(f"      hole: {first} to {last} are missing from the ledger")
    for problem, sequences in (
        ("altered in the ledger", stream.altered),
        ("different on the stream", stream.differing),
        ("gone from the stream", stream.lost),
        ("erased, but still on the stream", stream.lingering),
    ):
        for sequence in sequences[:SHOWN]:
            click.echo(f"      {problem}: {sequence}")
        if len(sequences) > SHOWN:
            click.echo(f"      … and {len(sequences) - SHOWN:,} more {problem}")
