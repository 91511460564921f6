"""`openerrata accounts`: who may use the job API, what they may do there, and the credit they have each month."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from uuid import UUID

import click
from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from contracts.accounts import ROLES, TIERS, Role, Tier, is_username, monthly_credit
from contracts.readmodel import account, instance_api_key
from kit.clock import SystemClock
from kit.database import Database
from kit.vault import MasterKey, seal
from services.commands.account_activity import read_activity
from services.commands.database import run_as_operator
from services.commands.shared import Group, data_dir_option, handle_errors, open_servers, run
from services.commands.terminal import format_table

SECRET_BYTES = 32
_MICRO_USD = 1_000_000


@dataclass(frozen=True, slots=True)
class AccountRow:
    """One account, as `accounts list` shows it. Units: `agreed` is a month's credit in micro-dollars."""

    id: UUID
    username: str
    email: str | None
    role: Role
    tier: Tier
    agreed: int | None
    has_webhook_secret: bool
    created_at: datetime
    closed_at: datetime | None


@click.group(cls=Group)
def command() -> None:
    """Manage accounts of the job API. There is no sign-up: accounts are made here.

    `openerrata keys add --account NAME --right audit` makes a key that opens one.

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
    """Micro-dollars of an amount in dollars."""
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
    help="Credit a month in dollars, where another than the tier's is agreed.",
)


@command.command()
@click.argument("name")
@click.option("--email", help="Where its holder is reached; it names one account only.")
@click.option("--role", type=click.Choice(ROLES), default="reader", show_default=True, help="What its holder may do.")
@click.option(
    "--tier", type=click.Choice(tuple(TIERS)), default="free", show_default=True, help="What a month is worth."
)
@_credit_limit
@data_dir_option
@handle_errors
def add(name: str, email: str | None, role: Role, tier: Tier, agreed: int | None, data_dir: Path) -> None:
    """Add an account. NAME is lower-case letters, digits and .-_ and is never given to another one."""
    if not is_username(name):
        raise click.BadParameter("a name is 1 to 64 lower-case letters, digits and .-_", param_hint="NAME")
    if email is not None and "@" not in email.strip("@"):
        raise click.BadParameter("this is no mail address", param_hint="--email")
    with open_servers(data_dir, quieter="warning") as found:
        added = run(run_as_operator(found, lambda database: add_account(database, name, email, role, tier, agreed)))
    click.echo(added)


@command.command(name="list")
@click.option("--all", "every", is_flag=True, help="Closed accounts too.")
@data_dir_option
@handle_errors
def list_(every: bool, data_dir: Path) -> None:
    """List accounts with role, tier and monthly credit."""
    with open_servers(data_dir, quieter="warning") as found:
        rows = run(run_as_operator(found, lambda database: list_accounts(database, every=every)))
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
@data_dir_option
@handle_errors
def show(name: str, data_dir: Path) -> None:
    """Show the account NAME with what its holder did: jobs, edits, flags, and the day of the newest."""
    with open_servers(data_dir, quieter="warning") as found:
        it = run(run_as_operator(found, lambda database: read_activity(database, name)))
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
@data_dir_option
@handle_errors
def role(name: str, role: Role, data_dir: Path) -> None:
    """Give the account NAME another ROLE: reader, contributor, moderator or admin."""
    with open_servers(data_dir, quieter="warning") as found:
        run(run_as_operator(found, lambda database: change_account(database, name, role=role)))
    click.echo(f"{name} is {role}")


@command.command()
@click.argument("name")
@click.argument("tier", type=click.Choice(tuple(TIERS)), metavar="TIER")
@_credit_limit
@data_dir_option
@handle_errors
def tier(name: str, tier: Tier, agreed: int | None, data_dir: Path) -> None:
    """Give the account NAME another TIER: free, pro or enterprise.

    Without --credit-limit the tier's own credit holds.
    """
    with open_servers(data_dir, quieter="warning") as found:
        run(
            run_as_operator(
                found, lambda database: change_account(database, name, tier=tier, credit_limit_micro_usd=agreed)
            )
        )
    click.echo(f"{name} is {tier}")


@command.command()
@click.argument("name")
@click.option("--erase", is_flag=True, help="Delete its row and keys as well: its id in facts then names no person.")
@data_dir_option
@handle_errors
def close(name: str, erase: bool, data_dir: Path) -> None:
    """Close the account NAME for good: its keys and webhook secrets end at once, its mail address is removed."""
    with open_servers(data_dir, quieter="warning") as found:
        revoked = run(run_as_operator(found, lambda database: close_account(database, name, erase=erase)))
    click.echo(f"{'erased' if erase else 'closed'} {name}; keys revoked: {revoked}")


@command.command(name="webhook-secret")
@click.argument("name")
@click.option("--end-rotation", is_flag=True, help="Make no new one: from now on only the newest is valid.")
@data_dir_option
@handle_errors
def webhook_secret(name: str, end_rotation: bool, data_dir: Path) -> None:
    """Make the account NAME a new secret for webhooks and print it once; the previous one stays valid beside it."""
    secret = f"whsec_{base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()}"
    with open_servers(data_dir, quieter="warning") as found:
        master = found.master_keys[0]
        run(
            run_as_operator(
                found,
                lambda database: rotate_secret(database, name, master, None if end_rotation else secret),
            )
        )
    click.echo(f"only the newest secret of {name} is valid now" if end_rotation else secret)


async def add_account(
    database: Database, username: str, email: str | None, role: Role, tier: Tier, agreed: int | None
) -> UUID:
    """Add an account; returns its id. Raises: click.ClickException: name or mail address are in use."""
    clock = SystemClock()
    new_id = clock.new_id()
    values = {
        "id": new_id,
        "username": username,
        "email": email and email.strip().lower(),
        "role": role,
        "tier": tier,
        "credit_limit_micro_usd": agreed,
        "created_at": clock.now(),
    }
    try:
        async with database.transaction() as connection:
            await connection.execute(account.insert().values(values))
    except IntegrityError as error:
        what = "mail address" if "account_email_key" in str(error.orig) else "name"
        raise click.ClickException(f"another account has this {what}; see `openerrata accounts list --all`") from None
    return new_id


async def list_accounts(database: Database, *, every: bool) -> Sequence[AccountRow]:
    """Open accounts, or all, oldest first."""
    t = account.c
    query = select(
        t.id,
        t.username,
        t.email,
        t.role,
        t.tier,
        t.credit_limit_micro_usd,
        t.has_webhook_secret,
        t.created_at,
        t.closed_at,
    ).order_by(t.created_at, t.id)
    async with database.connect() as connection:
        rows = (await connection.execute(query if every else query.where(t.closed_at.is_(None)))).all()
    return [AccountRow(*row) for row in rows]


async def change_account(database: Database, username: str, **values: object) -> None:
    """Change columns of an open account. Raises: click.ClickException: there is none of this name."""
    async with database.transaction() as connection:
        owner = await _find_open(connection, username)
        await connection.execute(update(account).where(account.c.id == owner).values(**values))


async def close_account(database: Database, username: str, *, erase: bool) -> int:
    """Close an account and revoke its keys, or delete both; how many active keys it had.

    Raises: click.ClickException: there is no open account of this name, or none at all for `erase`.
    """
    now, keys = SystemClock().now(), instance_api_key.c
    async with database.transaction() as connection:
        owner = await _find_open(connection, username, closed_too=erase)
        revoked = await connection.execute(
            update(instance_api_key)
            .where(keys.account_id == owner, keys.revoked_at.is_(None))
            .values(revoked_at=now, updated_at=now)
        )
        if erase:
            await connection.execute(delete(account).where(account.c.id == owner))  # its keys follow
        else:
            closed = update(account).where(account.c.id == owner)
            await connection.execute(closed.values(closed_at=now, email=None, webhook_secrets=[]))
    return revoked.rowcount


async def rotate_secret(database: Database, username: str, master: MasterKey, secret: str | None) -> None:
    """Seal a new webhook secret and keep the newest earlier one; None: keep only the newest.

    Raises: click.ClickException: there is no open account of this name, or it has no secret to keep.
    """
    async with database.transaction() as connection:
        owner = await _find_open(connection, username)
        current = select(account.c.webhook_secrets).where(account.c.id == owner)
        newest: Sequence[bytes] = (await connection.execute(current)).scalar_one()[:1]
        if secret is None and not newest:
            raise click.ClickException(f"{username} has no webhook secret yet")
        sealed = [] if secret is None else [seal(master, owner.bytes, secret)]
        await connection.execute(
            update(account).where(account.c.id == owner).values(webhook_secrets=[*sealed, *newest])
        )


async def _find_open(connection: AsyncConnection, username: str, *, closed_too: bool = False) -> UUID:
    query = select(account.c.id).where(account.c.username == username).with_for_update()
    found: UUID | None = (
        await connection.execute(query if closed_too else query.where(account.c.closed_at.is_(None)))
    ).scalar()
    if found is None:
        raise click.ClickException(f"there is no open account {username!r}; see `openerrata accounts list --all`")
    return found
