"""`openerrata claims measured`: how often verdicts were right, as people judged them by known answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import click
from sqlalchemy import select

from contracts.readmodel import run_attempt
from contracts.v1 import MetricSampled
from kit.bus import Bus, connect
from kit.clock import Clock, SystemClock
from kit.database import Database
from kit.publisher import BusError
from kit.servers_in_use import Servers
from lifecycle.audits.quality import CORRECTNESS, name_maker
from services.commands.database import open_tables
from services.commands.shared import as_message, on_servers, open_servers, run

_HOUR: Final = "%Y-%m-%dT%H"


@dataclass(frozen=True, slots=True)
class Measured:
    """Verdicts that were judged, and how many of them were right."""

    right: int
    of: int


@click.command()
@click.argument("analysis", type=click.UUID, metavar="ID")
@click.option("--right", required=True, type=click.IntRange(0), help="How many claims got a right verdict.")
@click.option("--of", required=True, type=click.IntRange(1), help="How many claims with known answers were judged.")
@on_servers
def measured(analysis: UUID, right: int, of: int, data_dir: Path) -> None:
    """Say how often verdicts like that of the analysis ID are right: of its model, instructions and rules.

    Claim pages show it beside each such verdict, with its bound, number and date, instead of "not measured".
    """
    if right > of:
        raise click.UsageError("--right is at most --of")

    async def main(found: Servers) -> None:
        async with (
            open_tables(found, of="tables") as database,
            connect(found.nats_url, name="openerrata-claims") as bus,
        ):
            await publish_measure(bus, database, SystemClock(), analysis, Measured(right, of))

    with open_servers(data_dir, quieter="error") as found, as_message(BusError):
        run(main(found))
    click.echo(f"{right} of {of}: claim pages with verdicts like that of {analysis} say so from now on")


async def publish_measure(bus: Bus, database: Database, clock: Clock, analysis: UUID, found: Measured) -> None:
    """Publish it. Raises: click.ClickException: there is no such analysis, or it was measured just now. BusError."""
    run_ = run_attempt.c
    made = select(run_.model, run_.prompt_hash, run_.rules).where(run_.run_id == analysis, run_.outcome == "SUCCEEDED")
    async with database.connect() as connection:
        row = (await connection.execute(made)).first()
    if row is None:
        raise click.ClickException(f"no analysis {analysis} is known")
    event = MetricSampled(
        slot=clock.now().strftime(_HOUR),
        type=CORRECTNESS,
        category=name_maker(*row),
        value=found.right / found.of,
        n=found.of,
    )
    if not await bus.publish_if_first(event, clock.new_id()):
        raise click.ClickException("it was measured in this hour already")
