"""`openerrata dead`: look at what nobody could handle, hand it back, or drop it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click

from contracts.topology import CONSUMERS
from kit import circuit, dead
from kit.bus import Bus, BusError, connect
from services.commands.shared import Group, data_dir_option, plain_errors, run, servers

T = TypeVar("T")

NAMES = [consumer.name for consumer in CONSUMERS]
consumer_option = click.option("--consumer", type=click.Choice(NAMES), help="Only this consumer's letters.")
chosen_argument = click.argument("numbers", metavar="[NUMBER]...", nargs=-1, type=click.IntRange(1))
every_option = click.option("--all", "every", is_flag=True, help="All of them, or all of --consumer.")


@click.group(cls=Group)
def command() -> None:
    """Look at dead letters, hand them back, or drop them.

    NUMBER is a letter's and CONSUMER is whose it is, both as `list` shows them.

    A consumer that gives up too much pauses for a while; `resume` lets it go on at once.

    \b
    openerrata dead list
    openerrata dead requeue 7 9
    openerrata dead drop --all --consumer validator-claim-proposed
    """


@command.command(name="list")
@consumer_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@data_dir_option
@plain_errors
def list_(consumer: str | None, as_json: bool, data_dir: Path) -> None:
    """List dead letters, oldest first; then how many each consumer has."""

    async def main(bus: Bus) -> Counter[str]:
        counted: Counter[str] = Counter()
        async for kept in dead.letters(bus, consumer):
            counted[kept.letter.consumer] += 1
            click.echo(_as_json(kept) if as_json else _line(kept))
        return counted

    counted = _with_bus(data_dir, main)
    if not as_json:
        for name, number in counted.items():
            click.echo(f"{number:,} of {name}", err=True)
        if not counted:
            click.echo("no dead letters", err=True)


@command.command()
@click.argument("number", type=click.IntRange(1))
@data_dir_option
@plain_errors
def show(number: int, data_dir: Path) -> None:
    """Show one dead letter whole: why, where from, and what it says."""
    kept = _with_bus(data_dir, lambda bus: dead.letter(bus, number))
    letter = kept.letter
    click.echo(f"number    {kept.number}, written {kept.at:%Y-%m-%d %H:%M:%S} UTC")
    click.echo(f"consumer  {letter.consumer}, attempt {letter.attempt}")
    click.echo(f"reason    {letter.reason}")
    click.echo(f"fact      {letter.stream} {letter.sequence}  {letter.subject}")
    click.echo(_readable(kept.body))


@command.command()
@chosen_argument
@every_option
@consumer_option
@data_dir_option
@plain_errors
def requeue(numbers: tuple[int, ...], every: bool, consumer: str | None, data_dir: Path) -> None:
    """Hand letters back to the consumer that gave them up; nobody else sees them again."""

    async def main(bus: Bus) -> int:
        count = 0
        async for kept in _chosen(bus, numbers, every, consumer):
            await dead.requeue(bus, kept)
            count += 1
        return count

    click.echo(f"handed back {_with_bus(data_dir, main):,}")


@command.command()
@chosen_argument
@every_option
@consumer_option
@data_dir_option
@plain_errors
def drop(numbers: tuple[int, ...], every: bool, consumer: str | None, data_dir: Path) -> None:
    """Remove letters for good; the facts they are about stay in the log."""

    async def main(bus: Bus) -> int:
        count = 0
        async for kept in _chosen(bus, numbers, every, consumer):
            await dead.drop(bus, kept)
            count += 1
        return count

    click.echo(f"dropped {_with_bus(data_dir, main):,}")


@command.command()
@click.argument("consumer", metavar="CONSUMER", type=click.Choice(NAMES))
@data_dir_option
@plain_errors
def resume(consumer: str, data_dir: Path) -> None:
    """Let a paused consumer go on at once, in all processes."""
    each = next(each for each in CONSUMERS if each.name == consumer)
    _with_bus(data_dir, lambda bus: circuit.resume(bus, each))
    click.echo(f"{consumer} goes on")


async def _chosen(bus: Bus, numbers: tuple[int, ...], every: bool, consumer: str | None) -> AsyncIterator[dead.Kept]:
    """The letters that lie now; those that come while we work are for the next time."""
    if every == bool(numbers):
        raise click.UsageError("give the numbers of letters, or --all")
    if every:
        for kept in [kept async for kept in dead.letters(bus, consumer)]:
            yield kept
    for number in numbers:
        yield await dead.letter(bus, number)


def _with_bus(data_dir: Path, action: Callable[[Bus], Awaitable[T]]) -> T:
    async def main(url: str) -> T:
        async with connect(url, name="openerrata-dead") as bus:
            return await action(bus)

    with servers(data_dir, quieter="error") as found:
        try:
            return run(main(found.nats_url))
        except (dead.NoSuchLetter, BusError) as error:
            raise click.ClickException(str(error)) from error


def _line(kept: dead.Kept) -> str:
    return f"{kept.number:>6}  {kept.at:%Y-%m-%d %H:%M}  {kept.letter.consumer:<36} {kept.letter.reason[:100]}"


def _as_json(kept: dead.Kept) -> str:
    letter = kept.letter
    return json.dumps(
        {
            "number": kept.number,
            "at": kept.at.isoformat(),
            "consumer": letter.consumer,
            "reason": letter.reason,
            "attempt": letter.attempt,
            "stream": letter.stream,
            "sequence": letter.sequence,
            "subject": letter.subject,
        }
    )


def _readable(body: bytes) -> str:
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        return repr(body)
