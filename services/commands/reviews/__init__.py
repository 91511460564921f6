"""`openerrata reviews`: have published findings reviewed by people outside, which is what /accuracy rests on."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path
from typing import Final

import click
from pydantic import TypeAdapter, ValidationError

from accuracy.reviews import count_reviews
from contracts.v1.codes import ReviewerName, Seed
from contracts.v1.review import MOST_SAMPLED
from kit.bus import Bus
from kit.clock import SystemClock
from kit.database import Database
from kit.servers_in_use import Servers
from kit.settings import load
from services.commands.database import LOG_AND_TABLES, open_tables, run_on_tables
from services.commands.reviews.decisions import Imported, import_verdicts
from services.commands.reviews.samples import Period, SheetLine, draw, find_seed
from services.commands.reviews.sheet import BadSheet, parse_sheet, write_sheet
from services.commands.shared import Group, as_message, on_servers, run_on_servers
from services.commands.terminal import format_count
from services.gateway.ports import Unavailable
from services.gateway.record.repository import PublicRecord
from services.gateway.record.reviews import ReviewRecord
from services.gateway.settings import GatewaySettings


@click.group(cls=Group)
def command() -> None:
    """Have published findings reviewed by people outside. /accuracy shows the results.

    \b
    openerrata reviews draw --from 2026-11-01 --to 2026-11-30 --size 100 --seed "beacon 5821734"
    openerrata reviews import sheet.csv --reviewer "A. Fact Checker"
    openerrata reviews show
    """


_DAY: Final = click.DateTime(["%Y-%m-%d"])
_SEED: Final[TypeAdapter[str]] = TypeAdapter(Seed)
_NAME: Final[TypeAdapter[str]] = TypeAdapter(ReviewerName)


def _read_seed(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    return _validate(_SEED, value, "must be one line of at most 200 printable ASCII characters")


def _read_name(_: click.Context, __: click.Parameter, value: str) -> str:
    return _validate(_NAME, value, "must be at most 40 letters, digits, blanks, dots, hyphens or underscores")


def _validate(kind: TypeAdapter[str], value: str, message: str) -> str:
    try:
        return kind.validate_python(value)
    except ValidationError:
        raise click.BadParameter(message) from None


@command.command(name="draw")
@click.option("--from", "first", type=_DAY, required=True, metavar="DAY", help="The first day in UTC, e.g. 2026-11-01.")
@click.option("--to", "last", type=_DAY, required=True, metavar="DAY", help="The last day; it must be over.")
@click.option("--size", type=click.IntRange(1, MOST_SAMPLED), required=True, help="How many findings to draw.")
@click.option(
    "--seed",
    callback=_read_seed,
    metavar="TEXT",
    help="Something public that was unknown before the last day. [default: a cosigned root of the decision log]",
)
@on_servers
def draw_(first: datetime, last: datetime, size: int, seed: str | None, data_dir: Path) -> None:
    """Draw findings that were published in these days, and write the sheet for reviewers as CSV.

    The seed is the root of the first note of the decision log that a witness cosigned after the last day, which no one
    could choose. Without such a log, use something else that is public and was unknown before, such as the round of a
    randomness beacon. A repeated command draws no new sample and writes the same sheet. The projector must be running.

    \b
    openerrata reviews draw --from 2026-11-01 --to 2026-11-30 --size 100
    openerrata reviews draw --from 2026-11-01 --to 2026-11-30 --size 100 --seed "beacon 5821734"
    """
    period = _make_period(first.date(), last.date())
    base = load(GatewaySettings).public_url.rstrip("/")

    async def work(bus: Bus, database: Database) -> list[SheetLine]:
        chosen = seed or await find_seed(database, period)
        return await draw(bus, database, SystemClock(), period, size=size, seed=chosen, base=base)

    lines = run_on_tables(data_dir, work)
    write_sheet(sys.stdout, lines)
    click.echo(f"{format_count(len(lines), 'finding')} drawn", err=True)


@command.command(name="import")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--reviewer", required=True, callback=_read_name, metavar="NAME", help="Who reviewed; the name becomes public."
)
@on_servers
def import_(file: Path, reviewer: str, data_dir: Path) -> None:
    """Store the verdicts of FILE, a CSV with the columns `claim` and `verdict`.

    A line without a verdict is left out. A verdict is RIGHT, PARTLY or WRONG. Nothing is stored unless every line is
    valid. Repeating a file changes nothing; another verdict of the same reviewer replaces the earlier one. The
    projector must be running.

    \b
    openerrata reviews import sheet.csv --reviewer "A. Fact Checker"
    """
    try:
        verdicts = parse_sheet(file.read_bytes())
    except (OSError, BadSheet) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise click.ClickException(f"{file}: {reason}") from error

    async def work(bus: Bus, database: Database) -> Imported:
        return await import_verdicts(bus, database, SystemClock(), verdicts, reviewer)

    try:
        done = run_on_tables(data_dir, work)
    except BadSheet as error:
        raise click.ClickException(f"{file}: {error}") from error
    click.echo(f"{done.stored:,} verdicts stored, {done.known:,} known before")


@command.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@on_servers
def show(as_json: bool, data_dir: Path) -> None:
    """Show the samples and the reviewers' verdicts, as /accuracy does."""

    async def work(found: Servers) -> ReviewRecord:
        async with open_tables(found) as database, PublicRecord(database).open() as session:
            return await session.reviews.read()

    with as_message(Unavailable):
        record = run_on_servers(data_dir, work, needs=LOG_AND_TABLES)
    counts = count_reviews((each.claim_id, each.verdict) for each in record.decisions)
    bound = counts.wrong_at_most
    if as_json:
        samples = [asdict(sample) for sample in record.samples]
        document = {"samples": samples, **asdict(counts), "wrong_at_most": bound}
        click.echo(json.dumps(document, indent=2, default=str))
        return
    for sample in record.samples:
        click.echo(f"{sample.first_day} to {sample.last_day}  {sample.drawn:,} of {sample.drawn_from:,}  {sample.seed}")
    click.echo(f"reviewed  {counts.reviewed:,}")
    click.echo(f"right     {counts.right:,}")
    click.echo(f"partly    {counts.partly:,}")
    click.echo(f"wrong     {counts.wrong:,}")
    click.echo(f"at most   {'not measured' if bound is None else f'{bound:.2%} are wrong (95 %)'}")


def _make_period(first: date, last: date) -> Period:
    try:
        return Period(first, last)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--from") from None
