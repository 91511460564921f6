"""`openerrata breaker`: show what stops findings from being displayed, begin its trial, close it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

import click

from accuracy.breaker import Trial, find_missing, has_failed
from accuracy.facts import GateTier
from accuracy.volume import FIRST_QUOTA, Limited, quota
from contracts.v1 import BreakerChanged, VariantChanged
from kit.bus import Bus
from kit.clock import Clock, SystemClock
from kit.database import Database
from services.commands.database import run_on_tables
from services.commands.gate_tier import TierReport, read_gate_tier
from services.commands.reviews.samples import wait_for_projection
from services.commands.shared import Group, on_servers, read_line
from services.commands.stopped import release_stopped
from services.commands.terminal import clean
from services.curator.breaking import EVERY, NEW, KnownBreaker
from services.curator.record.volumes import SqlVolumes
from services.curator.record.watched import SqlWatchRecord
from services.curator.volumes import UnknownVariant, make_change

LONGEST_CAUSE: Final = 500
_SHORT: Final = 12


@click.group(cls=Group)
def command() -> None:
    """Show what stops findings from being displayed, and let them be displayed again.

    A breaker opens by itself; every finding of its scope is suspended. SCOPE is ALL, NEW (findings that are not
    displayed yet) or a variant, of which the first characters are enough.

    \b
    openerrata breaker show
    openerrata breaker half-open ALL --cause "An index was empty; it is full again." --by "A. Operator"
    python -m tests.bench cases --tier gate --live --max-usd 20 --window 400000 > gate.txt
    openerrata breaker close ALL --cause "The trial was clean." --by "A. Operator" --report gate.txt
    openerrata breaker release ALL --note "The fault was ours, and none of it was in this correction."
    """


scope_argument = click.argument("scope")
cause_option = click.option(
    "--cause",
    required=True,
    callback=read_line(LONGEST_CAUSE, "a sentence"),
    help="What the cause was and what was done about it; this becomes public.",
)
by_option = click.option("--by", required=True, callback=read_line(40, "a name"), help="Your name; it becomes public.")


@command.command()
@on_servers
def show(data_dir: Path) -> None:
    """Show every breaker that was ever open: what opened it, and what it waits for."""

    async def work(bus: Bus, database: Database) -> list[str]:
        record = SqlWatchRecord(bus, database)
        lines = []
        for breaker in (await record.breakers()).values():
            lines += await _describe(record, breaker, SystemClock())
        return lines

    lines = run_on_tables(data_dir, work)
    for line in lines or ["no breaker was ever open"]:
        click.echo(line)


@command.command(name="half-open")
@scope_argument
@cause_option
@by_option
@on_servers
def half_open_(scope: str, cause: str, by: str, data_dir: Path) -> None:
    """Begin the trial of an open breaker: 48 hours and 150 controls in the shadow. Nothing is displayed meanwhile."""

    click.echo(run_on_tables(data_dir, lambda bus, database: half_open(bus, database, SystemClock(), scope, cause, by)))


@command.command(name="close")
@scope_argument
@cause_option
@by_option
@click.option(
    "--report",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="What the bench printed of the gate tier.",
)
@on_servers
def close_(scope: str, cause: str, by: str, report: Path, data_dir: Path) -> None:
    """Close a breaker whose trial was clean. Volume is earned anew from 10 findings a day.

    What was suspended comes back by `openerrata breaker release`, or one by one by `openerrata finding release`. After
    a trial that was not clean it is open again.
    """

    click.echo(
        run_on_tables(
            data_dir,
            lambda bus, database: close(bus, database, SystemClock(), scope, cause, by, read_gate_tier(report)),
        )
    )


@command.command(name="release")
@scope_argument
@click.option(
    "--note",
    required=True,
    callback=read_line(LONGEST_CAUSE, "a sentence"),
    help="Why, in a sentence for readers; it stands beside each finding.",
)
@on_servers
def release_(scope: str, note: str, data_dir: Path) -> None:
    """Release the findings that a breaker suspended, once it is closed.

    Retract those that are wrong first. Findings that an outside review found wrong, or that may not be released now,
    stay suspended.
    """

    async def work(bus: Bus, database: Database) -> str:
        breaker = await _find(bus, database, scope)
        return await release_stopped(bus, database, SystemClock(), breaker, note)

    click.echo(run_on_tables(data_dir, work))


async def half_open(bus: Bus, database: Database, clock: Clock, scope: str, cause: str, by: str) -> str:
    """Publish that the trial begins; returns the message. Raises: click.ClickException: the breaker is not open."""
    breaker = await _find(bus, database, scope)
    if breaker.state != "OPEN":
        raise click.ClickException(f"{breaker.scope} is {breaker.state}; only an open breaker begins its trial")
    event = BreakerChanged(follows=breaker.sequence, scope=breaker.scope, state="HALF_OPEN", cause=cause, by=by)
    await _publish(bus, clock, event)
    return "half open: 48 hours and 150 controls in the shadow; nothing of it is displayed meanwhile"


async def close(bus: Bus, database: Database, clock: Clock, scope: str, cause: str, by: str, report: TierReport) -> str:
    """Publish that the breaker is closed, or that its trial failed; returns the message.

    Raises: click.ClickException: it is not half open, or its trial is not complete; nothing changes.
    """
    breaker = await _find(bus, database, scope)
    if breaker.state != "HALF_OPEN" or breaker.since is None:
        raise click.ClickException(f"{breaker.scope} is {breaker.state}; only a breaker that is half open can close")
    trial = await _read_trial(SqlWatchRecord(bus, database), breaker, report.state)
    if has_failed(trial):
        event = BreakerChanged(follows=breaker.sequence, scope=breaker.scope, state="OPEN", cause=cause, by=by)
        await _publish(bus, clock, event)
        return f"open again: {trial.flagged} of {trial.controls} controls flagged, gate tier {trial.gate_tier.value}"
    if missing := find_missing(breaker.since, trial, clock.now()):
        raise click.ClickException(f"it cannot close yet: {'; '.join(missing)}")
    await _limit(bus, database, clock, breaker.scope, cause, by)
    event = BreakerChanged(
        follows=breaker.sequence, scope=breaker.scope, state="CLOSED", cause=cause, by=by, quota=FIRST_QUOTA
    )
    await _publish(bus, clock, event)
    return f"closed; {FIRST_QUOTA} findings a day at first"


async def _limit(bus: Bus, database: Database, clock: Clock, scope: str, cause: str, by: str) -> None:
    """Let the variants of a scope earn their volume anew; those in the shadow stay there."""
    now, record = clock.now(), SqlVolumes(database)
    through = await SqlWatchRecord(bus, database).newest()
    known = [each for each in await record.known() if scope in (EVERY, NEW, each.variant) and each.state != "SHADOW"]
    unknown = [each for each in await record.unknown(now) if scope in (EVERY, NEW, each.variant)]
    for event in (
        *(make_change(each, Limited(), through=through, why=cause, by=by, now=now) for each in known),
        *(limit_unknown(each, through=through, why=cause, by=by, now=now) for each in unknown),
    ):
        await _publish(bus, clock, event)


def limit_unknown(unknown: UnknownVariant, *, through: int, why: str, by: str, now: datetime) -> VariantChanged:
    """The event by which a variant without a volume begins at the first step, after its breaker closed."""
    return VariantChanged(
        variant=unknown.variant,
        parts=unknown.parts,
        state="LIMITED",
        quota=quota(Limited()),
        gate_tier="CLEAN",
        since=now,
        through=through,
        why=why,
        by=by,
    )


async def _find(bus: Bus, database: Database, scope: str) -> KnownBreaker:
    await wait_for_projection(bus, database)
    breakers = await SqlWatchRecord(bus, database).breakers()
    if scope in (EVERY, NEW):
        matching = [each for name, each in breakers.items() if name == scope]
    else:
        matching = [each for name, each in breakers.items() if name not in (EVERY, NEW) and name.startswith(scope)]
    if len(matching) != 1:
        raise click.ClickException(f"{len(matching) or 'no'} breakers are of the scope {scope!r}; see `breaker show`")
    return matching[0]


async def _read_trial(record: SqlWatchRecord, breaker: KnownBreaker, tier: GateTier) -> Trial:
    """The trial since the breaker is half open: controls of the variant, or of all variants."""
    controls = [
        each
        for each in await record.controls()
        if breaker.since is not None and each.at > breaker.since and breaker.scope in (EVERY, NEW, each.variant)
    ]
    return Trial(len(controls), sum(each.is_flagged for each in controls), tier)


async def _describe(record: SqlWatchRecord, breaker: KnownBreaker, clock: Clock) -> list[str]:
    name = breaker.scope if breaker.scope in (EVERY, NEW) else breaker.scope[:_SHORT]
    lines = [f"{name}  {breaker.state}"]
    if breaker.state != "CLOSED":
        lines += [
            f"  {each.at:%Y-%m-%d %H:%M}  {each.trigger}: {clean(each.numbers or '')}" for each in breaker.triggers
        ]
    if breaker.state == "HALF_OPEN" and breaker.since is not None:
        trial = await _read_trial(record, breaker, GateTier.PENDING)
        lines += [f"  waits: {each}" for each in find_missing(breaker.since, trial, clock.now())]
    return lines


async def _publish(bus: Bus, clock: Clock, event: BreakerChanged | VariantChanged) -> None:
    if not await bus.publish_if_first(event, clock.new_id()):
        raise click.ClickException("it changed at the same moment; see `openerrata breaker show`")
