"""PostgreSQL connections; the role that a connection logs in as decides what it may do.

A service logs in as the one role that its work needs, which is a member of no other role.
Migrations and the operator's commands log in as the owner of the schemas.
"""

from __future__ import annotations

import asyncio
import select
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Literal, Protocol, get_args

import psycopg
from psycopg.rows import TupleRow
from sqlalchemy import Connection, create_engine, event, make_url
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

from contracts.readmodel.columns import SEARCH_PATH
from kit.migrations import FOLDER, HEADS, History
from kit.sessions import Watch
from kit.settings import SettingsError

Session = psycopg.AsyncConnection[TupleRow]
Connect = Callable[..., Awaitable[Session]]
Role = Literal["reader", "projector", "operator", "curator", "notary"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)

LIVE: Final = "readmodel"
CONNECT_TIMEOUT_S: Final = 10
WAIT_S: Final = 30.0
_SCRATCH: Final = "CREATE TEMP TABLE IF NOT EXISTS health (filling text) ON COMMIT DELETE ROWS"
_FILL: Final = "INSERT INTO pg_temp.health SELECT repeat(md5(i::text), 60) FROM generate_series(1, 32) i"
_MIGRATION_LOCK: Final = 0x6572726D
_one_migration_at_a_time = threading.Lock()  # Alembic keeps its context in module globals


class Database:
    """One pool of connections, all in the same role. Units: `wait_s` limits the wait for a free one."""

    def __init__(self, url: str, *, role: Role, pool_size: int = 5, wait_s: float = WAIT_S) -> None:
        self._url = url
        self._options = f"-c role=errata_{role} -c search_path={SEARCH_PATH}"
        self._watch = Watch()
        self._engine = create_async_engine(
            url,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=wait_s,
            connect_args={"options": self._options, "async_creator_fn": self._watch.connect},
            isolation_level="AUTOCOMMIT",  # saves two round trips a query
        )
        event.listen(self._engine.sync_engine, "checkout", _require_alive)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[AsyncConnection]:
        """A pooled connection for queries: no transaction, each statement by itself."""
        async with self._engine.connect() as connection:
            yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """A pooled connection in a transaction, committed at the end or rolled back by an exception."""
        async with self._engine.begin() as connection:
            # The driver's own way to begin would first change the session, which a cancelled task leaves half done.
            await connection.exec_driver_sql("BEGIN ISOLATION LEVEL READ COMMITTED")
            yield connection

    async def write(self) -> None:
        """Write 64 KiB to the database's disk and free them.

        Raises: sqlalchemy.exc.OperationalError: the disk is full, or the server does not answer.
        """
        async with self.connect() as connection:
            await connection.exec_driver_sql(_SCRATCH)
            await connection.exec_driver_sql(_FILL)

    async def session(self, *, options: str = "") -> Session:
        """A psycopg connection outside the pool, for COPY and pipelines; the caller closes it."""
        return await open_session(self._url, options=f"{self._options} {options}", connect=self._watch.connect)

    async def close(self) -> None:
        """Close all pooled connections."""
        self._watch.close()
        await self._engine.dispose()


class _PooledConnection(Protocol):
    driver_connection: Session


def _require_alive(connection: _PooledConnection, *_: object) -> None:
    """Let the pool replace a session that has ended: the socket of an idle one has no data to read.

    Polling the socket costs no round trip, unlike a ping.
    """
    session = connection.driver_connection
    if not session.closed:
        poll = select.poll()
        poll.register(session.fileno(), select.POLLIN)
        if not poll.poll(0):
            return
    raise DisconnectionError


def role_url(url: str, role: Role) -> str:
    """`url` with a role as user and no password, for servers that need none or take it from a password file."""
    return make_url(url)._replace(username=f"errata_{role}", password=None).render_as_string(hide_password=False)


async def require_least_privilege(url: str, role: Role) -> None:
    """Refuse a login that could become anything but its role.

    Raises: SettingsError: the login may act as another role, or the role does not exist.
    """
    variable, name = f"OPENERRATA_DATABASE_{role.upper()}_URL", f"errata_{role}"
    try:
        session = await open_session(url)
    except psycopg.OperationalError as error:
        if f'"{name}"' not in str(error):
            raise
        why = " ".join(str(error).split())
        raise SettingsError(f"{variable}: {why}; migrate first, or let deploy/roles.sql make the login") from None
    async with session:
        found = await session.execute(
            """SELECT rolname FROM pg_roles
            WHERE pg_has_role(session_user, oid, 'MEMBER') AND (
                rolname NOT IN (session_user, %(role)s)
                OR rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls OR rolreplication
                OR NOT EXISTS (SELECT FROM pg_roles service
                    WHERE service.rolname = %(role)s AND pg_has_role(session_user, service.oid, 'MEMBER')))
            ORDER BY rolname <> session_user, rolname LIMIT 1""",
            {"role": name},
        )
        row = await found.fetchone()
    if row is not None:
        raise SettingsError(
            f"{variable}: this login may act as {row[0]}; a service logs in as {name} or as a member of it alone, "
            "see deploy/roles.sql"
        )


async def open_session(url: str, *, options: str = "", connect: Connect = psycopg.AsyncConnection.connect) -> Session:
    """A plain autocommit connection as the user of `url`."""
    parsed = make_url(url)
    _, arguments = parsed.get_dialect()().create_connect_args(parsed)  # the dialect spells several hosts differently
    arguments = {"connect_timeout": CONNECT_TIMEOUT_S, **arguments, "options": options, "autocommit": True}
    return await connect(**arguments)


class UnknownSchema(Exception):
    """The database was made by a newer version; the message is for the operator."""


async def migrate(url: str) -> None:
    """Bring ledger, operator and live read model to the newest revision.

    Safe to call from several processes at once; an up-to-date database is only read.

    Raises: UnknownSchema.
    """
    if not await is_current(url):
        await asyncio.to_thread(_migrate, url)


async def create_readmodel(url: str, schema: str) -> None:
    """Create the read model's empty tables in a new schema; an existing one is dropped first."""
    await asyncio.to_thread(_create_readmodel, url, schema)


async def is_current(url: str, role: Role | None = None) -> bool:
    """Whether every migration history that a role sees is at its newest revision; takes a few milliseconds.

    Of the read model the curator's role sees only the columns that labels need, the notary's those of look-ups.
    Raises: UnknownSchema: a history is at a newer revision than this version has.
    """
    histories: tuple[History, ...] = ("durable",) if role in ("curator", "notary") else ("durable", "readmodel")
    session = await open_session(url)
    async with session:
        found: list[str] = []
        for history in histories:
            schema = "ledger" if history == "durable" else LIVE
            table = f"{schema}.alembic_version"
            cursor = await session.execute("SELECT to_regclass(%s) IS NOT NULL", (table,))
            row = await cursor.fetchone()
            if row is None or not row[0]:
                return False
            cursor = await session.execute(f"SELECT version_num FROM {table}")  # noqa: S608 (our schema names)
            numbers = [number for (number,) in await cursor.fetchall()]
            if any(number > HEADS[history] for number in numbers):
                raise UnknownSchema(
                    f"the schema {schema!r} was made by a newer version of OpenErrata, at revision {max(numbers)}: use "
                    "that version; with another database, or another --data-dir, this one begins anew"
                )
            found += numbers
    return found == [HEADS[history] for history in histories]


def _migrate(url: str) -> None:
    engine = create_engine(url, poolclass=NullPool)
    with _one_migration_at_a_time, engine.begin() as connection:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
        connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS ledger; CREATE SCHEMA IF NOT EXISTS {LIVE}")
        _upgrade(connection, "durable", "ledger")
        _upgrade(connection, "readmodel", LIVE)


def _create_readmodel(url: str, schema: str) -> None:
    engine = create_engine(url, poolclass=NullPool)
    with _one_migration_at_a_time, engine.begin() as connection:
        connection.exec_driver_sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
        _upgrade(connection, "readmodel", schema)


def _upgrade(connection: Connection, history: History, schema: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.set_main_option("version_locations", str(FOLDER / history))
    config.set_main_option("path_separator", "os")
    config.attributes.update(connection=connection, schema=schema)
    connection.exec_driver_sql(f"SET LOCAL search_path = {schema}, ledger")
    command.upgrade(config, "head")
