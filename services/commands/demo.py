"""`openerrata demo`: the whole path on this machine, with an offline model that is labelled as one."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import textwrap
from contextlib import AsyncExitStack
from pathlib import Path
from time import monotonic

import click

from kit.database import Database
from kit.embedded import EmbeddedError
from kit.embedded.files import private
from kit.http import CannotListen, bind
from kit.settings import Infrastructure, load
from kit.surroundings import Surroundings, surroundings
from kit.telemetry import configure_logging
from services.commands.demo_journey import Journey, Observed, Progress, Refused, Result
from services.commands.demo_site import EXPECTED, TITLE, observation, stand_in
from services.commands.keys import activate
from services.commands.process import SERVICES, Plan, assembled, listen_for_signals, unless_stopped, watch
from services.commands.shared import data_dir_option, plain_errors, run

PACE_S = "0.35"
WIDTH = 100
KEPT = frozenset({"OPENERRATA_DATA_DIR", "OPENERRATA_DEMO_PACE_S", "OPENERRATA_LOG_LEVEL"})


@click.command()
@click.option("--once", is_flag=True, help="End after the result; exit status 0 only if it is the expected one.")
@click.option("--port", type=click.IntRange(0, 65_535), help="The gateway's port.  [default: 8787, or a free one]")
@data_dir_option
@plain_errors
def command(once: bool, port: int | None, data_dir: Path) -> None:
    """Watch a wrong sentence being found, validated and published.

    Starts NATS, PostgreSQL and S3 on this machine, runs every service, and plays a reader who opens a sample article.
    No internet, no API key: an offline catalogue of well-known misconceptions stands in for the model. State stays in
    the data folder, so a second run finds the earlier result; `make clean` removes it. Of the environment only
    OPENERRATA_DATA_DIR, OPENERRATA_DEMO_PACE_S and OPENERRATA_LOG_LEVEL count.

    \b
    openerrata demo --once
    """
    began = monotonic()
    _forget_settings()
    infrastructure = load(Infrastructure)
    data_dir = data_dir.absolute()
    (data_dir / "logs").mkdir(mode=0o700, parents=True, exist_ok=True)
    click.secho("OpenErrata demo", bold=True, nl=False)
    click.secho("  offline demo catalogue instead of a model, sample article, no internet", dim=True)
    _say("starting", "NATS, PostgreSQL and S3 on loopback …")
    with (
        open(data_dir / "logs" / "services.log", "a", buffering=1, opener=private) as log_file,
        stand_in() as wikipedia,
        surroundings(infrastructure, data_dir) as found,
    ):
        if found.stack is None:  # its verifier knows nothing of the sample article, and would take it from ours
            raise EmbeddedError(f"something already runs over {data_dir}; stop it, or give the demo another --data-dir")
        configure_logging(log_file, level=infrastructure.log_level)
        os.environ["OPENERRATA_VERIFIER_WIKIPEDIA_URL"] = wikipedia
        os.environ["OPENERRATA_MODEL"] = "demo"
        os.environ.setdefault("OPENERRATA_DEMO_PACE_S", PACE_S)
        os.environ["OPENERRATA_GATEWAY_PORT"] = str(_port(port))
        correct = run(_play(found, once=once, began=began, data_dir=data_dir))
    sys.exit(exit_status(correct))


def exit_status(correct: bool | None) -> int:
    """What the shell is told."""
    return 130 if correct is None else 0 if correct else 1


async def _play(found: Surroundings, *, once: bool, began: float, data_dir: Path) -> bool | None:
    """Whether the result was the expected one; None if somebody stopped it before there was one."""
    stop = asyncio.Event()
    listen_for_signals(stop)
    async with AsyncExitStack() as stack:
        host = await unless_stopped(stop, stack.enter_async_context(assembled(Plan(SERVICES), found)))
        if host is None:
            return None
        watcher = asyncio.create_task(watch(found.stack, stop))
        running = asyncio.create_task(host.run(stop))
        try:
            _say("ready", f"all {len(SERVICES)} services on {host.public_url} after {monotonic() - began:.1f} s")
            reader = Journey(host.public_url, await _api_key(found, data_dir))
            journey = asyncio.create_task(watched(reader, host.public_url, began))
            stopping = asyncio.create_task(stop.wait())
            await asyncio.wait({journey, running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not journey.done():
                journey.cancel()
                return None
            correct = journey.result()
            if not once and not stop.is_set():
                _say("serving", f"{host.public_url} until Ctrl-C; services log to {data_dir.name}/logs/services.log")
                await asyncio.wait({running})
            return correct
        finally:
            stop.set()
            await running
            watcher.cancel()


async def watched(journey: Journey, gateway: str, began: float) -> bool:
    """Tell what a reader sees; whether they were shown what was expected, no more and no less."""
    _say("reading", f"“{TITLE}”")
    published: tuple[str, ...] = ()
    try:
        async for event in journey.play(observation()):
            match event:
                case Observed():
                    _say(
                        "observed",
                        f"{event.provenance}, pinned to version {event.version_id[:8]} in {event.took_s * 1e3:.0f} ms",
                    )
                case Progress():
                    for text in event.proposed:
                        _say("proposed", text, fg="yellow")
                    for text in event.confirmed:
                        _say("confirmed", text, fg="green")
                    for text in event.dropped:
                        _say("dropped", f"{text}  (did not pass validation)", dim=True)
                case Result():
                    _show(event)
                    published = tuple(claim["text"] for claim in event.claims)
    except Refused as error:
        _say("failed", str(error), fg="red")
        return False
    click.echo()
    _say("published", f"{gateway}/investigations/{journey.investigation_id}.json")
    _say("took", f"{monotonic() - began:.1f} s from start to result")
    missing, extra = EXPECTED - set(published), set(published) - EXPECTED
    for text in missing:
        _say("missing", text, fg="red")
    for text in extra:
        _say("unexpected", text, fg="red")
    return not missing and not extra


def _show(result: Result) -> None:
    click.echo()
    head = f"{len(result.claims)} incorrect claims" + (" (investigated earlier)" if result.earlier else "")
    click.secho(head, bold=True)
    for claim in result.claims:
        click.echo()
        click.secho(_wrapped(f"“{claim['text']}”", ""), fg="red", underline=True)
        click.echo(_wrapped(claim["summary"], "  "))
        for source in claim["sources"]:
            click.secho(f"  → {source['title']}", dim=True)
            click.secho(f"    {source['url']}", dim=True)


def _say(label: str, text: str, *, fg: str | None = None, dim: bool = False) -> None:
    click.echo(click.style(f"  {label:<10}", fg=fg, dim=dim or fg is None) + click.style(text, dim=dim))


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent)


def _port(wanted: int | None) -> int:
    if wanted is not None:
        return wanted
    try:
        bind("127.0.0.1", 8787).close()
    except CannotListen:
        return 0
    return 8787


def _forget_settings() -> None:
    """The demo shows the same everywhere, whatever instance the environment is set up for."""
    for name in tuple(os.environ):
        if name.startswith("OPENERRATA_") and name not in KEPT:
            del os.environ[name]


async def _api_key(found: Surroundings, data_dir: Path) -> str:
    file = data_dir / "demo.key"
    if not file.exists():
        file.touch(mode=0o600)
        file.write_text(f"oe_{secrets.token_urlsafe(24)}")
    key = file.read_text()
    database = Database(found.database_url, role="operator")
    try:
        await activate(database, "demo", key)
    finally:
        await database.close()
    return key
