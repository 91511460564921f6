"""A line to the broker that stops a client at an exact word: a fact it publishes, or an acknowledgement it sends.

Killing a process there leaves the log in a known state, which no random moment does.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

from contracts.topology import Consumer, stream_of
from contracts.v1 import Event
from tests.support.line import Line

Fate = Literal["lost", "stored"]
_ANSWER: Final = re.compile(r"/answers/(?:[^/]+/open/)?([0-9a-f-]{36}/[^/]+/[0-9a-f]{64})$")


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
class Frame:
    """One command of the client. Shapes: `subject` is empty unless it says something."""

    data: bytes
    subject: str = ""
    body_bytes: int = 0


class Trap(Line):
    """Forwards what is said until the word it is set for, and nothing in either direction from then on.

    Shapes: `heard` is shared by traps that wait for the same words, of which each is for the first that hears it.
    """

    def __init__(self, url: str, heard: dict[Word, int] | None = None) -> None:
        super().__init__(url)
        self.sprung = asyncio.Event()
        self.confirmed = asyncio.Event()
        """The server has stored what it sprang at."""
        self.caught: Word | None = None
        self.subject = ""
        """What it sprang at."""
        self._heard: dict[Word, int] = {} if heard is None else heard

    def set(self, *words: Word) -> None:
        """Wait for the first of these words."""
        self._heard.clear()
        self._heard.update(dict.fromkeys(words, 0))
        self.caught = None
        self.sprung.clear()

    def discard(self, word: Word) -> None:
        """Wait for this one no longer."""
        self._heard.pop(word, None)

    def reset(self) -> None:
        """Hang up on whoever was caught, so that nothing it said can still arrive, and carry calls again."""
        self._heard.clear()
        self.rearm()

    def rearm(self) -> None:
        """The same, and wait for the next of the words."""
        self.caught = None
        self.sprung.clear()
        self.confirmed.clear()
        self.fail("cut")
        self.heal()

    async def _call(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while (frame := await self._next(source)) is not None:
            await self._open.wait()
            if target.is_closing():
                return  # its client was killed meanwhile
            word = self._find(frame)
            if word is None:
                await self._forward(frame, target)
                continue
            self.fail("silent")
            self.caught, self.subject = word, frame.subject
            if word.fate == "stored":
                await self._forward(frame, target)
            self.sprung.set()

    async def _forward(self, frame: Frame, target: asyncio.StreamWriter) -> None:
        target.write(frame.data)
        await target.drain()

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        """What the server answers, which a client that is caught does not hear."""
        while data := await source.read(65_536):
            self._note(source, data)
            if self.caught is None:
                target.write(data)
                await target.drain()
        with suppress(OSError):
            target.write_eof()

    def _note(self, source: asyncio.StreamReader, data: bytes) -> None:
        """Notice a confirmation."""
        if self.caught is not None and b'"seq":' in data:
            self.confirmed.set()

    def _find(self, frame: Frame) -> Word | None:
        """The awaited word that this is, counting those that come before its turn."""
        for word in tuple(self._heard):
            if frame.subject.startswith(word.prefix) and not (word.empty and frame.body_bytes):
                self._heard[word] += 1
                if self._heard[word] == word.nth:
                    del self._heard[word]
                    return word
        return None

    async def _next(self, source: asyncio.StreamReader) -> Frame | None:
        try:
            line = await source.readuntil(b"\r\n")
            words = line.split()
            if not words or words[0].upper() not in (b"PUB", b"HPUB"):
                return Frame(line)
            body = await source.readexactly(int(words[-1]) + 2)
        except asyncio.IncompleteReadError:
            return None
        return Frame(line + body, words[1].decode(), int(words[-1]))


class StoreTrap(Trap):
    """The same before a blob store: what it hears are objects that are put, and removals.

    An answer of a model is heard as `answers/<run>/<segment before>/<hash>`, another object by its name in the bucket,
    a removal of several objects as `removal/`.
    Shapes: `stored` has what was confirmed of that.
    """

    def __init__(self, url: str, heard: dict[Word, int], stored: set[str]) -> None:
        super().__init__(url, heard)
        self._stored = stored
        self._put: dict[asyncio.StreamWriter, str] = {}
        self._replies_to: dict[asyncio.StreamReader, asyncio.StreamWriter] = {}

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        there, other = await super()._connect()
        self._replies_to[there] = other
        return there, other

    def _note(self, source: asyncio.StreamReader, data: bytes) -> None:
        name = self._put.pop(self._replies_to[source], None)
        if name is not None and data.startswith(b"HTTP/1.1 200 "):
            self._stored.add(name)
            if self.caught is not None and name == self.subject:
                self.confirmed.set()

    async def _next(self, source: asyncio.StreamReader) -> Frame | None:
        try:
            head = await source.readuntil(b"\r\n\r\n")
            request, *fields = head.decode("latin-1").split("\r\n")
            headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in fields)}
            body = await source.readexactly(int(headers.get("content-length", "0")))
        except asyncio.IncompleteReadError:
            return None
        method, path, _ = request.split(" ")
        match method:
            case "PUT":
                said = _name_object(path)
            case "POST" if path.partition("?")[2].startswith("delete"):
                said = "removal/"
            case _:
                said = ""
        return Frame(head + body, said, len(body))

    async def _forward(self, frame: Frame, target: asyncio.StreamWriter) -> None:
        if frame.subject:
            self._put[target] = frame.subject
        await super()._forward(frame, target)


def _name_object(path: str) -> str:
    answer = _ANSWER.search(path)
    return f"answers/{answer[1]}" if answer else path.split("/", 2)[2]
