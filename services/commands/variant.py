"""`openerrata variant`: show how much of each variant is displayed, and enter the result of its gate tier."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from accuracy.facts import GateTier
from accuracy.volume import CLEAN_CONTROLS, REVIEWS_TO_FULL, SHADOW_RUNS, Full, Limited, Shadow, advance
from kit.bus import Bus
from kit.clock import Clock, SystemClock
from kit.database import Database
from services.commands.breaker import by_option
from services.commands.database import run_on_tables
from services.commands.gate_tier import TierReport, read_gate_tier
from services.commands.reviews.samples import wait_for_projection
from services.commands.shared import Group, on_servers
from services.curator.record.volumes import SqlVolumes
from services.curator.volumes import KnownVariant, Seen, make_change, to_volume

_SHORT: Final = 12


@click.group(cls=Group)
def command() -> None:
    """Show how much of what a variant finds is displayed.

    A variant is a prompt, a model, rules and gates together. With OPENERRATA_CURATOR_VARIANTS=on a new one shows
    nothing until 200 runs, 150 controls and the gate tier are clean, then 10 findings a day and more with
    each 30 reviews.

    \b
    openerrata variant show
    python -m tests.bench cases --tier gate --live --max-usd 20 --window 400000 > gate.txt
    openerrata variant admit 5a1c9e02 --report gate.txt --by "A. Operator"
    """


@command.command()
@on_servers
def show(data_dir: Path) -> None:
    """Show every variant that has a volume, and what it still has to earn."""

    async def work(bus: Bus, database: Database) -> list[str]:
        record = SqlVolumes(database)
        return [_describe(each, await record.seen(each)) for each in await record.known()]

    lines = run_on_tables(data_dir, work)
    for line in lines or ["no variant has a volume: whatever passes all gates is displayed"]:
        click.echo(line)


@command.command(name="admit")
@click.argument("variant")
@click.option(
    "--report",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="What the bench printed of the gate tier.",
)
@by_option
@on_servers
def admit_(variant: str, report: Path, by: str, data_dir: Path) -> None:
    """Enter the result of a variant's gate tier. It leaves the shadow once its runs and controls are clean too.

    VARIANT is its hash, of which the first characters are enough. A tier with a false flag puts it into the shadow.
    """

    click.echo(
        run_on_tables(
            data_dir,
            lambda bus, database: admit(bus, database, SystemClock(), variant, read_gate_tier(report), by),
        )
    )


async def admit(bus: Bus, database: Database, clock: Clock, variant: str, report: TierReport, by: str) -> str:
    """Publish the result; returns the message. Raises: click.ClickException: unknown variant, or report of another."""
    await wait_for_projection(bus, database)
    matching = [each for each in await SqlVolumes(database).known() if each.variant.startswith(variant)]
    if len(matching) != 1:
        raise click.ClickException(f"{len(matching) or 'no'} variants begin with {variant!r}; see `variant show`")
    (known,) = matching
    if (report.provider, report.model) != (known.parts.provider, known.parts.model):
        raise click.ClickException(
            f"the report is of {report.provider} {report.model}, not of {known.parts.provider} {known.parts.model}"
        )
    volume = to_volume(known)
    following = advance(volume, report.state)
    if following == volume:
        return f"nothing changed: it is {known.state}"
    why = "the gate tier is clean" if report.state is GateTier.CLEAN else "the gate tier has failed"
    event = make_change(known, following, through=known.through, why=why, by=by, now=clock.now())
    if not await bus.publish_if_first(event, clock.new_id()):
        raise click.ClickException("it changed at the same moment; see `openerrata variant show`")
    return why


def _describe(known: KnownVariant, seen: Seen) -> str:
    parts = known.parts
    name = f"{known.variant[:_SHORT]}  {parts.provider} {parts.model}, prompt {parts.prompt_version}"
    match to_volume(known):
        case Shadow(gate_tier=tier):
            earned = (
                f"SHADOW: {seen.runs} of {SHADOW_RUNS} runs, {seen.controls} of {CLEAN_CONTROLS} controls, "
                f"gate tier {tier.value}"
            )
        case Limited(clean=clean):
            counted = clean + len(seen.reviews)
            earned = f"LIMITED to {known.quota} findings a day: {counted} of {REVIEWS_TO_FULL} reviews without WRONG"
        case Full():
            earned = "FULL"
    return f"{name}\n  {earned}"
