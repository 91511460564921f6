"""The servers of a single machine, started and stopped together over one data folder with one owner.

`endpoints.json` is valid only while a live process holds the folder's lock.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import structlog

from kit.embedded.child import Child
from kit.embedded.errors import EmbeddedError
from kit.embedded.files import socket_dir, write_private
from kit.embedded.lock import DataDirLock, holder_of
from kit.embedded.nats import Nats
from kit.embedded.postgres import Postgres
from kit.embedded.privileges import plain_uid
from kit.embedded.seaweedfs import SeaweedFs
from kit.embedded.server import POLL_S, Endpoints, Server, ServerHome, wait_until_ready

ServiceName = Literal["nats", "postgres", "s3"]
# PostgreSQL last: creating its cluster takes a while, in which the others start up.
SERVERS: dict[ServiceName, tuple[str, type[Nats] | type[SeaweedFs] | type[Postgres]]] = {
    "s3": ("seaweedfs", SeaweedFs),
    "nats": ("nats", Nats),
    "postgres": ("postgres", Postgres),
}
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0
SPACE_BYTES = 32 * 1024 * 1024
"""Free space that is enough to restart a server whose disk was full."""
SPACE_CHECK_EVERY_S = 1.0

log = structlog.get_logger(__name__)


class EmbeddedStack:
    """NATS, PostgreSQL and SeaweedFS over one data folder; a context manager, or start() and stop()."""

    def __init__(
        self, data_dir: Path, *, durable: bool = True, services: Iterable[ServiceName] = tuple(SERVERS)
    ) -> None:
        self.data_dir = data_dir.absolute()
        self._durable = durable
        self.services = frozenset(services)
        self._running: dict[Child, Server] = {}
        self._lock: DataDirLock | None = None
        self._sockets: Path | None = None
        self._endpoints: Endpoints | None = None
        self._restarting = asyncio.Lock()

    @property
    def endpoints(self) -> Endpoints:
        """The addresses of the servers.

        Raises: EmbeddedError when they do not run.
        """
        if self._endpoints is None:
            raise EmbeddedError("the servers are not running")
        return self._endpoints

    @property
    def pids(self) -> dict[str, int]:
        """The process id of each running server, by name."""
        return {child.program.name: child.pid for child in self._running}

    @property
    def _record(self) -> Path:
        return self.data_dir / "endpoints.json"

    def start(self) -> Endpoints:
        """Start the servers and wait until all are ready; called from the main thread.

        Raises: DataDirInUse, EmbeddedError.
        """
        if self._lock is not None:
            raise EmbeddedError("the servers are running already")
        try:
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.data_dir.chmod(0o700)
            self._lock = DataDirLock(self.data_dir)
            self._record.unlink(missing_ok=True)
            self._start_servers(self._lock)
            wait_until_ready(self._running, START_TIMEOUT_S)
            endpoints = Endpoints()
            for server in self._running.values():
                endpoints = server.add_endpoints(endpoints)
            write_private(self._record, json.dumps(asdict(endpoints), indent=1))
            self._endpoints = endpoints
        except BaseException as problem:
            self.stop()
            if isinstance(problem, OSError):
                raise EmbeddedError(f"cannot run servers in {self.data_dir}: {problem}") from problem
            raise
        return endpoints

    def _start_servers(self, lock: DataDirLock) -> None:
        logs = self.data_dir / "logs"
        logs.mkdir(mode=0o700, exist_ok=True)
        logs.chmod(0o700)
        uid = plain_uid(self.data_dir / "postgres")
        self._sockets = socket_dir(self.data_dir, uid)
        for service, (name, kind) in SERVERS.items():
            if service in self.services:
                folder, log = self.data_dir / name, logs / f"{name}.log"
                server: Server = kind(ServerHome(folder, log, self._sockets, lock.fd, self._durable, uid))
                self._running[server.start()] = server

    @property
    def has_space(self) -> bool:
        """Whether the disk has space for servers to work."""
        return shutil.disk_usage(self.data_dir).free >= SPACE_BYTES

    async def watch(self) -> EmbeddedError:
        """Wait until a server ends by itself and return why, for the caller to raise; called from the main thread.

        PostgreSQL ends when the disk is full and its log cannot grow: it is restarted when there is space.
        """
        while True:
            child = await self._wait_for_end()
            async with self._restarting:
                if child not in self._running:  # it was ended to be restarted
                    continue
                if self.has_space:
                    return child.failure()
                log.error("the disk is full and a server has ended: waiting for space", server=child.program.name)
                while not self.has_space:  # noqa: ASYNC110 (there is no event for it)
                    await asyncio.sleep(SPACE_CHECK_EVERY_S)
                try:
                    await self._restart(child)
                except EmbeddedError as error:
                    return error

    async def restart(self, name: ServiceName) -> None:
        """Restart one server with its data and address; called from the main thread.

        Raises: EmbeddedError: it does not become ready.
        """
        async with self._restarting:
            await self._restart(next(each for each, its in self._running.items() if isinstance(its, SERVERS[name][1])))

    async def _restart(self, child: Child) -> None:
        server = self._running.pop(child)
        child.ask_to_stop()
        await asyncio.to_thread(child.wait_stopped, STOP_TIMEOUT_S)
        restarted = server.start()
        self._running[restarted] = server
        deadline = time.monotonic() + START_TIMEOUT_S
        while not await asyncio.to_thread(server.ready):
            if not restarted.alive or time.monotonic() > deadline:
                raise restarted.failure()
            await asyncio.sleep(POLL_S)

    async def _wait_for_end(self) -> Child:
        """Wait until a server ends."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Child] = loop.create_future()
        watched: list[int] = []

        def note(child: Child) -> None:
            if not ended.done():
                ended.set_result(child)

        try:
            for child in self._running:
                if not child.alive:
                    return child
                watched.append(os.pidfd_open(child.pid))
                loop.add_reader(watched[-1], note, child)
            return await ended
        finally:
            for fd in watched:
                loop.remove_reader(fd)
                os.close(fd)

    def stop(self) -> None:
        """Stop all servers together and free the data folder; stopping twice is harmless."""
        self._endpoints = None
        deadline = time.monotonic() + STOP_TIMEOUT_S
        for child in self._running:
            child.ask_to_stop()
        for child in self._running:
            child.wait_stopped(max(0.0, deadline - time.monotonic()))
        for server in self._running.values():
            server.clean_up()
        self._running.clear()
        if self._sockets is not None:
            shutil.rmtree(self._sockets, ignore_errors=True)
            self._sockets = None
        if self._lock is not None:
            self._record.unlink(missing_ok=True)
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def running_endpoints(data_dir: Path) -> Endpoints | None:
    """The addresses of the servers of a data folder, None if no live process runs them."""
    if holder_of(data_dir) is None:
        return None
    try:
        return Endpoints(**json.loads((data_dir / "endpoints.json").read_text()))
    except FileNotFoundError:  # it is just starting or stopping
        return None
