"""A line to the broker that stops a client at an exact word: a fact it publishes, or an acknowledgement it sends.

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
        self.caught: Word | None = None
        self.subject = ""
        """What it sprang at."""
        self._heard: dict[Word, int] = {}

    def set(self, *words: Word) -> None:
        """Wait for the first of these words."""
        self._heard = dict.fromkeys(words, 0)
        self.caught = None
        self.sprung.clear()

    def discard(self, word: Word) -> None:
        """Wait for this one no longer."""
        self._heard.pop(word, None)

    def reset(self) -> None:
        """Hang up on whoever was caught, so that nothing it said can still arrive, and carry calls again."""
        self._heard = {}
        self.fail("cut")
        self.heal()

    async def _call(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while (frame := await _next(source)) is not None:
            await self._open.wait()
            word = self._find(frame)
            if word is None:
                target.write(frame.data)
                await target.drain()
                continue
            self.fail("silent")
            self.caught, self.subject = word, frame.subject
            if word.fate == "stored":
                target.write(frame.data)
                await target.drain()
            self.sprung.set()

    def _find(self, frame: _Frame) -> Word | None:
        """The awaited word that this is, counting those that come before its turn."""
        for word in self._heard:
            if frame.subject.startswith(word.prefix) and not (word.empty and frame.body_bytes):
                self._heard[word] += 1
                if self._heard[word] == word.nth:
                    return word
        return None


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
