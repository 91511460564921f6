"""`openerrata publisher`: the track record of publishers of cited sources, and what people say of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, get_args
from uuid import UUID

import click
from pydantic import ValidationError
from sqlalchemy import select

from analyses.claims.families import find_domain
from contracts.readmodel.accounts import account
from contracts.readmodel.publishers import publisher
from contracts.topology import JOBS
from contracts.v1 import PublisherRated, PublisherScored
from contracts.v1.ids import publisher_id
from contracts.v1.publisher import RatingReason
from kit.bus import Bus, connect
from kit.clock import SystemClock
from kit.database import Database
from kit.errors import Outage
from kit.history import StoredFact, read_history, read_latest
from kit.publisher import BusError
from kit.servers_in_use import Servers
from lifecycle.audits.scores import find_band
from services.commands.database import act_as_operator, open_tables
from services.commands.shared import Group, as_message, on_servers, run_on_bus, run_on_servers
from services.commands.terminal import clean, format_table
from services.gateway.record.publishers import read_score

OPERATOR: Final = UUID(int=0)
"""The author of ratings for which no moderator is named."""
MODERATES: Final = ("moderator", "admin")
MOST: Final = 200
_HEAD: Final = ("publisher", "type", "score", "band", "correct", "judged", "cited", "epoch")
_PERCENT: Final = click.IntRange(0, 100)


@click.group(cls=Group)
def command() -> None:
    """Show how publishers of cited sources are scored, or rate one.

    Code scores them each Sunday at 02:00 UTC, from what later analyses found. A rating is complete in itself: what is
    not given stays as it was rated last. It counts from the next Sunday on; running analyses do not see it.

    \b
    openerrata publisher list
    openerrata publisher show nature.com
    openerrata publisher rate nature.com --reason MONTHLY_AUDIT --type journal --correction-policy 90
    """


@command.command(name="list")
@on_servers
def list_(data_dir: Path) -> None:
    """List the publishers that are cited most, with their scores."""

    async def main(found: Servers) -> Sequence[tuple[str, ...]]:
        async with open_tables(found, of="tables") as database:
            return await list_publishers(database)

    rows = run_on_servers(data_dir, main)
    click.echo(format_table(_HEAD, rows, right=(2, 4, 5, 6, 7)) if rows else "no publisher has a score yet")


@command.command()
@click.argument("domain", metavar="DOMAIN")
@on_servers
def show(domain: str, data_dir: Path) -> None:
    """Show every score and rating of the publisher at DOMAIN, oldest first."""
    name = read_domain(domain)

    id_ = str(publisher_id(name))
    facts = run_on_bus(data_dir, "publisher", lambda bus: read_history(bus, id_, stream=JOBS), BusError, Outage)
    lines = [describe(fact) for fact in facts]
    for line in lines or [f"nothing is known of {name}"]:
        click.echo(line)


@command.command()
@click.argument("domain", metavar="DOMAIN")
@click.option("--reason", required=True, type=click.Choice(get_args(RatingReason)), help="Why; it is public.")
@click.option("--by", metavar="USERNAME", help="The moderator whose rating it is; without, the operator's.")
@click.option("--name", help="The publisher's name, each word with a capital.")
@click.option("--type", "type_", help="Its type, such as journal: lower-case letters.")
@click.option("--correction-policy", type=_PERCENT, help="How it corrects itself, 0 to 100.")
@click.option("--editorial-standards", type=_PERCENT, help="Its editorial standards, 0 to 100.")
@click.option("--bias-transparency", type=_PERCENT, help="How open it is about its bias, 0 to 100.")
@click.option("--longevity", type=_PERCENT, help="How long it has published, 0 to 100.")
@click.option("--corrections-count", type=click.IntRange(0), help="Corrections that it has published.")
@click.option("--correction-frequency", type=click.FloatRange(0), help="Corrections that it publishes in a year.")
@click.option("--score", type=_PERCENT, help="0 to 100; replaces the formula's score, until --no-score.")
@click.option("--no-score", is_flag=True, help="Let the formula decide again.")
@on_servers
def rate(
    domain: str,
    reason: RatingReason,
    by: str | None,
    type_: str | None,
    no_score: bool,
    data_dir: Path,
    **given: str | float | None,
) -> None:
    """Rate the publisher at DOMAIN, which counts from the next Sunday on."""
    name = read_domain(domain)
    if no_score and given["score"] is not None:
        raise click.UsageError("--score and --no-score exclude each other")
    changes: dict[str, object] = {key: value for key, value in {**given, "type": type_}.items() if value is not None}
    if no_score:
        changes["score"] = None

    async def main(found: Servers) -> str:
        rater = OPERATOR if by is None else await act_as_operator(found, lambda database: find_moderator(database, by))
        async with connect(found.nats_url, name="openerrata-publisher") as bus:
            return await rate_publisher(bus, name, changes, rater, reason)

    try:
        with as_message(BusError, Outage):
            click.echo(run_on_servers(data_dir, main))
    except ValidationError as invalid:
        wrong = [f"{each['loc'][-1]}: {each['msg']}" for each in invalid.errors()]
        raise click.UsageError("; ".join(wrong)) from None


async def list_publishers(database: Database) -> Sequence[tuple[str, ...]]:
    """The publishers that are cited most, as rows of cells."""
    t = publisher.c
    query = select(publisher).where(t.track_record_score.is_not(None))
    async with database.connect() as connection:
        found = await connection.execute(query.order_by(t.total_citations.desc(), t.domain).limit(MOST))
        return [
            (
                each.domain,
                each.type,
                f"{each.track_record_score:g}",
                find_band(read_score(each.track_record_score)).value,
                f"{each.correct:,}",
                f"{each.total:,}",
                f"{each.total_citations:,}",
                f"{each.epoch}",
            )
            for each in found
        ]


async def find_moderator(database: Database, username: str) -> UUID:
    """The id of a moderator's account. Raises: click.ClickException: no open account of one has this name."""
    query = select(account.c.id, account.c.role).where(account.c.username == username, account.c.closed_at.is_(None))
    async with database.connect() as connection:
        row = (await connection.execute(query)).one_or_none()
    if row is None or row.role not in MODERATES:
        raise click.ClickException(
            f"{username!r} is not an open account of a moderator; see `openerrata accounts list`"
        )
    found: UUID = row.id
    return found


async def rate_publisher(bus: Bus, domain: str, changes: dict[str, object], by: UUID, reason: RatingReason) -> str:
    """Publish a rating: the newest one with changes. Raises: ValidationError: a value is impossible."""
    id_ = publisher_id(domain)
    found = await read_latest(bus, f"{PublisherRated.SUBJECT}.{id_}", stream=JOBS)
    before = found[0].event if found else PublisherRated(publisher_id=id_, domain=domain, by=by, reason=reason)
    follows = found[0].sequence if found else 0
    event = PublisherRated.model_validate(
        {**before.model_dump(), **changes, "by": by, "reason": reason, "follows": follows}
    )
    if not await bus.publish_if_first(event, SystemClock().new_id()):
        raise click.ClickException("it was rated at the same moment; see `openerrata publisher show`")
    return f"{domain} is rated; it counts from the next Sunday, 02:00 UTC"


def read_domain(given: str) -> str:
    """Check that this is a registrable domain. Raises: click.BadParameter: it is not."""
    found = find_domain(f"https://{given}/")
    try:
        PublisherRated(publisher_id=publisher_id(given), domain=given, by=OPERATOR, reason="MISTAKE")
    except ValidationError:
        found = None
    if found != given:
        hint = f"; its publisher is {found}" if found else ""
        raise click.BadParameter(f"{clean(given)} is not a registrable domain{hint}", param_hint="DOMAIN")
    return given


def describe(fact: StoredFact) -> str:
    """A score or a rating in one line."""
    at = f"{fact.envelope.occurred_at:%Y-%m-%d %H:%M}"
    match fact.event:
        case PublisherScored() as event:
            band = find_band(read_score(event.score)).value
            judged = f"{event.correct} of {event.total} judged citations correct"
            return f"{at}  scored {event.score:g} ({band}) for {event.epoch}: {event.why}, {judged}"
        case PublisherRated() as event:
            skipped = {"follows", "publisher_id", "domain", "by", "reason"}
            said = event.model_dump(exclude=skipped, exclude_none=True)
            by = "the operator" if event.by == OPERATOR else str(event.by)
            return f"{at}  rated by {by}, {event.reason}: {', '.join(f'{key} {value}' for key, value in said.items())}"
        case event:
            return f"{at}  {type(event).__name__}"
