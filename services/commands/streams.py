"""`openerrata streams`: lag and rates of streams and consumers, and the position of the read model."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import orjson

from contracts.topology import ERRATA, PROJECTED
from kit.bus import connect
from kit.database import Database, is_current
from kit.flow import Flow, compute_rates, measure_flow
from kit.servers_in_use import Servers
from services.commands.database import read_positions
from services.commands.shared import on_servers, run_on_servers


@click.command()
@click.option("--watch", is_flag=True, help="Repeat until Ctrl-C.")
@click.option("--every", "every_s", type=click.FloatRange(0.1), default=2.0, show_default=True, help="Seconds between.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object each time.")
@on_servers
def command(watch: bool, every_s: float, as_json: bool, data_dir: Path) -> None:
    """Show every stream and consumer: lag, rates over --every seconds, and the oldest waiting fact.

    \b
    openerrata streams --watch --every 5
    """
    run_on_servers(data_dir, lambda found: _watch(found, watch, every_s, as_json))


async def _watch(found: Servers, watch: bool, every_s: float, as_json: bool) -> None:
    database = Database(found.database_url, role="reader") if await is_current(found.database_url) else None
    try:
        async with connect(found.nats_url, name="openerrata-streams") as bus:
            before = await measure_flow(bus)
            while True:
                await asyncio.sleep(every_s)
                flow = await measure_flow(bus)
                positions = await read_positions(database) if database else {}
                _print(flow, compute_rates(before, flow), positions, as_json=as_json, clear=watch)
                if not watch:
                    return
                before = flow
    finally:
        if database:
            await database.close()


def _print(flow: Flow, per_s: Mapping[str, float], positions: Mapping[str, int], *, as_json: bool, clear: bool) -> None:
    if as_json:
        document = dataclasses.asdict(flow) | {"rates_per_s": per_s, "positions": positions}
        click.echo(orjson.dumps(document).decode())
        return
    if clear:
        click.clear()
    for line in render(flow, per_s, positions):
        click.echo(line)


def render(flow: Flow, per_s: Mapping[str, float], positions: Mapping[str, int]) -> Iterator[str]:
    """Yield the lines."""
    yield f"{'stream':<18}{'messages':>12}{'MB':>10}{'last':>12}{'per s':>9}{'read model':>24}"
    for stream in flow.streams:
        yield (
            f"{stream.name:<18}{stream.messages:>12,}{stream.size_bytes / 1e6:>10,.1f}{stream.last:>12,}"
            f"{per_s[stream.name]:>9.1f}{_format_lag(stream.name, stream.last, positions):>24}"
        )
    yield ""
    width = max((len(each.name) for each in flow.consumers), default=len("consumer"))
    yield (
        f"{'consumer':<{width}}{'waiting':>9}{'in hand':>9}{'again':>7}{'redeliv.':>10}{'dead':>7}"
        f"{'per s':>9}{'oldest':>9}"
    )
    for each in flow.consumers:
        line = (
            f"{each.name:<{width}}{each.waiting:>9,}{each.in_hand:>9,}{each.again:>7,}{each.redelivered:>10,}"
            f"{each.dead:>7,}{per_s[each.name]:>9.1f}{format_age(each.oldest_s):>9}"
        )
        yield line + "  PAUSED" if each.paused else line
    yield ""
    last = next((stream.last for stream in flow.streams if stream.name == ERRATA.name), 0)
    oldest = flow.conclude.oldest_s
    open_ = "none is open" if oldest is None else f"the oldest open one was requested {format_age(oldest)} ago"
    yield f"conclude: investigations requested up to {flow.conclude.mark:,} of {last:,} have ended; {open_}"


def _format_lag(stream: str, last: int, positions: Mapping[str, int]) -> str:
    if stream not in {each.name for each in PROJECTED}:
        return ""
    behind = last - positions.get(stream, 0)
    return f"{behind:,} behind" if behind > 0 else "up to date"


def format_age(seconds: float | None) -> str:
    """An age in its largest unit."""
    if seconds is None:
        return "–"
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
