"""`openerrata doctor`: one line for each check, with advice where it fails."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import click
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

from contracts.readmodel.ledger import refused_fact
from contracts.topology import CONSUMERS, DEAD, PROJECTED, STREAMS, stream_of
from kit import topology
from kit.blobs import Blobs
from kit.bus import Bus, connect
from kit.database import is_current
from kit.model_settings import OpenAISettings
from kit.models.base import KeyAccepted
from kit.models.choice import choose
from kit.operator_errors import explain
from kit.pages import read_page
from kit.servers_in_use import Servers
from kit.settings import Infrastructure, SettingsError, load
from services.commands.database import open_database, read_positions
from services.commands.shared import on_servers, run_on_servers
from services.commands.terminal import clean, format_count

CHECK_TIMEOUT_S = 15.0
BROKER_TIMEOUT_S = 3.0
MAX_LAG = 1_000
STANDSTILL_S = 2.0

Check = Callable[[], Awaitable["Finding"]]


@dataclass(frozen=True)
class Finding:
    """The outcome of one check. `advice`: what to do."""

    good: bool
    text: str
    advice: str = ""


@click.command()
@click.option("--ask-model", is_flag=True, help="Also make one tiny paid call to the model provider.")
@on_servers
def command(ask_model: bool, data_dir: Path) -> None:
    """Check everything an instance needs and say what to do; exit status 1 if something is wrong.

    \b
    openerrata doctor --ask-model
    """
    bad = run_on_servers(data_dir, lambda found: _run_checks(found, ask_model))
    sys.exit(1 if bad else 0)


async def _run_checks(found: Servers, ask_model: bool) -> int:
    bad = 0
    async with AsyncExitStack() as stack:
        independent: dict[str, Check] = {
            "database": lambda: _check_database(found),
            "blobs": lambda: _check_blobs(found),
            "refused facts": lambda: _check_refused_facts(found),
            "model": lambda: _check_model(found, ask_model),
        }
        with_broker: dict[str, Check] = {}
        try:
            connecting = connect(found.nats_url, name="openerrata-doctor", startup_timeout_s=BROKER_TIMEOUT_S)
            bus = await stack.enter_async_context(connecting)
            with_broker = {
                "broker": lambda: _check_broker(bus, found),
                "topology": lambda: _check_topology(bus),
                "copies": lambda: _check_replicas(bus),
                "lag": lambda: _check_lag(bus),
                "projector": lambda: _check_projector(bus, found),
                "dead letters": lambda: _check_dead_letters(bus),
            }
        except SettingsError as error:
            waiting = "topology, copies, lag, projector and dead letters are checked once it answers"
            bad += _report("broker", Finding(False, str(error), waiting))
        for name, check in (with_broker | independent).items():
            bad += _report(name, await _run_check(check))
    return bad


async def _run_check(check: Check) -> Finding:
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            return await check()
    except Exception as error:
        summary = explain(error)
        if summary is not None:
            return Finding(False, summary)
        if isinstance(error, TimeoutError):
            return Finding(False, f"no answer within {CHECK_TIMEOUT_S:g} s", "see the log of that server")
        return Finding(False, f"{type(error).__name__}: {error}", "an unexpected error: please report it")


def _report(name: str, finding: Finding) -> int:
    mark = click.style("ok  ", fg="green") if finding.good else click.style("BAD ", fg="red")
    click.echo(f"{mark}{name:<13} {clean(finding.text)}")
    if finding.advice:
        click.echo(f"                  → {finding.advice}")
    return 0 if finding.good else 1


async def _check_broker(bus: Bus, found: Servers) -> Finding:
    try:
        await topology.require_durable(bus, found.nats_monitor_url)
    except topology.UnsafeBroker as error:
        return Finding(False, "it may lose acknowledged messages", str(error))
    problem = await bus.writes.problem()
    if problem:
        return Finding(False, "it stores nothing", problem)
    return Finding(True, f"NATS {bus.client.connected_server_version} writes before it acknowledges")


async def _check_topology(bus: Bus) -> Finding:
    wanted = load(Infrastructure)
    wrong = [
        item
        async for item in topology.find_differences(bus, replicas=wanted.nats_replicas, ack_wait_s=wanted.ack_wait_s)
    ]
    if wrong:
        listed = "; ".join(f"{item.thing}: {item.found}, wanted {item.wanted}" for item in wrong)
        return Finding(False, listed, "run `openerrata topology apply`")
    return Finding(True, f"{len(STREAMS)} streams and {len(CONSUMERS)} consumers are as declared")


async def _check_replicas(bus: Bus) -> Finding:
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


async def _check_database(found: Servers) -> Finding:
    if not await is_current(found.database_url):
        return Finding(False, "not migrated", "start the projector: `openerrata up projector`")
    try:
        async with open_database(found.database_url, "projector") as database:
            await database.write()
    except OperationalError as error:
        advice = "free space, and restart it if it has stopped, as it does when the disk of its log is full"
        return Finding(False, f"it stores nothing: {explain(error)}", advice)
    return Finding(True, "reachable, migrated, and it stores what it is sent")


async def _check_lag(bus: Bus) -> Finding:
    waiting = {}
    for consumer in CONSUMERS:
        info = await bus.jetstream.consumer_info(stream_of(consumer.event).name, consumer.name)
        waiting[consumer.name] = info.num_pending or 0
    worst = max(waiting, key=lambda name: waiting[name])
    if waiting[worst] > MAX_LAG:
        waits = format_count(waiting[worst], "message")
        return Finding(False, f"{worst} has {waits} waiting", "start more of that service")
    return Finding(True, f"{format_count(sum(waiting.values()), 'message')} waiting")


async def _check_projector(bus: Bus, found: Servers) -> Finding:
    async with open_database(found.database_url, "reader") as database:
        reached = before = await read_positions(database)
        ends = {stream.name: (await bus.jetstream.stream_info(stream.name)).state.last_seq for stream in PROJECTED}
        deadline = asyncio.get_running_loop().time() + STANDSTILL_S
        while any(reached.get(name, 0) < end for name, end in ends.items()):
            if asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(0.1)
            reached = await read_positions(database)
    for name, end in ends.items():
        if before.get(name, 0) > end:  # read before the end was
            return Finding(
                False,
                f"{name} ends at {end}, but facts up to {before[name]} were applied: the broker has lost some",
                "`openerrata ledger verify` names them; bring all servers back from one backup",
            )
    behind = {name: end - reached.get(name, 0) for name, end in ends.items() if reached.get(name, 0) < end}
    summary = ", ".join(f"{format_count(number, 'fact')} of {name}" for name, number in behind.items())
    still = next((name for name in behind if reached.get(name, 0) == before.get(name, 0)), None)
    if still is not None:
        following = reached.get(still, 0) + 1
        return Finding(
            False,
            f"the read model lacks {summary} and is stuck before {await _describe_message(bus, still, following)}",
            "start the projector, or see its log: `openerrata up projector`; if this fact stops it each time: "
            f"`openerrata projector skip {following} --stream {still} --reason …`",
        )
    if any(number > MAX_LAG for number in behind.values()):
        return Finding(
            False, f"the read model lacks {summary}", "the projector is catching up: check again in a minute"
        )
    return Finding(True, f"the read model lacks {summary}" if behind else "the read model holds every fact")


async def _describe_message(bus: Bus, stream: str, sequence: int) -> str:
    page = await read_page(bus, stream, (">",), after=sequence - 1, limit=1)
    if not page.messages or page.messages[0].sequence != sequence:
        return f"{stream} {sequence}, which the stream does not hold"
    return f"{stream} {sequence} ({page.messages[0].subject})"


async def _check_refused_facts(found: Servers) -> Finding:
    async with open_database(found.database_url, "reader") as database, database.connect() as connection:
        counts = select(refused_fact.c.outcome, func.count()).group_by(refused_fact.c.outcome).order_by("outcome")
        outcomes = {row[0]: row[1] for row in await connection.execute(counts)}
        newest = select(refused_fact).order_by(refused_fact.c.sequence.desc()).limit(1)
        row = (await connection.execute(newest)).one_or_none()
    if row is None:
        return Finding(True, "none")
    summary = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    last = f"{summary}; the newest is {row.stream} {row.sequence} ({row.subject}): {row.reason}"
    if set(outcomes) == {"skipped"}:
        return Finding(True, last)
    return Finding(False, last, "fix the cause, then `openerrata projector rebuild`; the table refused_fact lists all")


async def _check_dead_letters(bus: Bus) -> Finding:
    letters = (await bus.jetstream.stream_info(DEAD.name)).state.messages
    if letters:
        advice = "see the reasons: `openerrata dead list`, then `dead requeue` or `dead drop`"
        return Finding(False, format_count(letters, "message"), advice)
    return Finding(True, "none")


async def _check_blobs(found: Servers) -> Finding:
    with closing(Blobs(found.blobs)) as blobs:
        await blobs.require()
        problem = await blobs.problem()
    if problem:
        return Finding(False, f"it stores nothing: {problem}")
    return Finding(True, f"bucket {found.blobs.bucket!r} at {found.blobs.endpoint}")


async def _check_model(found: Servers, ask: bool) -> Finding:
    openai = load(OpenAISettings)
    try:
        model = choose(load(Infrastructure), openai, embedded=found.embedded)
    except SettingsError as error:
        return Finding(False, "no model", str(error))
    if model.labelled_demo:
        return Finding(True, "the offline demo catalogue; set OPENAI_API_KEY for a real model")
    named = f"{model.name.provider} {model.name.model}"
    if not ask:
        return Finding(True, f"{named}, not called (add --ask-model)")
    status = await model.probe_own()
    if isinstance(status, KeyAccepted):
        return Finding(True, f"{named} answers")
    return Finding(False, f"{named}: {status.message}", "check the provider's key, address and model id")
