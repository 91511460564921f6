"""Requests over keep-alive connections, each sent when the answer to the one before has come; bare sockets, no client.

Runs in a process of its own, so that what it costs is not counted as the server's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from multiprocessing.connection import Connection
from statistics import quantiles
from time import perf_counter
from typing import cast

CONNECTIONS = 32
ANSWER_TIMEOUT_S = 45.0
_STATUS_CLASS = slice(9, 10)


@dataclass(frozen=True)
class Plan:
    """What to send: until the time is over, or, unless `again`, until every request was sent once."""

    address: tuple[str, int]
    requests: Sequence[bytes]
    seconds: float
    connections: int = CONNECTIONS
    again: bool = False


@dataclass
class Round:
    """The answers to a plan. Units: seconds. `failure` is the first answer that was not a success."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    failures: int = 0
    failure: str = ""

    @property
    def per_second(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile_ms(self, percent: int) -> float:
        """The latency that so many percent of the requests stay below."""
        return quantiles(self.latencies, n=100)[percent - 1] * 1e3


def main(pipe: Connection) -> None:
    """Carry out plans until the parent ends."""
    import uvloop

    while True:
        pipe.send(uvloop.run(drive(pipe.recv())))


async def drive(plan: Plan) -> Round:
    """Send and wait as planned. Raises: OSError: nobody listens. TimeoutError: answers stay away."""
    loop = asyncio.get_running_loop()
    answers, began = Round(), perf_counter()
    requests = iter(cycle(plan.requests) if plan.again else plan.requests)
    ends: list[asyncio.Future[None]] = []
    for _ in range(plan.connections):
        end: asyncio.Future[None] = loop.create_future()
        ends.append(end)
        await loop.create_connection(partial(_Connection, requests, answers, began + plan.seconds, end), *plan.address)
    async with asyncio.timeout(plan.seconds + ANSWER_TIMEOUT_S):
        await asyncio.gather(*ends)
    answers.seconds = perf_counter() - began
    return answers


class _Connection(asyncio.Protocol):
    def __init__(self, requests: Iterator[bytes], answers: Round, until: float, end: asyncio.Future[None]) -> None:
        self._requests = requests
        self._answers = answers
        self._until = until
        self._end = end
        self._received = b""
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports do not say so
        self._next()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator or len(body) < _length(head):
            return
        self._answers.latencies.append(perf_counter() - self._sent_at)
        if head[_STATUS_CLASS] != b"2":
            self._answers.failures += 1
            self._answers.failure = self._answers.failure or self._received[:300].decode(errors="replace")
        self._received = b""
        self._next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._end.done():
            self._end.set_exception(error or ConnectionError("the server closed the connection"))

    def _next(self) -> None:
        self._sent_at = perf_counter()
        request = next(self._requests, None) if self._sent_at < self._until else None
        if request is None:
            self._end.set_result(None)
            self._transport.close()
        else:
            self._transport.write(request)


def _length(head: bytes) -> int:
    at = head.lower().index(b"content-length:") + len(b"content-length:")
    return int(head[at:].split(b"\r\n", 1)[0])
