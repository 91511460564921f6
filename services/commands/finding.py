"""`openerrata finding`: show, suspend, release or retract one published finding."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import click

from contracts.v1 import FindingChanged
from contracts.v1.finding import FindingState
from kit.bus import Bus, connect
from kit.clock import SystemClock
from kit.database import migrate, open_session
from kit.errors import Reject, Retry
from kit.history import StoredFact, read_history
from kit.publisher import BusError
from kit.servers_in_use import Servers
from lifecycle.findings import FindingHistory, Refused, Unchanged, Wanted, change
from services.commands.shared import Group, as_message, on_servers, read_line, run_on_servers
from services.commands.terminal import clean, format_count
from services.projector.store.load import Connection

LONGEST_NOTE: Final = 500
_PUBLISHED: Final = """
    SELECT c.investigation_id, c.text, c.summary, v.correlation, v.post_id
    FROM readmodel.claim c JOIN readmodel.investigation i ON i.id = c.investigation_id
    JOIN readmodel.post_version v ON v.id = i.post_version_id WHERE c.id = %s"""
_OTHERS: Final = """
    SELECT c.id FROM readmodel.post_version v JOIN readmodel.investigation_doc d ON d.post_version_id = v.id
    JOIN readmodel.claim c ON c.investigation_id = d.investigation_id
    WHERE v.post_id = %s AND c.id <> %s AND c.text = %s
        AND d.claims @> jsonb_build_array(jsonb_build_object('id', c.id))
    ORDER BY d.checked_at, c.id"""
_STOPPED: Final = """
    SELECT b.scope FROM readmodel.breaker b JOIN readmodel.investigation i ON b.scope IN ('ALL', i.variant)
        OR (b.scope = 'NEW' AND i.checked_at >= b.opened_at)
    WHERE i.id = %s AND b.state <> 'CLOSED' LIMIT 1"""
# As the curator counts: of a day those stand that were published first. What precedes the finding takes its place.
_BEYOND: Final = """
    SELECT v.quota FROM readmodel.claim c JOIN readmodel.investigation_doc d USING (investigation_id)
    JOIN readmodel.variant v ON v.variant = d.variant AND d.checked_at >= v.since
    WHERE c.id = %s AND v.quota <= (
        SELECT count(*) FROM readmodel.investigation_doc o JOIN readmodel.claim e USING (investigation_id)
            LEFT JOIN readmodel.finding_state f ON f.claim_id = e.id
        WHERE o.variant = d.variant AND o.claim_count > 0 AND (f.state IS NULL OR f.state = 'RELEASED')
            AND o.checked_at >= greatest(v.since, date_trunc('day', d.checked_at, 'UTC'))
            AND (o.checked_at, o.investigation_id, e.ordinal) < (d.checked_at, d.investigation_id, c.ordinal))"""
_DONE: Final[dict[FindingState, str]] = {
    "SUSPENDED": "suspended",
    "RELEASED": "released; it is shown again",
    "RETRACTED": "retracted",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A published finding with its history.

    Shapes: `others` are findings about the same sentence that other results about its post still show.
    """

    text: str
    summary: str
    correlation: UUID
    others: Sequence[UUID]
    changes: Sequence[StoredFact]
    history: FindingHistory


@click.group(cls=Group)
def command() -> None:
    """Take back a published finding, for now or for good.

    CLAIM is the finding's id: `id` of a claim in /investigations/ID.json, in exports and in GraphQL. NOTE is a sentence
    for readers; it stands beside the finding, in feeds and in exports, so it must not name a person.

    \b
    There is credible doubt:       openerrata finding suspend CLAIM --note "A source is being checked again."
    The doubt was unfounded:       openerrata finding release CLAIM --note "The source says what we quoted."
    It is wrong:                   openerrata finding retract CLAIM --note "The source is about another year."
    What happened to it?           openerrata finding show CLAIM
    """


claim_argument = click.argument("claim", type=click.UUID)


note_option = click.option(
    "--note",
    required=True,
    callback=read_line(LONGEST_NOTE, "a sentence"),
    help="Why, in a sentence for readers; at most 500 characters.",
)


@command.command()
@claim_argument
@on_servers
def show(claim: UUID, data_dir: Path) -> None:
    """Show a finding: what it says, whether it is shown to readers, and how that changed since it was published."""
    finding = run_on_servers(data_dir, lambda found: _look(found, claim))
    click.echo(f"sentence   {clean(finding.text)}")
    click.echo(f"finding    {clean(finding.summary)}")
    click.echo(f"page       /investigations/{finding.history.investigation_id}")
    click.echo(f"state      {finding.history.state}")
    for fact in finding.changes:
        if isinstance(event := fact.event, FindingChanged):
            mistake = ", the suspension was a mistake" if event.mistake else ""
            at = f"{fact.envelope.occurred_at:%Y-%m-%d %H:%M}"
            click.echo(f"{at}  {event.state} ({event.cause}{mistake}): {clean(event.note)}")
    _name_others(finding)


@command.command()
@claim_argument
@note_option
@on_servers
def suspend(claim: UUID, note: str, data_dir: Path) -> None:
    """Take a finding back for now. It disappears everywhere at once; its page says that it is withdrawn for now.

    It can be released after 24 hours, twice at most; after that it can only be retracted.
    """
    _change(claim, Wanted(state="SUSPENDED", cause="OPERATOR", note=note), data_dir)


@command.command()
@claim_argument
@note_option
@click.option(
    "--mistake", is_flag=True, help="The suspension was a slip: do not wait 24 hours. It counts as a release."
)
@on_servers
def release(claim: UUID, note: str, mistake: bool, data_dir: Path) -> None:
    """Show a suspended finding again, 24 hours after its suspension at the earliest, and twice at most.

    The wait keeps a finding from being switched on and off with each objection. If the wrong finding was suspended,
    --mistake ends that at once.
    """
    _change(claim, Wanted(state="RELEASED", cause="OPERATOR", note=note, mistake=mistake), data_dir)


@command.command()
@claim_argument
@note_option
@on_servers
def retract(claim: UUID, note: str, data_dir: Path) -> None:
    """Take a finding back for good. This is final.

    It disappears as a correction everywhere; its page and /retractions say when and why it was taken back.
    """
    _change(claim, Wanted(state="RETRACTED", cause="OPERATOR", note=note), data_dir)


def _change(claim: UUID, wanted: Wanted, data_dir: Path) -> None:
    finding, is_new = run_on_servers(data_dir, lambda found: decide_finding(found, claim, wanted))
    if is_new:
        click.echo(f"{_DONE[wanted.state]}; pages, feeds and readers follow within a minute")
    else:
        click.echo(f"nothing changed: it is {wanted.state} already")
    if wanted.state != "RELEASED":
        _name_others(finding)


def _name_others(finding: Finding) -> None:
    if finding.others:
        click.echo("other results about this post show the same sentence as wrong; each is a finding of its own:")
        for claim in finding.others:
            click.echo(f"  {claim}")


async def _look(found: Servers, claim: UUID) -> Finding:
    async with open_log_and_tables(found) as (bus, db):
        return await _read(bus, db, claim)


async def decide_finding(found: Servers, claim: UUID, wanted: Wanted) -> tuple[Finding, bool]:
    """Change a finding; returns it as it was, and whether it was changed."""
    async with open_log_and_tables(found) as (bus, db):
        finding = await _read(bus, db, claim)
        if wanted.state == "RELEASED":
            await _refuse_if_stopped(db, finding.history)
        match change(finding.history, wanted, SystemClock().now()):
            case Unchanged():
                return finding, False
            case Refused(why):
                raise click.ClickException(why)
            case FindingChanged() as event:
                if not await bus.publish_if_first(event, finding.correlation):
                    raise click.ClickException(
                        f"it changed at the same moment; look again with `openerrata finding show {claim}`"
                    )
                return finding, True


@asynccontextmanager
async def open_log_and_tables(found: Servers) -> AsyncIterator[tuple[Bus, Connection]]:
    """The broker and the tables. Raises: click.ClickException: the broker fails."""
    await migrate(found.database_url)
    with as_message(BusError):
        async with (
            connect(found.nats_url, name="openerrata-finding") as bus,
            await open_session(found.database_url) as db,
        ):
            yield bus, db


async def _read(bus: Bus, db: Connection, claim: UUID) -> Finding:
    """The finding with its history from the log. Only the tables map its id to its result."""
    row = await (await db.execute(_PUBLISHED, (claim,))).fetchone()
    if row is None:
        raise click.ClickException(
            f"no published finding has the id {claim}; /investigations/ID.json shows those of an investigation"
        )
    investigation, text, summary, correlation, post = row
    others = await (await db.execute(_OTHERS, (post, claim, text))).fetchall()
    with as_message(Retry, Reject):
        changes = await read_history(bus, str(claim))
    history = FindingHistory(claim_id=claim, investigation_id=investigation).fold(changes)
    return Finding(text, summary, correlation, [id_ for (id_,) in others], changes, history)


async def _refuse_if_stopped(db: Connection, history: FindingHistory) -> None:
    """Refuse a release that the curator would take back at once."""
    if await (await db.execute(_STOPPED, (history.investigation_id,))).fetchone() is not None:
        raise click.ClickException("a breaker stops it; see `openerrata breaker show`")
    beyond = await (await db.execute(_BEYOND, (history.claim_id,))).fetchone()
    if history.state == "SUSPENDED" and beyond is not None:
        raise click.ClickException(
            f"its variant shows {format_count(beyond[0], 'finding')} a day, and as many of that day stand; "
            "see `openerrata variant show`"
        )
