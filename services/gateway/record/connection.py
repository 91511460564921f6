"""Connections to the read model, and typed rows. Every outage is raised as `Unavailable`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter
from sqlalchemy import ScalarResult, TextClause
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection

from kit.database import Database
from services.gateway.ports import Unavailable
from services.gateway.record.question import BadQuestion

TIMEOUT_MS: Final = 5_000
TOO_LONG: Final = "This takes too long to look for; please use longer or rarer words."

_READING: Final = (
    f"SET LOCAL statement_timeout = {TIMEOUT_MS}; SET LOCAL work_mem = '32MB'; SET LOCAL jit = off; "
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
)
R = TypeVar("R")


@asynccontextmanager
async def open_connection(database: Database) -> AsyncIterator[AsyncConnection]:
    """Open a connection for statements by primary key. Raises: Unavailable."""
    try:
        async with database.connect() as connection:
            yield connection
    except (OperationalError, InterfaceError, PoolTimeout) as error:
        raise Unavailable(f"database: {type(error).__name__}") from error


@asynccontextmanager
async def open_transaction(database: Database) -> AsyncIterator[AsyncConnection]:
    """Open a transaction without sequential scans and with a statement timeout.

    Raises: Unavailable. BadQuestion: the statement timed out.
    """
    try:
        async with database.transaction() as connection:
            await connection.exec_driver_sql(_READING)
            yield connection
    except (OperationalError, InterfaceError, PoolTimeout) as error:
        if getattr(getattr(error, "orig", None), "sqlstate", None) == "57014":
            raise BadQuestion(TOO_LONG) from error
        raise Unavailable(f"database: {type(error).__name__}") from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise Unavailable("database: connection lost") from error
        raise


_adapter = cache(TypeAdapter)


class Queries:
    """Statements over one connection, inside `open_transaction`."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def _all(self, kind: type[R], query: TextClause, /, **values: object) -> list[R]:
        """Rows as frozen dataclasses: columns have the names of fields, JSON columns become the fields' types."""
        found = await self._connection.execute(query, values)
        read: Callable[[object], R] = _adapter(kind).validate_python  # type: ignore[arg-type]  # mypy: type[R] is hashable
        return [read(dict(row)) for row in found.mappings()]

    async def _scalars(self, query: TextClause, /, **values: object) -> ScalarResult[Any]:
        """The first columns of rows, as the driver reads them."""
        return (await self._connection.execute(query, values)).scalars()

    async def _one(self, kind: type[R], query: TextClause, /, **values: object) -> R | None:
        found = await self._all(kind, query, **values)
        return found[0] if found else None
