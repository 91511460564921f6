"""Access to the database for commands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import select

from contracts.readmodel import position
from kit.database import Database, Role, migrate
from kit.servers_in_use import Servers
from services.commands.shared import run_on_servers

T = TypeVar("T")


@asynccontextmanager
async def open_database(url: str, role: Role) -> AsyncIterator[Database]:
    """A connection pool in this role, closed at the end."""
    database = Database(url, role=role)
    try:
        yield database
    finally:
        await database.close()


def run_as_operator(data_dir: Path, action: Callable[[Database], Awaitable[T]]) -> T:
    """Run an action on the operator's tables to its end."""
    return run_on_servers(data_dir, lambda found: act_as_operator(found, action), quieter="warning")


async def act_as_operator(found: Servers, action: Callable[[Database], Awaitable[T]]) -> T:
    """An action on the operator's tables, migrated first where this process may migrate."""
    if found.owner_url is not None:
        await migrate(found.owner_url)
    async with open_database(found.role_urls.get("operator") or found.database_url, "operator") as database:
        return await action(database)


async def read_positions(database: Database) -> dict[str, int]:
    """The last applied sequence of each stream."""
    async with database.connect() as connection:
        rows = (await connection.execute(select(position.c.stream, position.c.sequence))).all()
    return {row.stream: row.sequence for row in rows}
