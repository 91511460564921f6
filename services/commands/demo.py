"""`openerrata demo`: the whole pipeline on this machine, with an offline demo model."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import textwrap
from contextlib import AsyncExitStack
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import click

from kit.embedded import EmbeddedError
from kit.embedded.files import open_private
from kit.http import CannotListen, bind
from kit.servers_in_use import Servers, find_servers
from kit.settings import Infrastructure, load
from kit.telemetry import configure_logging
from openerrata_client import CacheOnlyResult, FullResult, OpenErrataError
from openerrata_client.types import AnalysedClaim
from services.commands.account_rows import add_account, list_accounts
from services.commands.database import open_database
from services.commands.demo_audit import AUDITED, audit_article, verdicts
from services.commands.demo_journey import Journey, Observed, Progress, RequestFailed, Result
from services.commands.demo_site import EXPECTED, TITLE, make_observation, serve_article
from services.commands.keys import activate
from services.commands.process import (
    SERVICES,
    Plan,
    assemble,
    await_unless_stopped,
    listen_for_signals,
    raise_if_ended,
    watch,
)
from services.commands.shared import on_servers, run

PACE_S = "0.35"
WIDTH = 100
ACCOUNT = "demo"
INHERITED_SETTINGS = frozenset({"OPENERRATA_DATA_DIR", "OPENERRATA_DEMO_PACE_S", "OPENERRATA_LOG_LEVEL"})


@click.command()
@click.option("--once", is_flag=True, help="End after the results; exit status 0 only if they are the expected ones.")
@click.option("--port", type=click.IntRange(0, 65_535), help="The gateway's port.  [default: 8787, or a free one]")
@on_servers
def command(once: bool, port: int | None, data_dir: Path) -> None:
    """Watch wrong sentences being found, validated and published, and the article being audited.

    Starts NATS, PostgreSQL and S3 on this machine, runs every service, simulates a reader who opens a sample article,
    and sends the same article to the job API. No internet, no API key: an offline catalogue of well-known
    misconceptions replaces the model. State stays in the data folder, so a second run finds the earlier findings and
    analyses; `make clean` removes it. Of the environment only
    OPENERRATA_DATA_DIR, OPENERRATA_DEMO_PACE_S and OPENERRATA_LOG_LEVEL are used.

    \b
    openerrata demo --once
    """
    began = monotonic()
    _clear_settings()
    infrastructure = load(Infrastructure)
    data_dir = data_dir.absolute()
    (data_dir / "logs").mkdir(mode=0o700, parents=True, exist_ok=True)
    click.secho("OpenErrata demo", bold=True, nl=False)
    click.secho("  offline demo catalogue instead of a model, sample article, no internet", dim=True)
    _print("starting", "NATS, PostgreSQL and S3 on loopback …")
    with (
        open(data_dir / "logs" / "services.log", "a", buffering=1, opener=open_private) as log_file,
        serve_article() as wikipedia,
        find_servers(infrastructure, data_dir) as found,
    ):
        if found.stack is None:  # that process's verifier cannot fetch the sample article
            raise EmbeddedError(f"another process uses {data_dir}; stop it, or give the demo another --data-dir")
        configure_logging(log_file, level=infrastructure.log_level)
        os.environ["OPENERRATA_VERIFIER_WIKIPEDIA_URL"] = wikipedia
        os.environ["OPENERRATA_MODEL"] = "demo"
        os.environ["OPENERRATA_GATEWAY_JOBS"] = "on"
        os.environ.setdefault("OPENERRATA_DEMO_PACE_S", PACE_S)
        os.environ["OPENERRATA_GATEWAY_PORT"] = str(_choose_port(port))
        correct = run(_play(found, once=once, began=began, data_dir=data_dir))
    sys.exit(to_exit_status(correct))


def to_exit_status(correct: bool | None) -> int:
    """The exit status; None means interrupted."""
    return 130 if correct is None else 0 if correct else 1


async def _play(found: Servers, *, once: bool, began: float, data_dir: Path) -> bool | None:
    """Whether the result was the expected one; None if it was interrupted before."""
    stop = asyncio.Event()
    listen_for_signals(stop)
    async with AsyncExitStack() as stack:
        host = await await_unless_stopped(stop, stack.enter_async_context(assemble(Plan(SERVICES), found)))
        if host is None:
            return None
        watcher = asyncio.create_task(watch(found.stack, stop))
        running = asyncio.create_task(host.run(stop))
        try:
            _print("ready", f"all {len(SERVICES)} services on {host.public_url} after {monotonic() - began:.1f} s")
            keys = await _ensure_keys(found, data_dir)
            journey = asyncio.create_task(_watch(host.public_url, keys, began))
            stopping = asyncio.create_task(stop.wait())
            await asyncio.wait({journey, running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not journey.done():
                journey.cancel()
                return None
            correct = journey.result()
            if not once and not stop.is_set():
                _print("serving", f"{host.public_url} until Ctrl-C; services log to {data_dir}/logs/services.log")
                await asyncio.wait({running})
            return correct
        finally:
            stop.set()
            await running
            watcher.cancel()
            raise_if_ended(watcher)


async def _watch(gateway: str, keys: Keys, began: float) -> bool:
    found = await watch_journey(Journey(gateway, keys.reader), gateway)
    audited = await watch_audit(gateway, keys.account)
    _print("took", f"{monotonic() - began:.1f} s from start to result")
    return found and audited


async def watch_journey(journey: Journey, gateway: str) -> bool:
    """Print what a reader sees; whether the findings are exactly the expected ones."""
    _print("reading", f"“{TITLE}”")
    published: tuple[str, ...] = ()
    try:
        async for event in journey.play(make_observation()):
            match event:
                case Observed():
                    _print(
                        "observed",
                        f"{event.provenance}, pinned to version {event.version_id[:8]} in {event.took_s * 1e3:.0f} ms",
                    )
                case Progress():
                    for text in event.proposed:
                        _print("proposed", text, fg="yellow")
                    for text in event.confirmed:
                        _print("confirmed", text, fg="green")
                    for text in event.dropped:
                        _print("dropped", f"{text}  (did not pass validation)", dim=True)
                case Result():
                    _print_result(event)
                    published = tuple(claim["text"] for claim in event.claims)
    except RequestFailed as error:
        _print("failed", str(error), fg="red")
        return False
    click.echo()
    _print("published", f"{gateway}/investigations/{journey.investigation_id}.json")
    missing, extra = EXPECTED - set(published), set(published) - EXPECTED
    for text in missing:
        _print("missing", text, fg="red")
    for text in extra:
        _print("unexpected", text, fg="red")
    return not missing and not extra


async def watch_audit(gateway: str, api_key: str) -> bool:
    """Print how the article is audited; whether every verdict is the expected one."""
    click.echo()
    _print("auditing", f"“{TITLE}”, by the job API")
    try:
        result = await audit_article(gateway, api_key, _print)
    except OpenErrataError as error:
        _print("failed", str(error), fg="red")
        return False
    _print_audit(result)
    found = verdicts(result)
    for sentence, verdict in AUDITED.items():
        if found.get(sentence) != verdict:
            _print("unexpected", f"{found.get(sentence, 'no verdict')} instead of {verdict}: {sentence}", fg="red")
    return found == AUDITED


def _print_audit(result: FullResult | CacheOnlyResult) -> None:
    click.echo()
    assessment = result.article_holistic_assessment
    if assessment is not None:
        cached = " (claims analysed earlier)" if "stage2" in result.stages_cached else ""
        click.secho(f"{assessment.overall_verdict}{cached}", bold=True)
        click.echo(_wrap(assessment.overall_assessment.summary, "  "))
    for claim in result.claims:
        if isinstance(claim, AnalysedClaim):
            colour = {"Refuted": "red", "Supported": "green"}.get(claim.rollup_verdict, "yellow")
            click.echo(click.style(f"  {claim.rollup_verdict:<13}", fg=colour) + claim.claim_text)
    click.echo()
    _print("charged", f"${result.cost} of the demo account's credit, by a signed receipt")


def _print_result(result: Result) -> None:
    click.echo()
    head = f"{len(result.claims)} incorrect claims" + (" (investigated earlier)" if result.earlier else "")
    click.secho(head, bold=True)
    for claim in result.claims:
        click.echo()
        click.secho(_wrap(f"“{claim['text']}”", ""), fg="red", underline=True)
        click.echo(_wrap(claim["summary"], "  "))
        for source in claim["sources"]:
            click.secho(f"  → {source['title']}", dim=True)
            click.secho(f"    {source['url']}", dim=True)


def _print(label: str, text: str, *, fg: str | None = None, dim: bool = False) -> None:
    click.echo(click.style(f"  {label:<10}", fg=fg, dim=dim or fg is None) + click.style(text, dim=dim))


def _wrap(text: str, indent: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent)


def _choose_port(wanted: int | None) -> int:
    if wanted is not None:
        return wanted
    try:
        bind("127.0.0.1", 8787).close()
    except CannotListen:
        return 0
    return 8787


def _clear_settings() -> None:
    """The demo must not depend on the settings of an instance."""
    for name in tuple(os.environ):
        if name.startswith("OPENERRATA_") and name not in INHERITED_SETTINGS:
            del os.environ[name]


class Keys(NamedTuple):
    """The reader's key, and the one of an account of the job API."""

    reader: str
    account: str


async def _ensure_keys(found: Servers, data_dir: Path) -> Keys:
    keys = Keys(_ensure_key(data_dir / "demo.key"), _ensure_key(data_dir / "demo-account.key"))
    async with open_database(found.database_url, "operator") as database:
        await activate(database, "demo", keys.reader)
        if ACCOUNT not in {each.username for each in await list_accounts(database, every=True)}:
            await add_account(database, ACCOUNT, None, "reader", "pro", None)
        await activate(database, "demo account", keys.account, rights=["audit"], username=ACCOUNT)
    return keys


def _ensure_key(file: Path) -> str:
    if not file.exists():
        file.touch(mode=0o600)
        file.write_text(f"oe_{secrets.token_urlsafe(24)}")
    return file.read_text()
