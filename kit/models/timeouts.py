"""Timeouts of a provider: for silence, for one answer, and for a run.

Many providers keep a stalled stream open with comments and pings, so bytes alone do not count as activity: a stalled
stream would hold a slot indefinitely, since the worker itself keeps sending heartbeats.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import httpx2

_PING: Final = re.compile(rb'data:\s*(?:\{[^{}]{0,40}"type"\s*:\s*"(?:ping|keepalive)"[^{}]{0,80}\})?\s*')
_SHORT_BYTES: Final = 200
"""A longer line counts as content, even if it is incomplete."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds: without content, for one call, and for all calls of one attempt together."""

    silence_s: float = 300.0
    call_s: float = 1_800.0
    run_s: float = 7_200.0


DEFAULT_TIMEOUTS: Final = Timeouts()


class ActivityDetector:
    """Detects content in the bytes of an answer as they arrive."""

    def __init__(self, content_type: str) -> None:
        self._is_stream = content_type.startswith("text/event-stream")
        self._begun = b""

    def has_content(self, data: bytes) -> bool:
        """Whether these bytes have more than white space, comments and pings.

        Source: HTML Living Standard, server-sent events.
        """
        if not self._is_stream:
            return bool(data.strip())
        *lines, self._begun = (self._begun + data).replace(b"\r", b"\n").split(b"\n")
        found = any(_has_data(line) for line in lines)
        if len(self._begun) > _SHORT_BYTES and _has_data(self._begun):
            found, self._begun = True, self._begun[:_SHORT_BYTES]
        return found


def _has_data(line: bytes) -> bool:
    return line.startswith(b"data:") and _PING.fullmatch(line) is None


class Deadlines:
    """The deadlines of one run and its calls."""

    def __init__(self, patience: Timeouts) -> None:
        self._timeouts = patience
        self._run_until: float | None = None
        self._call_until = 0.0

    def begin_call(self) -> float:
        """Begin a call and return its deadline, in the event loop's time."""
        now = asyncio.get_running_loop().time()
        if self._run_until is None:
            self._run_until = now + self._timeouts.run_s
        self._call_until = min(now + self._timeouts.call_s, self._run_until)
        return self._call_until

    async def enforce(self, pieces: AsyncIterator[bytes], activity: ActivityDetector) -> AsyncIterator[bytes]:
        """The pieces of an answer as they arrive. Raises: httpx2.ReadTimeout: the answer stalls or takes too long."""
        loop = asyncio.get_running_loop()
        active_at = loop.time()
        async with aclosing(pieces) as rest:  # type: ignore[type-var]  # async generators have aclose
            while True:
                until = min(active_at + self._timeouts.silence_s, self._call_until)
                try:
                    async with asyncio.timeout_at(until):
                        data = await anext(rest, None)
                except TimeoutError:
                    raise httpx2.ReadTimeout("no content for too long") from None
                if data is None:
                    return
                if activity.has_content(data):
                    active_at = loop.time()
                yield data
