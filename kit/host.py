"""The host of a process's services: they share one broker connection, one metrics registry and one shutdown.

The command that starts services decides whether they share a process; a service does not know.
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
from kit.cancelling import cancel_and_wait
from kit.clock import Clock
from kit.database import WAIT_S, Database, Role, role_url
from kit.delivery import Delivery
from kit.models.base import Model
from kit.outage import is_outage
from kit.telemetry import Telemetry
from kit.tracing import Spans
from kit.vault import MasterKey, UserKeys

RESTART_MAX_S = 10.0
RESTART_OUTAGE_MAX_S = 1.0
"""Longest delay before a loop restarts after an outage, whose end nothing announces."""
CHECK_TIMEOUT_S = 3.0
CHECK_TTL_S = 1.0

log = structlog.get_logger(__name__)

Check = Callable[[], Awaitable[str | None]]
"""Returns None if all is well, else one sentence about the problem."""


@dataclass
class Host:
    """What the services of one process share.

    Shapes: `logins` are database addresses by role; the default is the role as user at `database_url`.
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
    master_keys: tuple[MasterKey, ...] = ()
    """The keys that seal secrets; empty in processes that open none."""
    spans: Spans | None = None
    public_url: str = ""
    servers_given: bool = False
    """Whether all servers are external, as they are for an instance that others can reach."""
    data_folder: Path | None = None
    """Where embedded servers store their data, if there are any."""
    worker: str = field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}-{monotonic():.0f}")
    _databases: dict[tuple[Role, str], Database] = field(default_factory=dict)
    _loops: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    _closers: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    _stoppers: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    _checks: dict[str, Check] = field(default_factory=dict)
    _broken: dict[str, str] = field(default_factory=dict)
    _cached_problems: tuple[float, dict[str, str]] | None = None

    def database(self, role: Role, purpose: str = "", *, pool_size: int = 5, wait_s: float = WAIT_S) -> Database:
        """The database in a role. Each role and purpose has one pool a process, with the options of the first call."""
        if (role, purpose) not in self._databases:
            url = self.logins.get(role) or role_url(self.database_url, role)
            self._databases[role, purpose] = Database(url, role=role, pool_size=pool_size, wait_s=wait_s)
        return self._databases[role, purpose]

    def keep_running(self, name: str, loop: Callable[[], Awaitable[None]]) -> None:
        """Run a loop for as long as the process lives; a loop that fails is reported by readiness and restarted."""
        self._loops[name] = loop

    def on_stop(self, stop: Callable[[], Awaitable[None]]) -> None:
        """Register a function to call when the process begins to stop, after which there must be no new work.

        The last one registered is called first.
        """
        self._stoppers.append(stop)

    def on_close(self, close: Callable[[], Awaitable[None]]) -> None:
        """Register a function to call when no work is in progress any more; the last one registered is called first."""
        self._closers.append(close)

    def check(self, name: str, check: Check) -> None:
        """Add a check to readiness."""
        self._checks[name] = check

    @property
    def checks(self) -> frozenset[str]:
        """Names of the checks and of the loops."""
        return frozenset(self._checks) | frozenset(self._loops)

    async def run(self, stop: asyncio.Event) -> None:
        """Handle messages and run the loops until `stop`; then finish what is in progress, and return."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run_loop(name, loop), name=name) for name, loop in self._loops.items()]
            await self.delivery.start()
            await stop.wait()
            for stopper in reversed(self._stoppers):
                await stopper()
            await self.delivery.stop()
            await cancel_and_wait(tasks)

    async def close(self) -> None:
        """Close everything that was opened."""
        for close in reversed(self._closers):
            await close()
        for database in self._databases.values():
            await database.close()
        self.blobs.close()

    async def problems(self) -> dict[str, str]:
        """Current problems by name; empty when ready. Cached for a moment, so that probes cost nothing."""
        if self._cached_problems is not None and monotonic() - self._cached_problems[0] < CHECK_TTL_S:
            return self._cached_problems[1]
        answers = await asyncio.gather(*(_run_check(check) for check in self._checks.values()))
        found = {name: answer for name, answer in zip(self._checks, answers, strict=True) if answer}
        found |= self._broken
        self._cached_problems = monotonic(), found
        return found

    async def _run_loop(self, name: str, loop: Callable[[], Awaitable[None]]) -> None:
        delay_s = 0.25
        while True:
            began = monotonic()
            try:
                await loop()
                error: Exception = RuntimeError("ended by itself")
            except Exception as caught:
                error = caught
                while isinstance(error, ExceptionGroup):  # of several tasks that failed, the first is the cause
                    error = error.exceptions[0]
            self._broken[name] = f"{type(error).__name__}: {error}"
            if monotonic() - began > RESTART_MAX_S:
                delay_s = 0.25
            log.error("loop failed, starting it again", loop=name, error=self._broken[name], after_s=delay_s)
            await asyncio.sleep(delay_s)
            delay_s = min(RESTART_OUTAGE_MAX_S if is_outage(error) else RESTART_MAX_S, delay_s * 2)
            self._broken.pop(name, None)


async def _run_check(check: Check) -> str | None:
    """Run a check; do not await the cancellation of one that times out: a driver may need seconds to end its query."""
    running = asyncio.ensure_future(check())
    await asyncio.wait({running}, timeout=CHECK_TIMEOUT_S)
    if not running.done():
        running.add_done_callback(lambda late: late.cancelled() or late.exception())
        running.cancel()
        return f"no answer within {CHECK_TIMEOUT_S:g} s"
    error = running.exception()
    return running.result() if error is None else f"{type(error).__name__}: {error}"
