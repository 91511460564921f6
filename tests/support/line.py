"""A telephone line between a client and its server, on loopback, that can go silent or be cut."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Literal, Self
from urllib.parse import urlsplit

Fault = Literal["silent", "cut"]


class Line:
    """Forwards connections to `url`. Silent: it holds back what is said; cut: it hangs up and takes no calls."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._parts, self._host, self._port = parts, parts.hostname, parts.port
        self._open = asyncio.Event()
        self._open.set()
        self._is_cut = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Where to call, with the credentials that the server wants."""
        assert self._server is not None
        who, at, _ = self._parts.netloc.rpartition("@")
        return f"{self._parts.scheme}://{who}{at}127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def fail(self, fault: Fault) -> None:
        """Misbehave until `heal`."""
        self._open.clear()
        self._is_cut = fault == "cut"
        if self._is_cut:
            for writer in self._writers:
                writer.transport.abort()

    def heal(self) -> None:
        """Behave again; what was held back is said now."""
        self._is_cut = False
        self._open.set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._called, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self._is_cut:
            writer.transport.abort()
            return
        try:
            there, other = await asyncio.open_connection(self._host, self._port)
            self._writers |= {writer, other}
            try:
                async with asyncio.TaskGroup() as both:
                    both.create_task(self._call(reader, other))
                    both.create_task(self._carry(there, writer))
            finally:
                self._writers -= {writer, other}
                other.close()
        except (OSError, ExceptionGroup, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _call(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        """What the client says."""
        await self._carry(source, target)

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            await self._open.wait()
            target.write(data)
            await target.drain()
        with suppress(OSError):
            target.write_eof()
