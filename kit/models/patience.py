"""How long a provider is waited for: while it says nothing, for one answer, and for a run.

Many providers keep a stalled stream open with comments and pings. Bytes alone are no sign of life, therefore: a stall
that looked like work would hold a slot for ever, since the worker itself is well and says so.
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
"""Longer lines say something, whole or not."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Units: seconds without a word, for one call, and for all calls of one attempt together."""

    silence_s: float = 300.0
    call_s: float = 1_800.0
    run_s: float = 7_200.0


PATIENCE: Final = Patience()


class Listener:
    """Tells whether something was said, from the bytes of an answer as they come."""

    def __init__(self, content_type: str) -> None:
        self._is_stream = content_type.startswith("text/event-stream")
        self._begun = b""

    def heard(self, data: bytes) -> bool:
        """Whether these bytes hold more than blanks, comments and pings.

        Source: HTML Living Standard, server-sent events.
        """
        if not self._is_stream:
            return bool(data.strip())
        *lines, self._begun = (self._begun + data).replace(b"\r", b"\n").split(b"\n")
        said = any(_says(line) for line in lines)
        if len(self._begun) > _SHORT_BYTES and _says(self._begun):
            said, self._begun = True, self._begun[:_SHORT_BYTES]
        return said


def _says(line: bytes) -> bool:
    return line.startswith(b"data:") and _PING.fullmatch(line) is None


class Watch:
    """The time that is left for one run and its calls."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._run_until: float | None = None
        self._call_until = 0.0

    def call(self) -> float:
        """A call begins: when it must be over, on the clock of the event loop."""
        now = asyncio.get_running_loop().time()
        if self._run_until is None:
            self._run_until = now + self._patience.run_s
        self._call_until = min(now + self._patience.call_s, self._run_until)
        return self._call_until

    async def over(self, pieces: AsyncIterator[bytes], listener: Listener) -> AsyncIterator[bytes]:
        """The pieces of an answer as they come. Raises: httpx2.ReadTimeout: it stalls, or has no time left."""
        loop = asyncio.get_running_loop()
        heard_at = loop.time()
        async with aclosing(pieces) as rest:  # type: ignore[type-var]  # async generators have aclose
            while True:
                until = min(heard_at + self._patience.silence_s, self._call_until)
                try:
                    async with asyncio.timeout_at(until):
                        data = await anext(rest, None)
                except TimeoutError:
                    raise httpx2.ReadTimeout("nothing was said for too long") from None
                if data is None:
                    return
                if listener.heard(data):
                    heard_at = loop.time()
                yield data
