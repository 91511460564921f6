"""`openerrata streams`: what waits where, how fast it moves, and how far the read model is."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import orjson
from sqlalchemy import select

from contracts.readmodel import position
from contracts.topology import ERRATA, VIEWS
from kit.bus import connect
from kit.database import Database, is_current
from kit.flow import Flow, look, rates
from kit.surroundings import Surroundings
from services.commands.shared import data_dir_option, plain_errors, run, servers


@click.command()
@click.option("--watch", is_flag=True, help="Look again and again until Ctrl-C.")
@click.option("--every", "every_s", type=click.FloatRange(0.1), default=2.0, show_default=True, help="Seconds between.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each look.")
@data_dir_option
@plain_errors
def command(watch: bool, every_s: float, as_json: bool, data_dir: Path) -> None:
    """Show every stream and consumer: lag, rates over --every seconds, and the oldest fact that waits.

    \b
    openerrata streams --watch --every 5
    """
    with servers(data_dir, quieter="error") as found:
        run(_look(found, watch, every_s, as_json))


async def _look(found: Surroundings, watch: bool, every_s: float, as_json: bool) -> None:
    database = Database(found.database_url, role="reader") if await is_current(found.database_url) else None
    try:
        async with connect(found.nats_url, name="openerrata-streams") as bus:
            before = await look(bus)
            while True:
                await asyncio.sleep(every_s)
                flow = await look(bus)
                positions = await _positions(database) if database else {}
                _show(flow, rates(before, flow), positions, as_json=as_json, clear=watch)
                if not watch:
                    return
                before = flow
    finally:
        if database:
            await database.close()


async def _positions(database: Database) -> dict[str, int]:
    async with database.connect() as connection:
        found = (await connection.execute(select(position.c.stream, position.c.sequence))).all()
    return {row.stream: row.sequence for row in found}


def _show(flow: Flow, per_s: Mapping[str, float], positions: Mapping[str, int], *, as_json: bool, clear: bool) -> None:
    if as_json:
        document = dataclasses.asdict(flow) | {"rates_per_s": per_s, "positions": positions}
        click.echo(orjson.dumps(document).decode())
        return
    if clear:
        click.clear()
    for line in table(flow, per_s, positions):
        click.echo(line)


def table(flow: Flow, per_s: Mapping[str, float], positions: Mapping[str, int]) -> Iterator[str]:
    """The lines that an operator reads."""
    yield f"{'stream':<14}{'messages':>12}{'MB':>10}{'last':>12}{'per s':>9}{'read model':>24}"
    for stream in flow.streams:
        yield (
            f"{stream.name:<14}{stream.messages:>12,}{stream.size_bytes / 1e6:>10,.1f}{stream.last:>12,}"
            f"{per_s[stream.name]:>9.1f}{_behind(stream.name, stream.last, positions):>24}"
        )
    yield ""
    yield (
        f"{'consumer':<38}{'waiting':>9}{'in hand':>9}{'again':>7}{'redeliv.':>10}{'dead':>7}{'per s':>9}{'oldest':>9}"
    )
    for each in flow.consumers:
        line = (
            f"{each.name:<38}{each.waiting:>9,}{each.in_hand:>9,}{each.again:>7,}{each.redelivered:>10,}"
            f"{each.dead:>7,}{per_s[each.name]:>9.1f}{age(each.oldest_s):>9}"
        )
        yield line + "  PAUSED" if each.paused else line
    yield ""
    last = next((stream.last for stream in flow.streams if stream.name == ERRATA.name), 0)
    oldest = flow.conclude.oldest_s
    told = "nothing is open" if oldest is None else f"the oldest was asked for {age(oldest)} ago"
    yield f"conclude: investigations asked for up to {flow.conclude.mark:,} of {last:,} have ended; {told}"


def _behind(stream: str, last: int, positions: Mapping[str, int]) -> str:
    if stream not in (ERRATA.name, VIEWS.name):
        return ""
    behind = last - positions.get(stream, 0)
    return f"{behind:,} behind" if behind > 0 else "up to date"


def age(seconds: float | None) -> str:
    """An age for people: the largest unit that fits."""
    if seconds is None:
        return "–"
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
