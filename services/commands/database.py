"""Access to the database for commands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

from sqlalchemy import select

from contracts.readmodel.ledger import position
from kit.bus import Bus, connect
from kit.database import Database, Role, is_current, migrate
from kit.errors import Reject, Retry
from kit.publisher import BusError
from kit.servers_in_use import Servers
from kit.settings import SettingsError
from services.commands.shared import as_message, run_on_servers

LOG_AND_TABLES: Final = ("nats", "postgres")
T = TypeVar("T")


@asynccontextmanager
async def open_database(url: str, role: Role) -> AsyncIterator[Database]:
    """A connection pool in this role, closed at the end."""
    database = Database(url, role=role)
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def open_tables(found: Servers, *, of: str = "findings") -> AsyncIterator[Database]:
    """The tables, for reading. Raises: SettingsError: there are none yet; the message names the missing `of`."""
    if not await is_current(found.database_url):
        raise SettingsError(f"there are no {of} yet: start the projector first (`openerrata up projector`)")
    async with open_database(found.database_url, "reader") as database:
        yield database


def run_on_tables(data_dir: Path, action: Callable[[Bus, Database], Awaitable[T]]) -> T:
    """Run an action on broker and tables to its end. Raises: click.ClickException: one of them fails."""

    async def work(found: Servers) -> T:
        with as_message(BusError, Retry, Reject):
            async with connect(found.nats_url, name="openerrata-tables") as bus, open_tables(found) as database:
                return await action(bus, database)

    return run_on_servers(data_dir, work, needs=LOG_AND_TABLES)


def run_as_operator(data_dir: Path, action: Callable[[Database], Awaitable[T]]) -> T:
    """Run an action on the operator's tables to its end."""
    return run_on_servers(data_dir, lambda found: act_as_operator(found, action), quieter="warning")


async def act_as_operator(found: Servers, action: Callable[[Database], Awaitable[T]]) -> T:
    """Run an action on the operator's tables, after migrating them if this process may."""
    if found.owner_url is not None:
        await migrate(found.owner_url)
    async with open_database(found.role_urls.get("operator") or found.database_url, "operator") as database:
        return await action(database)


async def read_positions(database: Database) -> dict[str, int]:
    """The last applied sequence of each stream."""
    async with database.connect() as connection:
        rows = (await connection.execute(select(position.c.stream, position.c.sequence))).all()
    return {row.stream: row.sequence for row in rows}
