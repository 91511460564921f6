"""`openerrata appeal`: list, show and decide appeals of readers against results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

import click

from contracts.v1 import AppealDecided, InvestigationRequested
from contracts.v1.appeal import AppealKind, AppealOutcome, ProofOutcome
from contracts.v1.ids import investigation_id
from contracts.v1.parts import Objection
from kit.bus import Bus
from kit.errors import Reject, Retry
from kit.history import read_latest
from kit.servers_in_use import Servers
from lifecycle.findings import Wanted
from platforms import name_prover
from services.commands.appeal_share import check_share
from services.commands.finding import decide_finding, note_option, open_log_and_tables
from services.commands.shared import Group, as_message, on_servers, run_on_servers
from services.commands.terminal import clean
from services.projector.store.load import Connection

LISTED: Final = 100
_OPEN: Final = """
    SELECT a.id, a.kind, a.opened_at, left(a.words, 100), CASE WHEN a.proof = 'PROVEN' THEN p.platform END
    FROM readmodel.appeal a JOIN readmodel.investigation i ON i.id = a.investigation_id
    JOIN readmodel.post_version v ON v.id = i.post_version_id JOIN readmodel.post p ON p.id = v.post_id
    WHERE a.outcome IS NULL ORDER BY a.proof IS DISTINCT FROM 'PROVEN', a.opened_at, a.id LIMIT %s"""
_ONE: Final = """
    SELECT a.id, a.investigation_id, a.kind, a.claims, a.words, a.links, a.opened_at, a.outcome, a.reason,
        v.correlation, a.by_author, a.proof, a.statement, p.platform
    FROM readmodel.appeal a JOIN readmodel.investigation i ON i.id = a.investigation_id
    JOIN readmodel.post_version v ON v.id = i.post_version_id JOIN readmodel.post p ON p.id = v.post_id
    WHERE a.id = %s"""

_APPEALED: Final = """
    SELECT v.id, v.post_id, i.analysis,
        ARRAY(
            SELECT c.text FROM readmodel.claim c
            WHERE c.id = ANY (%s) AND c.investigation_id = i.id ORDER BY c.ordinal
        )
    FROM readmodel.investigation i JOIN readmodel.post_version v ON v.id = i.post_version_id WHERE i.id = %s"""


@dataclass(frozen=True, slots=True)
class Appeal:
    """An appeal with its words. Shapes: `claims` are the findings that it names; `outcome` is None while it is open.

    `by_author`: the reader claims to be the author; `proof` is the outcome of the newest attempt to prove it.
    """

    id: UUID
    investigation_id: UUID
    kind: AppealKind
    claims: Sequence[UUID]
    words: str
    links: Sequence[str]
    opened_at: datetime
    outcome: str | None
    reason: str | None
    correlation: UUID
    by_author: bool
    proof: ProofOutcome | None
    statement: str | None
    platform: str

    @property
    def is_of_author(self) -> bool:
        """Whether the appeal is proven to be by the post's author or a contributor."""
        return self.proof == "PROVEN"


@click.group(cls=Group)
def command() -> None:
    """Decide about readers' objections to results.

    NOTE is a sentence for readers; it stands on the appeal's page, so it must not name a person.

    A statement of a proven author is public at once; REFUSED takes it away, the other outcomes leave it.

    What needs another look is investigated anew, once for each appeal, before it is decided or after it was upheld.

    \b
    What is open?                  openerrata appeal list
    What does it say?              openerrata appeal show APPEAL
    Look into it anew:             openerrata appeal investigate APPEAL
    The findings are wrong:        openerrata appeal decide APPEAL UPHELD --note "The source is about another year."
    One of them is:                openerrata appeal decide APPEAL PARTLY --claim CLAIM --note "One source is."
    It changes nothing:            openerrata appeal decide APPEAL DISMISSED --note "The source says what we quoted."
    It is no objection:            openerrata appeal decide APPEAL REFUSED --note "It says nothing about the result."
    """


appeal_argument = click.argument("appeal", type=click.UUID)


@command.command(name="list")
@on_servers
def list_(data_dir: Path) -> None:
    """List open appeals: those of proven authors first, then the oldest."""

    async def work(found: Servers) -> Sequence[tuple[UUID, str, datetime, str, str | None]]:
        async with open_log_and_tables(found) as (_, db):
            return [
                (id_, kind, at, words, proven_on)
                for id_, kind, at, words, proven_on in await (await db.execute(_OPEN, (LISTED,))).fetchall()
            ]

    rows = run_on_servers(data_dir, work)
    for id_, kind, at, words, proven_on in rows:
        by = "READER" if proven_on is None else name_prover(proven_on).upper()
        click.echo(f"{at:%Y-%m-%d %H:%M}  {id_}  {by}  {kind}  {clean(' '.join(words.split()))}")
    if not rows:
        click.echo("no appeal is open")


@command.command()
@appeal_argument
@on_servers
def show(appeal: UUID, data_dir: Path) -> None:
    """Show an appeal with its words."""

    async def work(found: Servers) -> Appeal:
        async with open_log_and_tables(found) as (_, db):
            return await _read(db, appeal)

    it = run_on_servers(data_dir, work)
    click.echo(f"opened     {it.opened_at:%Y-%m-%d %H:%M}")
    click.echo(f"kind       {it.kind}")
    who = "a contributor" if name_prover(it.platform) == "contributor" else "the author"
    claimed = f"reader; claims to be {who}: {it.proof or 'NOT_TRIED'}" if it.by_author else "reader"
    click.echo(f"by         {f'{who}, proven' if it.is_of_author else claimed}")
    click.echo(f"page       /investigations/{it.investigation_id}")
    for claim in it.claims:
        click.echo(f"finding    {claim}")
    for link in it.links:
        click.echo(f"link       {clean(link)}")
    click.echo(f"state      {it.outcome or 'OPEN'}{f': {clean(it.reason)}' if it.reason else ''}")
    if it.statement:
        click.echo(f"statement  {clean(it.statement)}")
    click.echo(clean(it.words))


@command.command()
@appeal_argument
@click.argument("outcome", metavar="OUTCOME", type=click.Choice(["UPHELD", "PARTLY", "DISMISSED", "REFUSED"]))
@note_option
@click.option(
    "--claim", "claims", type=click.UUID, multiple=True, metavar="CLAIM", help="With PARTLY: a finding to retract."
)
@on_servers
def decide(appeal: UUID, outcome: AppealOutcome, note: str, claims: Sequence[UUID], data_dir: Path) -> None:
    """Decide an appeal, for good: OUTCOME is UPHELD, PARTLY, DISMISSED or REFUSED.

    UPHELD retracts the findings that APPEAL names, PARTLY those given by --claim.

    Repeat the command if it was interrupted.
    """

    async def work(found: Servers) -> Sequence[UUID]:
        async with open_log_and_tables(found) as (bus, db):
            it = await _read(db, appeal)
            retracted = find_retracted(it, outcome, claims)
            for claim in retracted:  # first, since a repeated command stops at a stored decision
                await decide_finding(found, claim, Wanted(state="RETRACTED", cause="APPEAL", note=note))
            await _publish(bus, it, outcome, note)
            return retracted

    for claim in run_on_servers(data_dir, work):
        click.echo(f"retracted  {claim}")
    click.echo(f"{outcome}; pages follow within a minute")


@command.command()
@appeal_argument
@on_servers
def investigate(appeal: UUID, data_dir: Path) -> None:
    """Investigate the post of APPEAL anew; the model is given the objection as data, and answers it.

    The earlier result stays as it is. The new one is shown beside it like any other, and each page links to the other.
    What the model writes is public, and may repeat the objection: do not use this if its words must not be public.

    In a UTC day, appeals get at most a tenth of the runs that the selector may request, and at least one. Open appeals
    of proven authors that have had no run come first: readers' appeals get what they leave.
    """

    async def work(found: Servers) -> UUID:
        async with open_log_and_tables(found) as (bus, db):
            it = await _read(db, appeal)
            request, correlation = await _make_request(db, it)
            await check_share(db, appeal, is_of_author=it.is_of_author)
            if not await bus.publish_if_first(request, correlation):
                raise click.ClickException(f"it was requested already: {request.investigation_id}")
            return request.investigation_id

    investigation = run_on_servers(data_dir, work)
    click.echo(f"requested  {investigation}")


async def _make_request(db: Connection, appeal: Appeal) -> tuple[InvestigationRequested, UUID]:
    """The request for an appeal's run. Raises: click.ClickException: it was turned down, or the result was erased."""
    if appeal.outcome in ("DISMISSED", "REFUSED"):
        raise click.ClickException(f"it was decided already: {appeal.outcome}")
    row = await (await db.execute(_APPEALED, (list(appeal.claims), appeal.investigation_id))).fetchone()
    if row is None:
        raise click.ClickException("the result was erased")
    version, post, analysis, findings = row
    request = InvestigationRequested(
        investigation_id=investigation_id(version, analysis, "APPEAL", appeal.id),
        version_id=version,
        post_id=post,
        analysis=analysis,
        origin="APPEAL",
        origin_id=appeal.id,
        requested_by="READER",
        objection=Objection(
            appeal_id=appeal.id,
            kind=appeal.kind,
            findings=tuple(findings),
            text=appeal.words,
            links=tuple(appeal.links),
        ),
    )
    return request, appeal.correlation


def find_retracted(appeal: Appeal, outcome: AppealOutcome, claims: Sequence[UUID]) -> Sequence[UUID]:
    """The findings to retract. Raises: click.ClickException: the appeal cannot be decided like this."""
    if appeal.outcome is not None:
        raise click.ClickException(f"it was decided already: {appeal.outcome}")
    if (outcome == "PARTLY") != bool(claims):
        raise click.ClickException("--claim names the findings to retract with PARTLY; no other outcome takes it")
    if not set(claims) <= set(appeal.claims):
        raise click.ClickException("--claim: the appeal does not name this finding; see `openerrata appeal show`")
    return appeal.claims if outcome == "UPHELD" else tuple(dict.fromkeys(claims))


async def _read(db: Connection, appeal: UUID) -> Appeal:
    row = await (await db.execute(_ONE, (appeal,))).fetchone()
    if row is None:
        raise click.ClickException(f"no appeal has the id {appeal}; see `openerrata appeal list`")
    id_, investigation, kind, claims, *rest = row
    return Appeal(id_, investigation, kind, tuple(map(UUID, claims)), *rest)


async def _publish(bus: Bus, appeal: Appeal, outcome: AppealOutcome, note: str) -> None:
    """Publish the decision; of two at the same time the stream accepts one."""
    subject = f"{AppealDecided.SUBJECT}.{appeal.investigation_id}"
    with as_message(Retry, Reject):
        newest = await read_latest(bus, subject)
        if newest and isinstance(known := newest[-1].event, AppealDecided) and known.appeal_id == appeal.id:
            raise click.ClickException(f"it was decided already: {known.outcome}")
        event = AppealDecided(
            follows=newest[-1].sequence if newest else 0,
            appeal_id=appeal.id,
            investigation_id=appeal.investigation_id,
            outcome=outcome,
            reason=note,
        )
        if not await bus.publish_if_first(event, appeal.correlation):
            raise click.ClickException("it was decided at the same moment; see `openerrata appeal show`")
