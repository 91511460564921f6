"""`openerrata doctor`: one line a check, and for each that fails what to do about it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import click
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

from contracts.readmodel import position, refused_fact
from contracts.topology import CONSUMERS, DEAD, ERRATA, STREAMS, VIEWS, stream_of
from kit import topology
from kit.blobs import Blobs
from kit.bus import Bus, connect
from kit.database import Database, is_current
from kit.models.base import KeyAccepted
from kit.models.choice import choose
from kit.pages import read_page
from kit.settings import Infrastructure, OpenAISettings, SettingsError, load
from kit.surroundings import Surroundings
from kit.trouble import explained
from services.commands.shared import data_dir_option, plain_errors, run, servers

CHECK_TIMEOUT_S = 15.0
BROKER_PATIENCE_S = 3.0
MUCH_LAG = 1_000
STANDSTILL_S = 2.0

Check = Callable[[], Awaitable["Finding"]]


@dataclass(frozen=True)
class Finding:
    """The outcome of one check. `advice` is set if something is to be done."""

    good: bool
    text: str
    advice: str = ""


@click.command()
@click.option("--ask-model", is_flag=True, help="Also make one tiny paid call to the model provider.")
@data_dir_option
@plain_errors
def command(ask_model: bool, data_dir: Path) -> None:
    """Check everything an instance needs and say what to do; exit status 1 if something is wrong.

    \b
    openerrata doctor --ask-model
    """
    with servers(data_dir, quieter="error") as found:
        bad = run(_examine(found, ask_model))
    sys.exit(1 if bad else 0)


async def _examine(found: Surroundings, ask_model: bool) -> int:
    bad = 0
    async with AsyncExitStack() as stack:
        alone: dict[str, Check] = {
            "database": lambda: _database(found),
            "blobs": lambda: _blobs(found),
            "refused facts": lambda: _refused(found),
            "model": lambda: _model(found, ask_model),
        }
        with_broker: dict[str, Check] = {}
        try:
            connecting = connect(found.nats_url, name="openerrata-doctor", first_answer_s=BROKER_PATIENCE_S)
            bus = await stack.enter_async_context(connecting)
            with_broker = {
                "broker": lambda: _broker(bus, found),
                "topology": lambda: _topology(bus),
                "copies": lambda: _copies(bus),
                "lag": lambda: _lag(bus),
                "projector": lambda: _projector(bus, found),
                "dead letters": lambda: _dead(bus),
            }
        except SettingsError as error:
            waiting = "topology, copies, lag, projector and dead letters are looked at when it answers"
            bad += _report("broker", Finding(False, str(error), waiting))
        for name, check in (with_broker | alone).items():
            bad += _report(name, await _attempt(check))
    return bad


async def _attempt(check: Check) -> Finding:
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            return await check()
    except Exception as error:
        told = explained(error)
        if told is not None:
            return Finding(False, told)
        if isinstance(error, TimeoutError):
            return Finding(False, f"no answer within {CHECK_TIMEOUT_S:g} s", "see the log of that server")
        return Finding(False, f"{type(error).__name__}: {error}", "nothing we expected: please report it")


def _report(name: str, finding: Finding) -> int:
    mark = click.style("ok  ", fg="green") if finding.good else click.style("BAD ", fg="red")
    click.echo(f"{mark}{name:<13} {finding.text}")
    if finding.advice:
        click.echo(f"                  → {finding.advice}")
    return 0 if finding.good else 1


async def _broker(bus: Bus, found: Surroundings) -> Finding:
    try:
        await topology.require_durable(bus, found.nats_monitor_url)
    except topology.UnsafeBroker as error:
        return Finding(False, "it may forget what it acknowledged", str(error))
    problem = await bus.writes.problem()
    if problem:
        return Finding(False, "it stores nothing", problem)
    return Finding(True, f"NATS {bus.client.connected_server_version} writes before it acknowledges")


async def _topology(bus: Bus) -> Finding:
    wanted = load(Infrastructure)
    wrong = [
        item async for item in topology.differences(bus, replicas=wanted.nats_replicas, ack_wait_s=wanted.ack_wait_s)
    ]
    if wrong:
        listed = "; ".join(f"{item.thing}: {item.found}, wanted {item.wanted}" for item in wrong)
        return Finding(False, listed, "run `openerrata topology apply`")
    return Finding(True, f"{len(STREAMS)} streams and {len(CONSUMERS)} consumers are as declared")


async def _copies(bus: Bus) -> Finding:
    behind: list[str] = []
    for stream in STREAMS:
        cluster = (await bus.jetstream.stream_info(stream.name)).cluster
        peers = (cluster.replicas or []) if cluster is not None else []
        states = {
            peer.name: "offline" if peer.offline else f"{peer.lag or 0} behind" for peer in peers if not peer.current
        }
        behind += [f"{stream.name} on {name}: {state}" for name, state in states.items()]
    if behind:
        advice = "start that node; if it is there and does not catch up within minutes, restart it"
        return Finding(False, "; ".join(behind), advice)
    return Finding(True, "every copy of every stream is up to date")


async def _database(found: Surroundings) -> Finding:
    if not await is_current(found.database_url):
        return Finding(False, "not migrated", "start the projector: `openerrata up projector`")
    database = Database(found.database_url, role="projector")
    try:
        await database.write()
    except OperationalError as error:
        advice = "free space, and start it if it has ended: a full disk of its log ends it"
        return Finding(False, f"it stores nothing: {explained(error)}", advice)
    finally:
        await database.close()
    return Finding(True, "reachable, migrated, and it stores what it is sent")


async def _lag(bus: Bus) -> Finding:
    waiting = {}
    for consumer in CONSUMERS:
        info = await bus.jetstream.consumer_info(stream_of(consumer.event).name, consumer.name)
        waiting[consumer.name] = info.num_pending or 0
    worst = max(waiting, key=lambda name: waiting[name])
    if waiting[worst] > MUCH_LAG:
        return Finding(False, f"{worst} has {waiting[worst]} messages waiting", "start more of that service")
    return Finding(True, f"{sum(waiting.values())} messages waiting")


async def _projector(bus: Bus, found: Surroundings) -> Finding:
    ends = {
        stream.name: (await bus.jetstream.stream_info(stream.name)).state.last_seq
        for stream in (ERRATA, VIEWS)  # the projector follows these; others hold no facts of their own
    }
    database = Database(found.database_url, role="reader")
    try:
        before = await _positions(database)
        at = before
        deadline = asyncio.get_running_loop().time() + STANDSTILL_S
        while any(at.get(name, 0) < end for name, end in ends.items()):
            if asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(0.1)
            at = await _positions(database)
    finally:
        await database.close()
    behind = {name: end - at.get(name, 0) for name, end in ends.items() if at.get(name, 0) < end}
    told = ", ".join(f"{count} facts of {name}" for name, count in behind.items())
    still = next((name for name in behind if at.get(name, 0) == before.get(name, 0)), None)
    if still is not None:
        following = at.get(still, 0) + 1
        return Finding(
            False,
            f"the read model lacks {told} and stands still before {await _named(bus, still, following)}",
            "start the projector, or see its log: `openerrata up projector`; if this fact ends it each time: "
            f"`openerrata projector skip {following} --stream {still} --reason …`",
        )
    if any(count > MUCH_LAG for count in behind.values()):
        return Finding(False, f"the read model lacks {told}", "the projector is at work: look again in a minute")
    return Finding(True, f"the read model lacks {told}" if behind else "the read model holds every fact")


async def _named(bus: Bus, stream: str, sequence: int) -> str:
    page = await read_page(bus, stream, (">",), after=sequence - 1, limit=1)
    if not page.messages or page.messages[0].sequence != sequence:
        return f"{stream} {sequence}, which the stream does not hold"
    return f"{stream} {sequence} ({page.messages[0].subject})"


async def _refused(found: Surroundings) -> Finding:
    database = Database(found.database_url, role="reader")
    try:
        async with database.connect() as connection:
            counts = select(refused_fact.c.outcome, func.count()).group_by(refused_fact.c.outcome).order_by("outcome")
            outcomes: dict[str, int] = dict((await connection.execute(counts)).tuples().all())
            newest = select(refused_fact).order_by(refused_fact.c.sequence.desc()).limit(1)
            row = (await connection.execute(newest)).one_or_none()
    finally:
        await database.close()
    if row is None:
        return Finding(True, "none")
    told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    last = f"{told}; the newest is {row.stream} {row.sequence} ({row.subject}): {row.reason}"
    if set(outcomes) == {"skipped"}:
        return Finding(True, last)
    return Finding(
        False, last, "mend the cause, then `openerrata projector rebuild`; all are in the table refused_fact"
    )


async def _positions(database: Database) -> dict[str, int]:
    async with database.connect() as connection:
        rows = (await connection.execute(select(position.c.stream, position.c.sequence))).all()
    return {row.stream: row.sequence for row in rows}


async def _dead(bus: Bus) -> Finding:
    count = (await bus.jetstream.stream_info(DEAD.name)).state.messages
    if count:
        advice = "each says why it was given up: `openerrata dead list`, then `dead requeue` or `dead drop`"
        return Finding(False, f"{count} messages", advice)
    return Finding(True, "none")


async def _blobs(found: Surroundings) -> Finding:
    blobs = Blobs(found.blobs)
    try:
        await blobs.require()
        problem = await blobs.problem()
    finally:
        blobs.close()
    if problem:
        return Finding(False, f"it stores nothing: {problem}")
    return Finding(True, f"bucket {found.blobs.bucket!r} at {found.blobs.endpoint}")


async def _model(found: Surroundings, ask: bool) -> Finding:
    openai = load(OpenAISettings)
    try:
        model = choose(load(Infrastructure), openai, embedded=found.embedded)
    except SettingsError as error:
        return Finding(False, "no model", str(error))
    if model.labelled_demo:
        return Finding(True, "the offline demo catalogue; set OPENAI_API_KEY for a real model")
    named = f"{model.name.provider} {model.name.model}"
    if not ask:
        return Finding(True, f"{named}, not asked (add --ask-model)")
    status = await model.probe_own()
    if isinstance(status, KeyAccepted):
        return Finding(True, f"{named} answers")
    return Finding(False, f"{named}: {status.message}", "check the provider's key, address and model id")
