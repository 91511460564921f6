"""Sessions that do not wait for a PostgreSQL that does not answer.

The driver waits for an answer without an end, and cancelling asks the same server to cancel. So a statement that takes
long makes us look, over a connection of its own, whether the server answers at all and whether it works on that
statement. If not, the statement's socket is shut down, which the driver takes for a lost connection.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Any, Final

import psycopg
import structlog

LOOK_AFTER_S: Final = 0.5
LOOK_EVERY_S: Final = 0.75
LOOK_TIMEOUT_S: Final = 1.5
LOOK_STEPS: Final = 6

log = structlog.get_logger(__name__)

END_WITHIN_MS: Final = 2_000
_ITSELF: Final = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_END: Final = "SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity WHERE (pid, backend_start) = (%s, %s)"
_WORKING: Final = """
    SELECT pid FROM pg_stat_activity
    WHERE pid = ANY (%s) AND state = 'active' AND wait_event_type IS DISTINCT FROM 'Client'
"""


class Session(psycopg.AsyncConnection[Any]):
    """A connection of the driver whose statements are watched."""

    watch: Watch | None = None

    async def wait(self, *arguments: Any, **named: Any) -> Any:
        """Wait for the server. Raises: psycopg.OperationalError: it does not answer."""
        if self.watch is None:
            return await super().wait(*arguments, **named)
        waiting = self.watch.begin(self)
        try:
            return await super().wait(*arguments, **named)
        finally:
            self.watch.end(waiting)


class _Waiting:
    """One statement that has no answer yet."""

    __slots__ = ("idle", "session", "timer")

    def __init__(self, session: Session, timer: asyncio.TimerHandle) -> None:
        self.session = session
        self.timer = timer
        self.idle = False


class Watch:
    """Watches all sessions of one pool. `silent`: the server did not answer when last looked at."""

    def __init__(self) -> None:
        self.silent = False
        self._waiting: set[_Waiting] = set()
        self._looking: asyncio.Task[None] | None = None
        self._arguments: tuple[tuple[Any, ...], dict[str, Any]] | None = None

    async def connect(self, *arguments: Any, **named: Any) -> Session:
        """A new session. Raises: psycopg.OperationalError: at once while the server is silent."""
        self._arguments = arguments, named
        self._refuse_if_silent()
        try:
            async with asyncio.timeout(LOOK_AFTER_S + LOOK_TIMEOUT_S):
                session: Session = await Session.connect(*arguments, **named)
        except TimeoutError:
            self._look_soon()
            raise psycopg.errors.ConnectionTimeout("the database does not answer") from None
        session.watch = self
        return session

    def begin(self, session: Session) -> _Waiting:
        """A statement is sent."""
        self._refuse_if_silent()
        waiting = _Waiting(session, asyncio.get_running_loop().call_later(LOOK_AFTER_S, self._look_soon))
        self._waiting.add(waiting)
        return waiting

    def end(self, waiting: _Waiting) -> None:
        """It was answered, or failed."""
        waiting.timer.cancel()
        self._waiting.discard(waiting)

    def close(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()

    def _refuse_if_silent(self) -> None:
        if self.silent:
            raise psycopg.OperationalError("the database does not answer")

    def _look_soon(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())

    async def _look(self) -> None:
        while True:
            late = tuple(self._waiting)
            asking = asyncio.create_task(self._ask([each.session.pgconn.backend_pid for each in late]))
            for _ in range(LOOK_STEPS):  # so that a loop that was blocked does not blame the server
                await asyncio.wait({asking}, timeout=LOOK_TIMEOUT_S / LOOK_STEPS)
            working = None if not asking.done() or asking.exception() else asking.result()
            if not asking.done():
                asking.add_done_callback(lambda task: task.cancelled() or task.exception())
                asking.cancel()
            if self.silent != (working is None):
                self.silent = working is None
                log.warning("the database does not answer" if self.silent else "the database answers again")
            for waiting in tuple(self._waiting) if working is None else late:
                if working is None or (waiting.idle and waiting.session.pgconn.backend_pid not in working):
                    _cut(waiting.session)
                else:
                    waiting.idle = waiting.session.pgconn.backend_pid not in working
            if not self.silent and not self._waiting:
                return
            await asyncio.sleep(LOOK_EVERY_S)

    async def _ask(self, pids: list[int]) -> Collection[int]:
        """Those of the server processes that work on a statement of ours."""
        assert self._arguments is not None, "whoever waits has connected"
        arguments, named = self._arguments
        named = {name: value for name, value in named.items() if name not in ("options", "context")}
        async with await psycopg.AsyncConnection.connect(*arguments, **named) as connection:
            found = await connection.execute(_WORKING, (pids,))
            return {pid for (pid,) in await found.fetchall()}


class Successive:
    """Opens sessions one after the other, and ends on the server what is left of the one before.

    Where a connection was lost on the way, the server hears nothing of it: its session would keep what it has locked,
    for hours if something between the two still answers for us.
    """

    def __init__(self, connect: Callable[[], Awaitable[psycopg.AsyncConnection[Any]]]) -> None:
        self._connect = connect
        self._before: tuple[Any, ...] | None = None

    async def __call__(self) -> psycopg.AsyncConnection[Any]:
        """The next session. Raises: psycopg.Error."""
        session = await self._connect()
        try:
            async with session.transaction():
                await session.execute("SET LOCAL ROLE NONE")  # sessions belong to the login
                if self._before is not None:
                    await session.execute(_END, (END_WITHIN_MS, *self._before))
                self._before = await (await session.execute(_ITSELF)).fetchone()
        except BaseException:
            await session.close()
            raise
        return session


def _cut(session: Session) -> None:
    """Shut a session's socket down: the driver sees its end, also in the middle of a statement."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(session.pgconn.socket)) as end:
        end.shutdown(socket.SHUT_RDWR)
