"""What an account has done, for `openerrata accounts show`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

import click
from sqlalchemy import ColumnElement, Date, ScalarSelect, Table, and_, cast, func, literal, select

from contracts.accounts import Role, Tier
from contracts.readmodel import account, edit, flag, job
from kit.database import Database


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
    """An account by its name, a closed one too. Raises: click.ClickException: there is none."""
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
