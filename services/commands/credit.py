"""`openerrata credit`: what an account used and reserved in a month, read from the log, and corrections of it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import click
from sqlalchemy import select

from contracts.accounts import TIERS, Tier, credit_month, monthly_credit
from contracts.readmodel.accounts import account
from contracts.topology import JOBS
from contracts.v1 import CreditPosted
from contracts.v1.ids import period_id
from kit.bus import Bus, connect
from kit.clock import Clock, SystemClock
from kit.database import Database
from kit.errors import Reject, Retry
from kit.history import read_latest_from_leader
from kit.publisher import BusError, PublishConflict
from kit.servers_in_use import Servers
from lifecycle.audits.credits import Period, Terms, adjust
from services.commands.accounts import read_dollars
from services.commands.database import act_as_operator
from services.commands.shared import Group, as_message, on_servers, run_on_servers

_MICRO_USD = 1_000_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Owner:
    """An account and the terms of its credit."""

    id: UUID
    username: str
    terms: Terms


@click.group(cls=Group)
def command() -> None:
    """Show and correct the credit of accounts. A month is one of UTC, such as 2026-12.

    \b
    openerrata credit show alice
    openerrata credit adjust alice 2.50            give back two and a half dollars
    openerrata credit adjust alice 2.50 --charge   charge them
    """


def _read_month(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        try:
            if datetime.strptime(value, "%Y-%m").strftime("%Y-%m") != value:
                raise ValueError
        except ValueError:
            raise click.BadParameter("must be a month such as 2026-12") from None
        if value > credit_month(SystemClock().now()):
            raise click.BadParameter("is a month that has not begun")
    return value


_month = click.option("--month", callback=_read_month, help="An earlier month, such as 2026-12, instead of this one.")


@command.command()
@click.argument("account_name", metavar="NAME")
@_month
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@on_servers
def show(account_name: str, month: str | None, as_json: bool, data_dir: Path) -> None:
    """Show what the account NAME used and reserved, and the jobs that hold its reservations."""

    async def read(bus: Bus, owner: Owner) -> Period:
        return await read_period(bus, owner.id, month or credit_month(SystemClock().now()))

    owner, period = run_on_servers(data_dir, lambda found: _for_account(found, account_name, read))
    _print(owner, period, as_json=as_json)


@command.command(name="adjust")
@click.argument("account_name", metavar="NAME")
@click.argument("amount", metavar="USD", callback=read_dollars)
@click.option("--charge", is_flag=True, help="Charge the amount instead of giving it back.")
@_month
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@on_servers
def adjust_(account_name: str, amount: int, charge: bool, month: str | None, as_json: bool, data_dir: Path) -> None:
    """Give back USD of what the account NAME used, at most all of it; this also applies the account's new terms."""
    clock = SystemClock()
    signed = amount if charge else -amount

    async def post(bus: Bus, owner: Owner) -> Period:
        return await adjust_credit(bus, owner, month or credit_month(clock.now()), signed, clock)

    owner, period = run_on_servers(data_dir, lambda found: _for_account(found, account_name, post))
    if not as_json:
        click.echo(render_adjustment(period, signed))
    _print(owner, period, as_json=as_json)


async def read_period(bus: Bus, account_id: UUID, month: str) -> Period:
    """A month of an account. Raises: Outage: the log could not be read now."""
    period = period_id(account_id, month)
    for fact in await read_latest_from_leader(bus, f"{CreditPosted.SUBJECT}.{period}", stream=JOBS):
        if isinstance(fact.event, CreditPosted):
            return Period(account_id, month, fact.event, fact.sequence)
    return Period(account_id, month)


async def adjust_credit(bus: Bus, owner: Owner, month: str, amount: int, clock: Clock) -> Period:
    """Add an amount to what was used, not below 0; returns the changed month. Raises: Outage, BusError."""
    adjustment = clock.new_id()
    while True:  # a refusal means that another entry was stored
        entry = adjust(await read_period(bus, owner.id, month), owner.terms, adjustment, amount)
        try:
            receipt = await bus.publish(entry, correlation=adjustment)
        except PublishConflict:
            continue
        return Period(owner.id, month, entry, receipt.sequence)


async def find_owner(database: Database, username: str) -> Owner:
    """The account of this name, open or closed. Raises: click.ClickException: no account has it."""
    columns = account.c
    query = select(columns.id, columns.tier, columns.credit_limit_micro_usd).where(columns.username == username)
    async with database.connect() as connection:
        row = (await connection.execute(query)).one_or_none()
    if row is None:
        raise click.ClickException(f"there is no account {username!r}; see `openerrata accounts list --all`")
    tier: Tier = row.tier
    terms = Terms(monthly_credit(tier, row.credit_limit_micro_usd), TIERS[tier].is_hard, TIERS[tier].open_jobs)
    return Owner(row.id, username, terms)


async def _for_account(found: Servers, name: str, action: Callable[[Bus, Owner], Awaitable[T]]) -> tuple[Owner, T]:
    owner = await act_as_operator(found, lambda database: find_owner(database, name))
    with as_message(BusError, Retry, Reject):
        async with connect(found.nats_url, name="openerrata-credit") as bus:
            return owner, await action(bus, owner)


def render_adjustment(period: Period, wanted: int) -> str:
    """What an adjustment changed, by the period's newest entry. Units: millionths of a dollar, below 0: given back."""
    assert period.last is not None
    done = period.last.micro_usd
    line = f"{'charged' if wanted > 0 else 'gave back'} {_format(abs(done))}"
    return line if done == wanted else f"{line} instead of {_format(-wanted)}: no more was used"


def _print(owner: Owner, period: Period, *, as_json: bool) -> None:
    limit = owner.terms.limit_micro_usd
    if as_json:
        document = {
            "account": owner.username,
            "account_id": str(owner.id),
            "month": period.month,
            "limit_micro_usd": limit,
            "used_micro_usd": period.used,
            "reserved_micro_usd": period.reserved,
            "left_micro_usd": period.left(limit),
            "open": [{"job_id": str(each.job_id), "micro_usd": each.micro_usd} for each in period.open],
        }
        click.echo(json.dumps(document, indent=2))
        return
    left = period.left(limit)
    click.echo(f"{owner.username}, {period.month}")
    click.echo(f"used      {_format(period.used)}")
    click.echo(f"reserved  {_format(period.reserved)}")
    click.echo(f"left      {'no limit' if left is None else _format(left)}")
    for each in period.open:
        click.echo(f"job {each.job_id}  {_format(each.micro_usd)}")


def _format(micro_usd: int) -> str:
    return f"${Decimal(micro_usd) / _MICRO_USD:,.6f}"
