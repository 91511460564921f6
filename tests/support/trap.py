"""A proxy to the broker that stops a client at an exact message: a fact it publishes, or an acknowledgement it sends.

Killing a process there leaves the log in a known state, which no random moment does.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

from contracts.topology import TEXTS, Consumer, stream_of
from contracts.v1 import Event
from tests.support.line import Line

Fate = Literal["lost", "stored"]
_ANSWER: Final = re.compile(r"/answers/(?:[^/]+/open/)?([0-9a-f-]{36}/[^/]+/[0-9a-f]{64})/\d+$")
_TEXT: Final = f"$KV.{TEXTS.name}."
_REMOVAL: Final = f"$JS.API.STREAM.PURGE.KV_{TEXTS.name}"
_REPLY: Final = re.compile(rb"MSG (\S+) [^\r\n]*\r\n([^\r\n]*)\r\n")
LONGEST_REPLY: Final = 4_096


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
    """The acknowledgement of a delivery; a heartbeat differs by having a body."""
    return Word(f"$JS.ACK.{stream_of(consumer.event).name}.{consumer.name}.", "lost", nth, empty=True)


@dataclass(frozen=True)
class Frame:
    """One command of the client. Shapes: `subject` is empty unless it says something, `reply` if it wants no answer."""

    data: bytes
    subject: str = ""
    reply: str = ""
    body_bytes: int = 0


class Trap(Line):
    """Forwards what is said until the word it is set for, and nothing in either direction from then on.

    A text that expires is matched by its name, an answer of a model by `answers/<run>/<segment before>/<hash>`, and the
    removal of such texts by `removal/`.
    Shapes: `heard` is shared by traps that wait for the same words, of which each is for the first that hears it;
    `stored` has the texts that the server confirmed.
    """

    def __init__(self, url: str, heard: dict[Word, int] | None = None, stored: set[str] | None = None) -> None:
        super().__init__(url)
        self.sprung = asyncio.Event()
        self.confirmed = asyncio.Event()
        """The server has stored what it sprang at."""
        self.caught: Word | None = None
        self.subject = ""
        """What it sprang at."""
        self._heard: dict[Word, int] = {} if heard is None else heard
        self._stored: set[str] = set() if stored is None else stored
        self._sent: dict[str, str] = {}
        self._reply = ""
        """Where the answer to what it sprang at goes."""
        self._tails: dict[asyncio.StreamReader, bytes] = {}

    def set(self, *words: Word) -> None:
        """Wait for the first of these words."""
        self._heard.clear()
        self._heard.update(dict.fromkeys(words, 0))
        self.caught = None
        self.sprung.clear()

    def discard(self, word: Word) -> None:
        """Stop waiting for this word."""
        self._heard.pop(word, None)

    def reset(self) -> None:
        """Disconnect the caught client, so that nothing it sent can still arrive, and forward connections again."""
        self._heard.clear()
        self.rearm()

    def rearm(self) -> None:
        """Reset, and wait for the next of the words."""
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
            self.caught, self.subject, self._reply = word, frame.subject, frame.reply
            if word.fate == "stored":
                await self._forward(frame, target)
            self.sprung.set()

    async def _forward(self, frame: Frame, target: asyncio.StreamWriter) -> None:
        if frame.subject.startswith(("answers/", "until/")):
            self._sent[frame.reply] = frame.subject
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
        """Notice confirmations, also those that arrive in pieces."""
        data = self._tails.get(source, b"") + data
        self._tails[source] = data[-LONGEST_REPLY:]
        for address, answer in _REPLY.findall(data):
            reply = address.decode()
            if b'"seq":' in answer and (name := self._sent.pop(reply, None)) is not None:
                self._stored.add(name)
            if self.caught is not None and reply == self._reply:
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
        sizes = 2 if words[0].upper() == b"HPUB" else 1
        reply = words[2].decode() if len(words) > 2 + sizes else ""
        return Frame(line + body, _name(words[1].decode()), reply, int(words[-1]))


def _name(subject: str) -> str:
    """What a word is compared with: the subject, or the name that stands for it in `Trap`."""
    if subject == _REMOVAL:
        return "removal/"
    if not subject.startswith(_TEXT):
        return subject
    name = subject.removeprefix(_TEXT).replace(".", "/")
    answer = _ANSWER.search(name)
    return f"answers/{answer[1]}" if answer else name
