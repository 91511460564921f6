"""`openerrata accounts`: who may use the job API, what they may do there, and the credit they have each month."""

from __future__ import annotations

import base64
import secrets
from decimal import Decimal, InvalidOperation
from pathlib import Path

import click

from contracts.accounts import ROLES, TIERS, Role, Tier, is_username, monthly_credit
from services.commands.account_rows import (
    AccountRow,
    add_account,
    change_account,
    close_account,
    list_accounts,
    read_activity,
    rotate_secret,
)
from services.commands.database import act_as_operator, run_as_operator
from services.commands.shared import Group, on_servers, run_on_servers
from services.commands.terminal import format_table

SECRET_BYTES = 32
_MICRO_USD = 1_000_000


@click.group(cls=Group)
def command() -> None:
    """Manage accounts of the job API. There is no sign-up: accounts are made here.

    `openerrata keys add --account NAME --right audit` makes a key for one.

    A role says what the holder may do: reader (read, flag), contributor (also submit and edit), moderator (also decide,
    hide, publish and score), admin (also configure models, hear appeals). A tier says what a month is worth: free has
    10 dollars and stops there, except for what is cached; pro (50 dollars) and enterprise (as agreed) go on and are
    metered. Changes take effect within seconds.

    \b
    openerrata accounts add alice --email alice@example.org
    openerrata accounts tier alice enterprise --credit-limit 200
    openerrata accounts webhook-secret alice
    """


def read_dollars(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """An amount in dollars, as micro-dollars."""
    if value is None:
        return None
    try:
        amount = Decimal(value) * _MICRO_USD
        if amount < 0 or amount > 10**15 or amount != int(amount):
            raise ValueError
    except (InvalidOperation, ValueError, OverflowError):
        raise click.BadParameter("must be an amount in dollars such as 200 or 12.50") from None
    return int(amount)


_credit_limit = click.option(
    "--credit-limit",
    "agreed",
    metavar="USD",
    callback=read_dollars,
    help="Credit a month in dollars, if it is not the tier's.",
)


@command.command()
@click.argument("name")
@click.option("--email", help="Where its holder is reached; no two accounts have the same.")
@click.option("--role", type=click.Choice(ROLES), default="reader", show_default=True, help="What its holder may do.")
@click.option(
    "--tier", type=click.Choice(tuple(TIERS)), default="free", show_default=True, help="What a month is worth."
)
@_credit_limit
@on_servers
def add(name: str, email: str | None, role: Role, tier: Tier, agreed: int | None, data_dir: Path) -> None:
    """Add an account. NAME is lower-case letters, digits and .-_; no later account gets it, unless this is erased."""
    if not is_username(name):
        raise click.BadParameter("a name is 1 to 64 lower-case letters, digits and .-_", param_hint="NAME")
    if email is not None and "@" not in email.strip("@"):
        raise click.BadParameter("this is not a mail address", param_hint="--email")
    added = run_as_operator(data_dir, lambda database: add_account(database, name, email, role, tier, agreed))
    click.echo(added)


@command.command(name="list")
@click.option("--all", "every", is_flag=True, help="Closed accounts too.")
@on_servers
def list_(every: bool, data_dir: Path) -> None:
    """List accounts with role, tier and monthly credit."""
    rows = run_as_operator(data_dir, lambda database: list_accounts(database, every=every))
    if not rows:
        click.echo("no accounts; add one with `openerrata accounts add NAME`", err=True)
        return
    table = [
        (
            row.username,
            row.email or "",
            row.role,
            row.tier,
            _format_credit(row),
            "yes" if row.has_webhook_secret else "no",
            f"closed {row.closed_at:%Y-%m-%d}" if row.closed_at else f"since {row.created_at:%Y-%m-%d}",
            str(row.id),
        )
        for row in rows
    ]
    click.echo(
        format_table(("account", "mail", "role", "tier", "a month", "webhooks", "state", "id"), table, right=(4,))
    )


@command.command()
@click.argument("name")
@on_servers
def show(name: str, data_dir: Path) -> None:
    """Show the account NAME with what its holder did: jobs, edits, flags, and the day of the newest."""
    it = run_as_operator(data_dir, lambda database: read_activity(database, name))
    closed = f", closed {it.closed_at:%Y-%m-%d}" if it.closed_at else ""
    click.echo(f"account        {it.username}{f' <{it.email}>' if it.email else ''}")
    click.echo(f"role, tier     {it.role}, {it.tier}")
    click.echo(f"since          {it.created_at:%Y-%m-%d}{closed}")
    click.echo(f"last active    {it.last_active or 'never'}")
    click.echo(f"jobs           {it.jobs}")
    click.echo(f"edits          {it.contributions}")
    click.echo(f"flags          {it.flags_submitted}, {it.flags_accepted} accepted")


def _format_credit(row: AccountRow) -> str:
    limit = monthly_credit(row.tier, row.agreed)
    return "no limit" if limit is None else f"${limit / _MICRO_USD:,.2f}"


@command.command()
@click.argument("name")
@click.argument("role", type=click.Choice(ROLES), metavar="ROLE")
@on_servers
def role(name: str, role: Role, data_dir: Path) -> None:
    """Give the account NAME another ROLE: reader, contributor, moderator or admin."""
    run_as_operator(data_dir, lambda database: change_account(database, name, role=role))
    click.echo(f"{name} is {role}")


@command.command()
@click.argument("name")
@click.argument("tier", type=click.Choice(tuple(TIERS)), metavar="TIER")
@_credit_limit
@on_servers
def tier(name: str, tier: Tier, agreed: int | None, data_dir: Path) -> None:
    """Give the account NAME another TIER: free, pro or enterprise.

    Without --credit-limit the tier's own credit holds.
    """
    run_as_operator(data_dir, lambda database: change_account(database, name, tier=tier, credit_limit_micro_usd=agreed))
    click.echo(f"{name} is {tier}")


@command.command()
@click.argument("name")
@click.option("--erase", is_flag=True, help="Delete its row and keys as well: its id in facts then names no person.")
@on_servers
def close(name: str, erase: bool, data_dir: Path) -> None:
    """Close the account NAME for good: its keys and webhook secrets end at once, its mail address is removed."""
    revoked = run_as_operator(data_dir, lambda database: close_account(database, name, erase=erase))
    click.echo(f"{'erased' if erase else 'closed'} {name}; keys revoked: {revoked}")


@command.command(name="webhook-secret")
@click.argument("name")
@click.option("--end-rotation", is_flag=True, help="Make no new secret; only the newest stays valid.")
@on_servers
def webhook_secret(name: str, end_rotation: bool, data_dir: Path) -> None:
    """Make the account NAME a new secret for webhooks and print it once; the previous one stays valid beside it."""
    secret = f"whsec_{base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()}"
    new = None if end_rotation else secret
    run_on_servers(
        data_dir,
        lambda found: act_as_operator(found, lambda database: rotate_secret(database, name, found.master_keys[0], new)),
        quieter="warning",
    )
    click.echo(f"only the newest secret of {name} is valid now" if end_rotation else secret)
