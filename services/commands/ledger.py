"""`openerrata ledger`: verify the ledger."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kit.bus import connect
from kit.database import migrate, open_session
from kit.servers_in_use import Servers
from kit.tasks import LEDGER_VERIFY, record_success
from services.commands.shared import Group, as_message, on_servers, run_on_servers
from services.commands.terminal import format_count
from services.projector.adapters import BusLog
from services.projector.ledger.verify import BrokerStalled, Report, StreamReport
from services.projector.ledger.verify import verify as verify_ledger

MAX_EXAMPLES = 10


@click.group(cls=Group)
def command() -> None:
    """Inspect the ledger: every applied fact, in a hash chain.

    \b
    openerrata ledger verify
    """


@command.command()
@on_servers
def verify(data_dir: Path) -> None:
    """Compute the chain again and compare it with the streams; exit status 1 if anything is missing or altered."""
    with as_message(BrokerStalled):
        report = run_on_servers(data_dir, _verify, quieter="warning")
    for stream in report.streams:
        _print_report(stream)
    sys.exit(0 if report.ok else 1)


async def _verify(found: Servers) -> Report:
    await migrate(found.database_url)
    async with connect(found.nats_url, name="openerrata-ledger") as bus, await open_session(found.database_url) as db:
        report = await verify_ledger(db, BusLog(bus))
        if report.ok:
            await record_success(bus, LEDGER_VERIFY)
        return report


def _print_report(stream: StreamReport) -> None:
    mark = click.style("ok ", fg="green") if stream.ok else click.style("BAD", fg="red")
    waiting = f", {stream.waiting:,} not applied yet" if stream.waiting else ""
    erased = f", {stream.erased:,} erased" if stream.erased else ""
    facts = format_count(stream.facts, "fact")
    click.echo(f"{mark} {stream.stream:<8} {facts} up to sequence {stream.last:,}{erased}{waiting}")
    for first, last in stream.holes[:MAX_EXAMPLES]:
        click.echo(f"      hole: {first} to {last} are missing from the ledger")
    for problem, sequences in (
        ("altered in the ledger", stream.altered),
        ("different on the stream", stream.differing),
        ("gone from the stream", stream.lost),
        ("erased, but still on the stream", stream.not_removed),
    ):
        for sequence in sequences[:MAX_EXAMPLES]:
            click.echo(f"      {problem}: {sequence}")
        if len(sequences) > MAX_EXAMPLES:
            click.echo(f"      … and {len(sequences) - MAX_EXAMPLES:,} more {problem}")
