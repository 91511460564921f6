"""Serving an ASGI application inside this process's event loop.

The socket is bound before serving and without port sharing: a second process on the same port fails at once, instead of
silently receiving half of the requests.

A connection that does not send the headers of its next request in time is closed, whether it is new, slow or idle, so
connections alone cannot block the server for longer.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from typing import Any, Final

import structlog
from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BACKLOG = 1_024
"""Connections that may wait in the kernel to be accepted."""
CONNECTIONS: Final = 1_024
HEADER_TIMEOUT_S: Final = 5.0
SPARE_FILES: Final = 512
"""File descriptors for everything but clients: database, broker, blob store, outgoing requests, logs."""
STOP_TIMEOUT_S = 10.0
REFUSE_TIMEOUT_S = 1.0
"""Limit for sending the refusals of requests that were not finished in time."""
ACCEPT_TIMEOUT_S = 5.0

_HOLDER: Any = SocketHolder  # its stub lacks the constructor that unpickling uses

_QUIET: dict[str, object] = {
    "version": 1,
    "disable_existing_loggers": False,
    "loggers": {"_granian": {"level": "ERROR", "propagate": True, "handlers": []}},
}


log: structlog.stdlib.BoundLogger = structlog.get_logger("http")


class CannotListen(Exception):
    """The port is taken, or the address does not belong to this machine."""


class _Server(Server):
    """Granian on a socket that we bound; its own would let other processes share the port."""

    def __init__(
        self, app: ASGIApp, bound: socket.socket, connections: int, header_timeout_s: float, websockets: bool
    ) -> None:
        super().__init__(
            app,
            interface=Interfaces.ASGINL,
            http=HTTPModes.http1,
            websockets=websockets,
            backlog=BACKLOG,
            backpressure=connections,
            http1_settings=HTTP1Settings(header_read_timeout=max(1, round(header_timeout_s * 1_000))),
            log_level=LogLevels.error,
            log_dictconfig=_QUIET,
        )
        self._bound = bound

    def _init_shared_socket(self) -> None:
        self._ssp = None
        self._shd = _HOLDER(self._bound.detach(), False, BACKLOG)


def bind(host: str, port: int, *, given_by: str = "") -> socket.socket:
    """Bind a port; 0 binds a free one. `given_by` names the setting of the address in the error.

    Raises: CannotListen.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        see = f"; see {given_by}" if given_by else ""
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror}{see}") from error
    bound.setblocking(False)
    return bound


def files_for(connections: int, soft: int, hard: int) -> tuple[int, int]:
    """The limit of open files for this many connections, and how many connections that limit allows.

    Shapes: `soft` and `hard` are the limits now, from `getrlimit`; RLIM_INFINITY is no limit.
    """
    needed = connections + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft == resource.RLIM_INFINITY:
        return soft, connections
    return soft, min(connections, max(soft - SPARE_FILES, soft // 2))


def ensure_files_for(connections: int) -> int:
    """Raise this process's limit of open files if it is too low; return how many connections it then allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    raised, allowed = files_for(connections, soft, hard)
    if raised != soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    if allowed < connections:
        log.warning(
            "fewer connections than set: raise the limit of open files (ulimit -n, LimitNOFILE)",
            wanted=connections,
            allowed=allowed,
            open_files=hard,
        )
    return allowed


class _Requests:
    """Refuses requests while as many are in progress as there may be connections, and those that a stop cannot await.

    A client that disconnects frees its connection at once, while its request goes on: without a bound, such clients
    would fill the memory.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most
        self._under_way: set[asyncio.Task[object]] = set()
        self._is_over = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if len(self._under_way) >= self._most and scope["type"] == "http":
            await _refuse(send)
            return
        task = asyncio.current_task()
        assert task is not None, "granian runs each request in a task"
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        self._under_way.add(task)
        try:
            await self._app(scope, receive, sending)
        except asyncio.CancelledError:
            if not self._is_over or begun or scope["type"] != "http":
                raise
            await _refuse(send)
        finally:
            self._under_way.discard(task)

    def refuse_all(self) -> int:
        """Cancel all requests in progress and return their number; those without a response yet get a 503."""
        self._is_over = True
        for task in self._under_way:
            task.cancel()
        return len(self._under_way)


async def _refuse(send: Send) -> None:
    headers = [(b"retry-after", b"3"), (b"cache-control", b"no-store"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


class HttpServer:
    """One application on one bound socket, from `start` to `stop`.

    Units: `connections` is the limit of connections (further ones wait) and of requests in progress; `header_timeout_s`
    is for the headers of a request, also of the next one on a connection that is kept open.
    """

    def __init__(
        self,
        app: ASGIApp,
        bound: socket.socket,
        *,
        connections: int = CONNECTIONS,
        header_timeout_s: float = HEADER_TIMEOUT_S,
        websockets: bool = False,
    ) -> None:
        self.address: tuple[str, int] = bound.getsockname()[:2]
        allowed = ensure_files_for(connections)
        self._requests = _Requests(app, allowed)
        self._server = _Server(self._requests, bound, allowed, header_timeout_s, websockets)
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The server's address on this machine."""
        host, port = self.address
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def start(self) -> None:
        """Start serving; returns when connections are accepted.

        Raises: RuntimeError, TimeoutError: the server did not start.
        """
        self._task = asyncio.create_task(self._server.serve())
        async with asyncio.timeout(ACCEPT_TIMEOUT_S):
            while not await self._accepts():
                if self._task.done():
                    self._task.result()
                    raise RuntimeError("the HTTP server ended at once")
                await asyncio.sleep(0.005)

    async def stop(self) -> None:
        """Accept no more connections, finish the requests in progress, and free the port.

        Requests that are not finished within STOP_TIMEOUT_S are refused. Connections of clients that do not read stay
        open until the process ends.
        """
        if self._task is None:
            return
        self._server.stop()  # type: ignore[no-untyped-call]  # the library leaves it untyped
        await asyncio.wait({self._task}, timeout=STOP_TIMEOUT_S)
        if not self._task.done():
            log.warning("requests were not finished in time", refused=self._requests.refuse_all())
            await asyncio.wait({self._task}, timeout=REFUSE_TIMEOUT_S)
        if self._task.done():
            self._task.result()

    async def problem(self) -> str | None:
        """A readiness check: a sentence if the server is not running."""
        return "the HTTP server is not running" if self._task is None or self._task.done() else None

    async def _accepts(self) -> bool:
        try:
            _, writer = await asyncio.open_connection(*self.address)
        except ConnectionRefusedError:
            return False
        writer.close()
        return True
