"""`openerrata log`: begin, watch and verify the decision log."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from datetime import datetime
from pathlib import Path
from typing import Final

import click

from contracts.v1 import LogChanged
from contracts.v1.ids import log_id
from kit.bus import connect
from kit.clock import SystemClock
from kit.database import migrate, open_session
from kit.history import read_latest_from_leader
from kit.operator_errors import explain
from kit.servers_in_use import Servers
from kit.settings import load
from services.commands.log.exported import NotAnExport
from services.commands.log.monitor import NotVisited, visit
from services.commands.shared import Group, handle_errors, on_servers, run, run_on_servers
from services.commands.terminal import clean, clean_text
from services.notary.ledger import read_changes
from services.notary.settings import Identity, NotarySettings
from tlog.decision import prove_decision
from tlog.errors import TlogError
from tlog.keys import Algorithm, SigningKey
from tlog.policy import Policy

_ORIGIN: Final = re.compile(r"[a-z0-9.-]+(:[0-9]{1,5})?(/[a-z0-9._-]+)*")
_EARLIER: Final = "SELECT count(DISTINCT investigation_id) FROM readmodel.claim"
_STATUS: Final = """
    SELECT s.size, c.size, c.published_at,
        (SELECT count(*) FROM log.cosignature g WHERE g.size = c.size),
        (SELECT max(sequence) FROM ledger.fact WHERE stream = 'ERRATA') - s.sequence
    FROM log.state s LEFT JOIN LATERAL (
        SELECT size, published_at FROM log.checkpoint WHERE published_at IS NOT NULL ORDER BY size DESC LIMIT 1
    ) c ON true WHERE s.origin = %s"""


@click.group(cls=Group)
def command() -> None:
    """Keep a log of all decisions that cannot be rewritten unnoticed.

    Every result, retraction and review becomes a leaf of a Merkle tree that the notary signs. ORIGIN names the log:
    the host that readers reach, and a path.

    \b
    1. Make a key, once:        openerrata log key errata.example/log/v1
    2. Give it to the notary:   OPENERRATA_NOTARY_KEY='PRIVATE+KEY+…'
    3. Begin the log, once:     openerrata log init
    4. Is it signed?            openerrata log status
    Check a decision anywhere:  openerrata log verify FILE --policy POLICY
    Watch a log:                openerrata log monitor https://errata.example/log/v1 --policy POLICY
    """


@command.command()
@click.argument("origin")
@handle_errors
def key(origin: str) -> None:
    """Print a new private key for OPENERRATA_NOTARY_KEY. Keep a copy: the log cannot be continued without it."""
    if not _ORIGIN.fullmatch(origin):
        raise click.BadParameter("a host and a path without a scheme, like errata.example/log/v1", param_hint="ORIGIN")
    click.echo(SigningKey(origin, Algorithm.ED25519, urlsafe_b64decode(f"{SystemClock().new_salt()}=")).secret())


@command.command()
@on_servers
def init(data_dir: Path) -> None:
    """Begin the log with the key in OPENERRATA_NOTARY_KEY, or continue it with that key if it has another.

    Earlier decisions are not in the log. The change of a key is a leaf itself. Give the notary the old key as
    OPENERRATA_NOTARY_PREVIOUS_KEY for 90 days: both sign then, and readers have time to learn the new one.
    """
    identity = _load_identity()
    event = run_on_servers(data_dir, lambda found: _open(found, identity), quieter="warning")
    if event is None:
        click.echo(f"nothing changed: {identity.key.name} is signed by this already")
    else:
        done = "begins" if event.what == "OPENED" else "goes on with another key"
        click.echo(f"{identity.key.name} {done}; readers and monitors need what follows:")
        for each in identity.keys:
            click.echo(f"log {each.verifier}")


@command.command()
@on_servers
def status(data_dir: Path) -> None:
    """Show how many decisions are in the log, and how many are under a published note.

    Exit status 1: some wait, or another key signs than OPENERRATA_NOTARY_KEY.
    """
    identity = _load_identity()
    row, signing = run_on_servers(data_dir, lambda found: _read_status(found, identity.key.name))
    if row is None:
        raise click.ClickException("the log has not begun: run `openerrata log init`, and keep the notary running")
    leaves, published, published_at, cosignatures, behind = row
    click.echo(f"log         {identity.key.name}")
    click.echo(f"key         {signing}")
    click.echo(f"leaves      {leaves:,}, {behind or 0:,} facts not looked at yet")
    if published is None:
        click.echo("note        none yet")
    else:
        click.echo(
            f"note        over {published:,} leaves, {published_at:%Y-%m-%d %H:%M:%S} UTC, {cosignatures} cosignatures"
        )
    if signing != str(identity.key.verifier):
        raise click.ClickException(f"{identity.key.verifier} signs only after `openerrata log init`")
    if published != leaves:
        raise click.exceptions.Exit(1)


@command.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--policy",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Whose signatures you accept: a file as /log/v1/policy answers it.",
)
@handle_errors
def verify(file: Path, policy: Path) -> None:
    """Check a proof of one decision offline. Exit status 1: it proves nothing.

    FILE is the answer of /log/v1/proof/ID. Take the policy from a source that you trust.
    """
    try:
        proven = prove_decision(file.read_bytes(), Policy.parse(policy.read_bytes()))
    except TlogError as error:
        raise click.ClickException(f"this proves nothing: {error}") from error
    click.echo(f"leaf {proven.index} of {proven.size:,} in {proven.origin}, with {proven.cosignatures} cosignatures")
    click.echo(proven.leaf.encode().decode())
    for document in proven.documents.values():
        click.echo(clean_text(document.decode()))


@command.command()
@click.argument("url")
@click.option(
    "--policy",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Whose signatures you accept: a file as /log/v1/policy answers it.",
)
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("monitor.json"),
    show_default=True,
    help="The file with what the previous visit saw.",
)
@click.option(
    "--export",
    "exported",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Also compare an export of the public record, older than the note, with the log; reads all leaves.",
)
@handle_errors
def monitor(url: str, policy: Path, state: Path, exported: Path | None) -> None:
    """Visit a log and check every decision that is new. Run it each hour, from a machine that is not the operator's.

    URL is where its tiles are, like https://errata.example/log/v1. Exit status 0: all is well; 1: an alarm; 2: the log
    or the file could not be read, which says nothing.
    """
    try:
        report = run(visit(url, Policy.parse(policy.read_bytes()), state, SystemClock().now(), exported))
    except (NotAnExport, NotVisited, OSError, click.ClickException) as error:
        click.echo(f"could not look: {explain(error) or error}", err=True)
        raise click.exceptions.Exit(2) from error
    except TlogError as error:
        raise click.BadParameter(str(error), param_hint="--policy") from error
    for alarm in report.alarms:
        click.echo(click.style("ALARM ", fg="red") + clean(str(alarm)))
    if report.alarms:
        raise click.exceptions.Exit(1)
    click.echo(f"ok: {report.size:,} leaves, {report.new:,} of them new, {report.cosignatures} cosignatures")


def _load_identity() -> Identity:
    identity = Identity.of(load(NotarySettings))
    if identity is None:
        raise click.ClickException("OPENERRATA_NOTARY_KEY is not set; `openerrata log key ORIGIN` makes one")
    return identity


async def _open(found: Servers, identity: Identity) -> LogChanged | None:
    """Publish the beginning of the log or its new keys; None if these keys sign already."""
    origin, keys = identity.key.name, tuple(str(each.verifier) for each in identity.keys)
    async with connect(found.nats_url, name="openerrata-log") as bus:
        facts = await read_latest_from_leader(bus, f"{LogChanged.SUBJECT}.{log_id(origin)}")
        for fact in facts:
            if isinstance(fact.event, LogChanged) and fact.event.keys == keys:
                return None
        if facts:
            event = LogChanged(follows=facts[0].sequence, origin=origin, what="KEYS", keys=keys)
        else:
            earlier = await _count_earlier(found)
            event = LogChanged(origin=origin, what="OPENED", keys=keys, earlier=earlier)
        if not await bus.publish_if_first(event, SystemClock().new_id()):
            raise click.ClickException("the log was changed at the same moment; see `openerrata log status`")
        return event


async def _count_earlier(found: Servers) -> int:
    await migrate(found.database_url)
    async with await open_session(found.database_url) as db:
        row = await (await db.execute(_EARLIER)).fetchone()
    return 0 if row is None else int(row[0])


async def _read_status(
    found: Servers, origin: str
) -> tuple[tuple[int, int | None, datetime | None, int, int | None] | None, str]:
    """The row of `_STATUS`, None before the log begins, and the key that signs it."""
    await migrate(found.database_url)
    async with await open_session(found.database_url) as db:
        row = await (await db.execute(_STATUS, (origin,))).fetchone()
        changes = await read_changes(db, origin)
    signing = changes[-1][1].keys[0] if changes else ""
    return None if row is None else (row[0], row[1], row[2], row[3], row[4]), signing
