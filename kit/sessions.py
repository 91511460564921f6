"""Database sessions that fail when PostgreSQL does not answer.

The driver has no timeout, and cancelling needs the same server. So when a statement takes long, a separate connection
checks whether the server answers at all and whether it works on that statement. If not, the statement's socket is shut
down, which the driver treats as a lost connection.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Any, Final, TypeVar

import psycopg
import structlog
from psycopg.abc import PQGen
from psycopg.rows import TupleRow

CHECK_AFTER_S: Final = 0.5
CHECK_EVERY_S: Final = 0.75
CHECK_TIMEOUT_S: Final = 1.5
CHECK_STEPS: Final = 6

log = structlog.get_logger(__name__)

ConnectArgument = Any
"""SQLAlchemy passes whatever the driver's `connect` takes."""

Result = TypeVar("Result")

END_WITHIN_MS: Final = 2_000
_ITSELF: Final = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_END: Final = "SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity WHERE (pid, backend_start) = (%s, %s)"
_WORKING: Final = """
    SELECT pid FROM pg_stat_activity
    WHERE pid = ANY (%s) AND state = 'active' AND wait_event_type IS DISTINCT FROM 'Client'
"""


class Session(psycopg.AsyncConnection[TupleRow]):
    """A connection of the driver whose statements are watched."""

    watch: Watch | None = None

    async def wait(self, gen: PQGen[Result], *arguments: ConnectArgument, **named: ConnectArgument) -> Result:
        """Wait for the server. Raises: psycopg.OperationalError: it does not answer."""
        if self.watch is None:
            return await super().wait(gen, *arguments, **named)
        pending = self.watch.begin(self)
        try:
            return await super().wait(gen, *arguments, **named)
        finally:
            self.watch.end(pending)


class _PendingStatement:
    """A statement without a result yet. `idle`: at the last check the server was not working on it."""

    __slots__ = ("idle", "pid", "session", "timer")

    def __init__(self, session: Session, pid: int, timer: asyncio.TimerHandle) -> None:
        self.session = session
        self.pid = pid
        self.timer = timer
        self.idle = False


class Watch:
    """Watches all sessions of one pool. `silent`: the server did not answer the last check."""

    def __init__(self) -> None:
        self.silent = False
        self._pending: set[_PendingStatement] = set()
        self._checking: asyncio.Task[None] | None = None
        self._arguments: tuple[tuple[ConnectArgument, ...], dict[str, ConnectArgument]] | None = None

    async def connect(self, *arguments: ConnectArgument, **named: ConnectArgument) -> Session:
        """Open a session. Raises: psycopg.OperationalError: the server does not answer."""
        self._arguments = arguments, named
        self._refuse_if_silent()
        try:
            async with asyncio.timeout(CHECK_AFTER_S + CHECK_TIMEOUT_S):
                session: Session = await Session.connect(*arguments, **named)
        except TimeoutError:
            self._start_checking()
            raise psycopg.errors.ConnectionTimeout("the database does not answer") from None
        session.watch = self
        return session

    def begin(self, session: Session) -> _PendingStatement:
        """Watch a statement that is being sent."""
        self._refuse_if_silent()
        pid = session.pgconn.backend_pid  # read now: a connection that was lost does not tell it
        timer = asyncio.get_running_loop().call_later(CHECK_AFTER_S, self._start_checking)
        pending = _PendingStatement(session, pid, timer)
        self._pending.add(pending)
        return pending

    def end(self, pending: _PendingStatement) -> None:
        """Stop watching a statement, which was answered or failed."""
        pending.timer.cancel()
        self._pending.discard(pending)

    def close(self) -> None:
        """Stop checking."""
        if self._checking is not None:
            self._checking.cancel()

    def _refuse_if_silent(self) -> None:
        if self.silent:
            raise psycopg.OperationalError("the database does not answer")

    def _start_checking(self) -> None:
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check())

    async def _check(self) -> None:
        while True:
            late = tuple(self._pending)
            query = asyncio.create_task(self._find_working([each.pid for each in late]))
            for _ in range(CHECK_STEPS):  # in steps, so that a blocked event loop is not taken for a silent server
                await asyncio.wait({query}, timeout=CHECK_TIMEOUT_S / CHECK_STEPS)
            working = None if not query.done() or query.exception() else query.result()
            if not query.done():
                query.add_done_callback(lambda task: task.cancelled() or task.exception())
                query.cancel()
            if self.silent != (working is None):
                self.silent = working is None
                log.warning("the database does not answer" if self.silent else "the database answers again")
            for pending in tuple(self._pending) if working is None else late:
                if working is None or (pending.idle and pending.pid not in working):
                    _shut_down(pending.session)
                else:
                    pending.idle = pending.pid not in working
            if not self.silent and not self._pending:
                return
            await asyncio.sleep(CHECK_EVERY_S)

    async def _find_working(self, pids: list[int]) -> Collection[int]:
        """Of the server processes `pids`, those that are working on a statement."""
        assert self._arguments is not None, "a pending statement has a connection"
        arguments, named = self._arguments
        named = {name: value for name, value in named.items() if name not in ("options", "context")}
        async with await psycopg.AsyncConnection.connect(*arguments, **named) as connection:
            found = await connection.execute(_WORKING, (pids,))
            return {pid for (pid,) in await found.fetchall()}


class SuccessiveSessions:
    """Opens one session after another, and terminates the previous one on the server.

    The server does not notice a connection that was lost in the network: its session would keep its locks, for hours if
    a middlebox still answers for us.
    """

    def __init__(self, connect: Callable[[], Awaitable[psycopg.AsyncConnection[TupleRow]]]) -> None:
        self._connect = connect
        self._previous: TupleRow | None = None

    async def __call__(self) -> psycopg.AsyncConnection[TupleRow]:
        """The next session. Raises: psycopg.Error."""
        session = await self._connect()
        try:
            async with session.transaction():
                await session.execute("SET LOCAL ROLE NONE")  # sessions belong to the login, not to the role
                if self._previous is not None:
                    await session.execute(_END, (END_WITHIN_MS, *self._previous))
                self._previous = await (await session.execute(_ITSELF)).fetchone()
        except BaseException:
            await session.close()
            raise
        return session


def _shut_down(session: Session) -> None:
    """Shut a session's socket down, which the driver notices even in the middle of a statement."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(session.pgconn.socket)) as end:
        end.shutdown(socket.SHUT_RDWR)
