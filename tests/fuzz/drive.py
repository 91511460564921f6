"""Send generated requests over kept connections and judge every answer."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.fuzz.generate import Sent

CONNECTIONS = 24
"""Some of them wait for an answer to a broken frame."""
ANSWER_WITHIN_S = 20.0
SILENCE_S = 0.3
"""So long a broken frame is given for an answer before its connection is left."""
MAX_FAULTS = 20
_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)\r\n", re.IGNORECASE)
_VERSION = re.compile(rb'"postVersionId":"([0-9a-f-]{36})"')


@dataclass
class Judged:
    """How the requests ended: counts by status, and what must not have happened."""

    statuses: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def fault(self, sent: Sent, what: str) -> None:
        """Remember one that ended badly; the first ones are enough."""
        self.statuses["fault"] += 1
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(f"{what}: {sent.what}: {sent.data[:1_500]!r}")


class _Line:
    """One connection, opened again whenever the server closes it."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, sent: Sent) -> tuple[int, bytes] | None:
        """Status and body; None if the server closed the connection instead of answering."""
        if self._reader is None or self._writer is None or self._writer.is_closing():
            self._reader, self._writer = await asyncio.open_connection(*self._address, limit=1 << 20)
        try:
            self._writer.write(sent.data)
            await self._writer.drain()
            head = await self._reader.readuntil(b"\r\n\r\n")
            status = int(head.split(b" ", 2)[1])
            body = await self._body(self._reader, head, status, sent)
        except (asyncio.IncompleteReadError, ConnectionError):
            await self.close()
            return None
        if not sent.well_framed or b"\r\nconnection: close" in head.lower():
            await self.close()
        return status, body

    @staticmethod
    async def _body(reader: asyncio.StreamReader, head: bytes, status: int, sent: Sent) -> bytes:
        if sent.data.startswith(b"HEAD ") or status in (204, 304):
            return b""
        if (length := _LENGTH.search(head)) is not None:
            return await reader.readexactly(int(length[1]))
        body = b""
        while b"\r\ntransfer-encoding: chunked" in head.lower():
            size = int(await reader.readuntil(b"\r\n"), 16)
            chunk = await reader.readexactly(size + 2)
            if size == 0:
                break
            body += chunk[:-2]
        return body

    async def close(self) -> None:
        """Leave the connection."""
        if self._writer is not None:
            self._writer.close()
            with suppress(ConnectionError):
                await self._writer.wait_closed()
        self._reader = self._writer = None


Judge = Callable[[Judged, Sent, tuple[int, bytes] | None], None]
"""Counts an answer by its status and body, or finds fault with it; None: the connection was closed instead."""


async def drive(
    url: str, requests: Iterator[Sent], *, seen: Callable[[str], None] = lambda _: None, judge: Judge | None = None
) -> Judged:
    """Send all requests, several at a time; `seen` is given each id of a version that an answer names."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    judged = Judged()

    async def one(host: str, port: int) -> None:
        line = _Line(host, port)
        for sent in requests:
            try:
                async with asyncio.timeout(ANSWER_WITHIN_S if sent.well_framed else SILENCE_S):
                    answer = await line.ask(sent)
            except TimeoutError:
                await line.close()
                if sent.well_framed:
                    judged.fault(sent, f"no answer within {ANSWER_WITHIN_S:g} s")
                continue
            (judge or _judge)(judged, sent, answer)
            if answer is not None and (named := _VERSION.search(answer[1])) is not None:
                seen(named[1].decode())
        await line.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(one(parts.hostname, parts.port))
    return judged


def _judge(judged: Judged, sent: Sent, answer: tuple[int, bytes] | None) -> None:
    if answer is None:
        judged.statuses["closed"] += 1
        if sent.well_framed:
            judged.fault(sent, "closed without an answer")
        return
    status, body = answer
    judged.statuses[str(status)] += 1
    if status >= 500:
        judged.fault(sent, f"{status} {body[:300]!r}")
    elif b"Traceback" in body or b"psycopg" in body or b"sqlalchemy" in body:
        judged.fault(sent, f"{status} says what only the server should know: {body[:300]!r}")
    elif sent.what.startswith(("observation", "graphql")) and status == 200:
        try:
            json.loads(body)
        except ValueError:
            judged.fault(sent, f"200 without JSON: {body[:300]!r}")
