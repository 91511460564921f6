"""What a service lives in: one broker connection, one registry, one way to stop, shared by all in the process.

Whether services share a process or have one each is decided by who starts them; a service cannot tell.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import structlog

from kit.blobs import Blobs
from kit.bus import Bus
from kit.cancelling import cancelled
from kit.clock import Clock
from kit.database import WAIT_S, Database, Role, role_url
from kit.delivery import Delivery
from kit.models.base import Model
from kit.outage import is_outage
from kit.telemetry import Telemetry
from kit.tracing import Spans
from kit.vault import UserKeys

RESTART_MAX_S = 10.0
RESTART_OUTAGE_MAX_S = 1.0
"""After a server's failure, which ends without a word: whoever waits for the loop waits no longer than this."""
CHECK_TIMEOUT_S = 3.0
CHECK_MEMORY_S = 1.0

log = structlog.get_logger(__name__)

Check = Callable[[], Awaitable[str | None]]
"""Answers None if all is well, else one sentence that says what is wrong."""


@dataclass
class Host:
    """The surroundings of the services in one process.

    Shapes: `logins` are addresses of the database by role; one that is missing is the role itself at `database_url`.
    """

    bus: Bus
    delivery: Delivery
    blobs: Blobs
    clock: Clock
    telemetry: Telemetry
    database_url: str
    model: Model
    user_keys: UserKeys
    logins: Mapping[Role, str] = field(default_factory=dict)
    spans: Spans | None = None
    public_url: str = ""
    servers_given: bool = False
    """Whether all servers are somebody else's, so that this is an instance for others to reach."""
    data_folder: Path | None = None
    """Where the servers of this process keep their data, if it brought any."""
    worker: str = field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}-{monotonic():.0f}")
    _databases: dict[tuple[Role, str], Database] = field(default_factory=dict)
    _loops: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    _closers: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    _stoppers: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    _checks: dict[str, Check] = field(default_factory=dict)
    _broken: dict[str, str] = field(default_factory=dict)
    _remembered: tuple[float, dict[str, str]] | None = None

    def database(self, role: Role, purpose: str = "", *, pool_size: int = 5, wait_s: float = WAIT_S) -> Database:
        """The database as seen by a role; one pool per role, purpose and process, as whoever asks first wants it."""
        if (role, purpose) not in self._databases:
            url = self.logins.get(role) or role_url(self.database_url, role)
            self._databases[role, purpose] = Database(url, role=role, pool_size=pool_size, wait_s=wait_s)
        return self._databases[role, purpose]

    def keep_running(self, name: str, loop: Callable[[], Awaitable[None]]) -> None:
        """Run something for as long as the process lives; if it fails it is started again and readiness says so."""
        self._loops[name] = loop

    def on_stop(self, stop: Callable[[], Awaitable[None]]) -> None:
        """Call this first when the process stops, last registered first: no new work from here on."""
        self._stoppers.append(stop)

    def on_close(self, close: Callable[[], Awaitable[None]]) -> None:
        """Call this when no work is under way any more, last registered first."""
        self._closers.append(close)

    def check(self, name: str, check: Check) -> None:
        """Ask this before saying that the process is ready."""
        self._checks[name] = check

    @property
    def checks(self) -> frozenset[str]:
        """Names of what is asked, and of the loops."""
        return frozenset(self._checks) | frozenset(self._loops)

    async def run(self, stop: asyncio.Event) -> None:
        """Take messages and run the loops until `stop`; then take no more, finish what is under way, and return."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._keep(name, loop), name=name) for name, loop in self._loops.items()]
            await self.delivery.start()
            await stop.wait()
            for stopper in reversed(self._stoppers):
                await stopper()
            await self.delivery.stop()
            await cancelled(tasks)

    async def close(self) -> None:
        """Let go of what was opened."""
        for close in reversed(self._closers):
            await close()
        for database in self._databases.values():
            await database.close()
        self.blobs.close()

    async def problems(self) -> dict[str, str]:
        """What is wrong now, by name; empty when ready. Remembered for a moment, so that probes cost nothing."""
        if self._remembered is not None and monotonic() - self._remembered[0] < CHECK_MEMORY_S:
            return self._remembered[1]
        answers = await asyncio.gather(*(_ask(check) for check in self._checks.values()))
        found = {name: answer for name, answer in zip(self._checks, answers, strict=True) if answer}
        found |= self._broken
        self._remembered = monotonic(), found
        return found

    async def _keep(self, name: str, loop: Callable[[], Awaitable[None]]) -> None:
        delay_s = 0.25
        while True:
            began = monotonic()
            try:
                await loop()
                error: Exception = RuntimeError("ended by itself")
            except Exception as caught:
                error = caught
                while isinstance(error, ExceptionGroup):  # of tasks that end together the first is the cause
                    error = error.exceptions[0]
            self._broken[name] = f"{type(error).__name__}: {error}"
            if monotonic() - began > RESTART_MAX_S:
                delay_s = 0.25
            log.error("loop failed, starting it again", loop=name, error=self._broken[name], after_s=delay_s)
            await asyncio.sleep(delay_s)
            delay_s = min(RESTART_OUTAGE_MAX_S if is_outage(error) else RESTART_MAX_S, delay_s * 2)
            self._broken.pop(name, None)


async def _ask(check: Check) -> str | None:
    """A check that takes too long is given up, not waited for: a driver may try for seconds to cancel its query."""
    asking = asyncio.ensure_future(check())
    await asyncio.wait({asking}, timeout=CHECK_TIMEOUT_S)
    if not asking.done():
        asking.add_done_callback(lambda late: late.cancelled() or late.exception())
        asking.cancel()
        return f"no answer within {CHECK_TIMEOUT_S:g} s"
    error = asking.exception()
    return asking.result() if error is None else f"{type(error).__name__}: {error}"
