"""A TCP proxy between a client and its server that can be silent, cut, half-open or slow."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Literal, Self
from urllib.parse import parse_qs, urlsplit

Fault = Literal["silent", "cut", "half-open"]


class Line:
    """Forwards connections to the server of `url`, at its port or its Unix socket (`?host=/folder&port=5432`).

    Silent: data are held back until `heal`. Cut: connections are reset and new ones refused. Half-open: nothing is
    forwarded in either direction and nothing is closed; connections of that time stay dead after `heal`, new ones work.
    Units: `delay_s` is added to each chunk of data in both directions.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        query = parse_qs(parts.query)
        folder = query.get("host", [""])[0]
        self._socket = Path(folder) / f".s.PGSQL.{query['port'][0]}" if folder else None
        self._parts, self._host, self._port = parts, parts.hostname, parts.port
        self.delay_s = 0.0
        self._dead = asyncio.Event()
        self._open = asyncio.Event()
        self._open.set()
        self._is_cut = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The address of the proxy, with the credentials, path and scheme of the server's."""
        assert self._server is not None
        who, at, _ = self._parts.netloc.rpartition("@")
        port = self._server.sockets[0].getsockname()[1]
        return f"{self._parts.scheme}://{who}{at}127.0.0.1:{port}{self._parts.path}"

    def fail(self, fault: Fault) -> None:
        """Misbehave until `heal`."""
        if fault == "half-open":
            self._dead.set()
            return
        self._open.clear()
        self._is_cut = fault == "cut"
        if self._is_cut:
            for writer in self._writers:
                writer.transport.abort()

    def heal(self) -> None:
        """Behave again; data that were held back are sent now."""
        self._is_cut = False
        self._open.set()
        self._dead = asyncio.Event()  # connections made before keep the old one

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
            if self._dead.is_set():
                await asyncio.Event().wait()
            there, other = await self._connect()
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

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._socket is not None:
            return await asyncio.open_unix_connection(self._socket)
        return await asyncio.open_connection(self._host, self._port)

    async def _call(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        """What the client sends."""
        await self._carry(source, target)

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        dead = self._dead
        while data := await source.read(65_536):
            await self._open.wait()
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            if dead.is_set():
                await asyncio.Event().wait()
            target.write(data)
            await target.drain()
        with suppress(OSError):
            target.write_eof()
