"""Colours are for terminals: the same words without them go into a file or a pipe."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass

from services.commands.demo import watch_journey
from services.commands.demo_journey import Journey, Progress, Result, Source

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Shown(Journey):
    """A journey on which everything happens that has a colour of its own."""

    async def play(self, observation: Mapping[str, object]) -> AsyncIterator[Progress | Result]:
        yield Progress(("Bats are blind.",), (), ())
        yield Progress((), ("Bats are blind.",), ("It rained.",))
        source: Source = {"title": "A source", "url": "https://example.org"}
        yield Result(({"text": "Bats are blind.", "summary": "They see.", "sources": [source]},))


async def told(ours: int, theirs: int) -> str:
    """What the demo writes to one end, read at the other."""
    with os.fdopen(theirs, "w") as out, redirect_stdout(out):
        await watch_journey(Shown("http://gateway", "a-key"), "http://gateway")
    shown = b"".join(pieces(ours)).decode()
    os.close(ours)
    return re.sub(r"\d+\.\d s", "", shown.replace("\r\n", "\n"))


def pieces(end: int) -> Iterator[bytes]:
    """All that was written before the other end was closed, which a terminal tells by an error."""
    with suppress(OSError):
        while piece := os.read(end, 65_536):
            yield piece


async def test_colours_are_for_terminals() -> None:
    seen, read = await told(*os.openpty()), await told(*os.pipe())
    for said, colour in (("proposed", 33), ("confirmed", 32), ("missing", 31)):
        assert re.search(rf"\x1b\[{colour}m(\x1b\[[0-9;]*m)*\s*{said}", seen), said
    assert "\x1b" not in read
    assert "They see." in read
    assert COLOUR.sub("", seen) == read
