"""`openerrata dead`: list, show, requeue or drop dead letters; resume a paused consumer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import click

from contracts.topology import CONSUMERS
from kit import circuit, dead_letters
from kit.bus import Bus
from kit.publisher import BusError
from services.commands.shared import Group, on_servers, run_on_bus
from services.commands.terminal import clean, clean_text

T = TypeVar("T")

CONSUMER_NAMES = [consumer.name for consumer in CONSUMERS]
consumer_option = click.option("--consumer", type=click.Choice(CONSUMER_NAMES), help="Only those of this consumer.")
chosen_argument = click.argument("numbers", metavar="[NUMBER]...", nargs=-1, type=click.IntRange(1))
every_option = click.option("--all", "all_", is_flag=True, help="All of them, or all of --consumer.")


@click.group(cls=Group)
def command() -> None:
    """List, show, requeue or drop dead letters.

    `list` shows the NUMBER and the CONSUMER of each.

    A consumer with too many dead letters pauses for a while; `resume` ends the pause.

    \b
    openerrata dead list
    openerrata dead requeue 7 9
    openerrata dead drop --all --consumer validator-claim-proposed
    """


@command.command(name="list")
@consumer_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@on_servers
def list_(consumer: str | None, as_json: bool, data_dir: Path) -> None:
    """List dead letters, oldest first, and count them by consumer."""

    async def main(bus: Bus) -> Counter[str]:
        counted: Counter[str] = Counter()
        async for kept in dead_letters.read_all(bus, consumer):
            counted[kept.dead_letter.consumer] += 1
            click.echo(_format_json(kept) if as_json else format_line(kept))
        return counted

    counted = _with_bus(data_dir, main)
    if not as_json:
        for name, number in counted.items():
            click.echo(f"{number:,} of {name}", err=True)
        if not counted:
            click.echo("no dead letters", err=True)


@command.command()
@click.argument("number", type=click.IntRange(1))
@on_servers
def show(number: int, data_dir: Path) -> None:
    """Show one dead letter: its reason, its origin and its body."""
    kept = _with_bus(data_dir, lambda bus: dead_letters.read(bus, number))
    letter = kept.dead_letter
    click.echo(f"number    {kept.number}, written {kept.stored_at:%Y-%m-%d %H:%M:%S} UTC")
    click.echo(f"consumer  {letter.consumer}, delivery {letter.delivery_count}")
    click.echo(f"reason    {clean(letter.reason)}")
    click.echo(f"fact      {letter.origin.stream} {letter.origin.sequence}  {letter.origin.subject}")
    click.echo(format_body(kept.body))


@command.command()
@chosen_argument
@every_option
@consumer_option
@on_servers
def requeue(numbers: tuple[int, ...], all_: bool, consumer: str | None, data_dir: Path) -> None:
    """Redeliver dead letters to their consumer, and to no other."""
    count = _with_bus(data_dir, lambda bus: for_each(bus, dead_letters.requeue, numbers, all_, consumer))
    click.echo(f"requeued {count:,}")


@command.command()
@chosen_argument
@every_option
@consumer_option
@on_servers
def drop(numbers: tuple[int, ...], all_: bool, consumer: str | None, data_dir: Path) -> None:
    """Delete dead letters; their facts stay in the log."""
    count = _with_bus(data_dir, lambda bus: for_each(bus, dead_letters.delete, numbers, all_, consumer))
    click.echo(f"dropped {count:,}")


@command.command()
@click.argument("consumer", metavar="CONSUMER", type=click.Choice(CONSUMER_NAMES))
@on_servers
def resume(consumer: str, data_dir: Path) -> None:
    """Resume a paused consumer at once, in all processes."""
    each = next(each for each in CONSUMERS if each.name == consumer)
    _with_bus(data_dir, lambda bus: circuit.resume(bus, each))
    click.echo(f"{consumer} is resumed")


async def for_each(
    bus: Bus,
    action: Callable[[Bus, dead_letters.StoredDeadLetter], Awaitable[object]],
    numbers: tuple[int, ...],
    all_: bool,
    consumer: str | None,
) -> int:
    """Act on the dead letters that exist now, without later ones; returns how many."""
    if all_ == bool(numbers) or (numbers and consumer):
        raise click.UsageError("give numbers of dead letters, or --all with or without --consumer")
    of_now = [kept async for kept in dead_letters.read_all(bus, consumer)] if all_ else []
    for kept in of_now:
        await action(bus, kept)
    for number in numbers:
        await action(bus, await dead_letters.read(bus, number))
    return len(of_now) + len(numbers)


def _with_bus(data_dir: Path, action: Callable[[Bus], Awaitable[T]]) -> T:
    return run_on_bus(data_dir, "dead", action, dead_letters.DeadLetterNotFound, BusError)


def format_line(kept: dead_letters.StoredDeadLetter) -> str:
    letter = kept.dead_letter
    return f"{kept.number:>6}  {kept.stored_at:%Y-%m-%d %H:%M}  {letter.consumer:<36} {clean(letter.reason[:100])}"


def _format_json(kept: dead_letters.StoredDeadLetter) -> str:
    letter = kept.dead_letter
    return json.dumps(
        {
            "number": kept.number,
            "at": kept.stored_at.isoformat(),
            "consumer": letter.consumer,
            "reason": letter.reason,
            "delivery_count": letter.delivery_count,
            **asdict(letter.origin),
        }
    )


def format_body(body: bytes) -> str:
    try:
        return clean_text(json.dumps(json.loads(body), indent=2, ensure_ascii=False))
    except ValueError:
        return repr(body)
