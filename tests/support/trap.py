"""A line to the broker that stops a client at one exact word: a fact it publishes, or an acknowledgement it sends.

Killing a process there leaves the log in a known state, which no random moment does.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

from contracts.topology import Consumer, stream_of
from contracts.v1 import Event
from tests.support.line import Line

Fate = Literal["lost", "stored"]


@dataclass(frozen=True)
class Word:
    """The nth thing said on a subject that begins so. Lost: the broker never hears it; stored: the speaker never hears
    that it was heard."""

    prefix: str
    fate: Fate
    nth: int = 1
    empty: bool = False


def fact(kind: type[Event], fate: Fate, nth: int = 1) -> Word:
    """A fact of this kind."""
    return Word(f"{kind.SUBJECT}.", fate, nth)


def acknowledgement(consumer: Consumer, nth: int = 1) -> Word:
    """That a delivery is done; a heartbeat has a body."""
    return Word(f"$JS.ACK.{stream_of(consumer.event).name}.{consumer.name}.", "lost", nth, empty=True)


@dataclass(frozen=True)
class _Frame:
    """One command of the client."""

    data: bytes
    subject: str = ""
    body_bytes: int = 0


class Trap(Line):
    """Forwards what is said until the word it is set for, and nothing in either direction from then on."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.sprung = asyncio.Event()
        self._word: Word | None = None
        self._heard = 0

    def set(self, word: Word) -> None:
        """Wait for this word."""
        self._word, self._heard = word, 0
        self.sprung.clear()

    def reset(self) -> None:
        """Hang up on whoever was caught, so that nothing it said can still arrive, and carry calls again."""
        self._word = None
        self.fail("cut")
        self.heal()

    async def _call(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while (frame := await _next(source)) is not None:
            await self._open.wait()
            if self._word is None or not self._is_awaited(self._word, frame):
                target.write(frame.data)
                await target.drain()
                continue
            self.fail("silent")
            if self._word.fate == "stored":
                target.write(frame.data)
                await target.drain()
            self.sprung.set()

    def _is_awaited(self, word: Word, frame: _Frame) -> bool:
        if not frame.subject.startswith(word.prefix) or (word.empty and frame.body_bytes):
            return False
        self._heard += 1
        return self._heard == word.nth


async def _next(source: asyncio.StreamReader) -> _Frame | None:
    try:
        line = await source.readuntil(b"\r\n")
        words = line.split()
        if not words or words[0].upper() not in (b"PUB", b"HPUB"):
            return _Frame(line)
        body = await source.readexactly(int(words[-1]) + 2)
    except asyncio.IncompleteReadError:
        return None
    return _Frame(line + body, words[1].decode(), int(words[-1]))
