"""Serving an ASGI application inside this process's event loop, beside everything else that runs in it.

The socket is bound before anything is served and without port sharing: a second process on the same port fails at once and
with a clear message, instead of silently taking half of the requests.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels
from granian.net import SocketHolder
from granian.server.embed import Server

BACKLOG = 1_024
STOP_TIMEOUT_S = 10.0
ACCEPT_TIMEOUT_S = 5.0

_QUIET: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "loggers": {"_granian": {"level": "ERROR", "propagate": True, "handlers": []}},
}


class PortTaken(Exception):
    """Somebody else listens there."""


class _Server(Server):
    """Granian on a socket of ours; its own would let other processes share the port."""

    def __init__(self, app: Any, bound: socket.socket) -> None:
        super().__init__(
            app,
            interface=Interfaces.ASGINL,
            http=HTTPModes.http1,
            websockets=False,
            backlog=BACKLOG,
            log_level=LogLevels.error,
            log_dictconfig=_QUIET,
        )
        self.workers_kill_timeout = STOP_TIMEOUT_S
        self._bound = bound

    def _init_shared_socket(self) -> None:
        self._ssp = None
        self._shd = SocketHolder(self._bound.fileno(), False, BACKLOG)


def bind(host: str, port: int) -> socket.socket:
    """Take a port; 0 takes a free one.

    Raises: PortTaken, OSError.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family, kind, protocol)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise PortTaken(f"cannot listen on {host}:{port}: {error.strerror}") from error
    bound.setblocking(False)
    return bound


@asynccontextmanager
async def serving(app: Any, bound: socket.socket) -> AsyncIterator[None]:
    """Serve `app` on a bound socket for as long as the context lasts; requests under way are finished first."""
    server = _Server(app, bound)
    task = asyncio.create_task(server.serve())
    try:
        await _accepting(bound, task)
        yield
    finally:
        server.stop()
        with suppress(asyncio.CancelledError):
            await task
        bound.close()


async def serve(app: Any, bound: socket.socket) -> None:
    """Serve `app` until cancelled, or until the server ends, which is an error."""
    async with serving(app, bound):
        await asyncio.Event().wait()


async def _accepting(bound: socket.socket, task: asyncio.Task[None]) -> None:
    address = bound.getsockname()[:2]
    async with asyncio.timeout(ACCEPT_TIMEOUT_S):
        while True:
            with suppress(ConnectionRefusedError):
                _, writer = await asyncio.open_connection(*address)
                writer.close()
                return
            if task.done():
                task.result()
                raise RuntimeError("the HTTP server ended at once")
            await asyncio.sleep(0.005)
