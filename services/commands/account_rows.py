"""Accounts of the job API in the read model, as the operator's commands read and change them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

import click
from sqlalchemy import ColumnElement, Date, ScalarSelect, Table, and_, cast, delete, func, literal, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from contracts.accounts import Role, Tier
from contracts.readmodel.accounts import account, instance_api_key
from contracts.readmodel.catalogue import edit, flag
from contracts.readmodel.jobs import job
from kit.clock import SystemClock
from kit.database import Database
from kit.vault import MasterKey, seal


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


async def add_account(
    database: Database, username: str, email: str | None, role: Role, tier: Tier, agreed: int | None
) -> UUID:
    """Add an account; returns its id. Raises: click.ClickException: the name or mail address is in use."""
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
    """Change columns of an open account. Raises: click.ClickException: no open account has this name."""
    async with database.transaction() as connection:
        owner = await _find_open(connection, username)
        await connection.execute(update(account).where(account.c.id == owner).values(**values))


async def close_account(database: Database, username: str, *, erase: bool) -> int:
    """Close an account and revoke its keys, or delete both; returns how many active keys it had.

    Raises: click.ClickException: no open account has this name; for `erase`, no account at all.
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


@dataclass(frozen=True, slots=True)
class Activity:
    """An account with counts of what it did. Shapes: `last_active` is the day of its newest job, edit or flag."""

    username: str
    email: str | None
    role: Role
    tier: Tier
    created_at: datetime
    closed_at: datetime | None
    jobs: int
    contributions: int
    flags_submitted: int
    flags_accepted: int
    last_active: date | None


async def read_activity(database: Database, username: str) -> Activity:
    """The account of this name, open or closed. Raises: click.ClickException: no account has it."""
    t = account.c
    newest = func.greatest(
        _newest(job, job.c.account_id == t.id),
        _newest(edit, edit.c.made_by == t.id),
        _newest(flag, flag.c.account_id == t.id),
    )
    query = select(
        t.username,
        t.email,
        t.role,
        t.tier,
        t.created_at,
        t.closed_at,
        _count(job, job.c.account_id == t.id),
        _count(edit, edit.c.made_by == t.id),
        _count(flag, flag.c.account_id == t.id),
        _count(flag, and_(flag.c.account_id == t.id, flag.c.status == "ACCEPTED")),
        cast(func.timezone(literal("UTC"), newest), Date),
    ).where(t.username == username)
    async with database.connect() as connection:
        row = (await connection.execute(query)).first()
    if row is None:
        raise click.ClickException(f"there is no account {username!r}; see `openerrata accounts list --all`")
    return Activity(*row)


def _count(table: Table, condition: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.count()).select_from(table).where(condition).scalar_subquery()


def _newest(table: Table, condition: ColumnElement[bool]) -> ScalarSelect[datetime]:
    return select(func.max(table.c.created_at)).where(condition).scalar_subquery()
