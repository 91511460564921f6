"""One client's events from any point of history to now, without a gap between the two.

First pages of the log up to where the window begins, then the window. The step is safe because both are in the order of
the log and the place is one sequence: whatever is in the log up to the window's floor was read before, and everything
after it is in the window. What is erased leaves the window when the erasure is told: the erasure comes after what it
erases, and what of that has not come yet is passed over.

The window is filled only while somebody looks into it: without a client a gateway reads of the log erasures alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final, Protocol

from contracts.topology import ANALYST_SUBJECTS
from contracts.v1 import ErasureOrdered, decode
from kit.cancelling import together
from kit.ordered import Recorded
from kit.pages import Page
from services.gateway.stream.question import HEARTBEAT, Question, frame
from services.gateway.stream.window import Window

PAGE: Final = 256
PAGE_BYTES: Final = 1024 * 1024
REST_S: Final = 0.25
"""The longest pause after a page of history."""
WINDOW: Final = 4_096
WINDOW_BYTES: Final = 16 * 1024 * 1024
_ERASURES: Final = f"{ErasureOrdered.SUBJECT}.*"


class EventLog(Protocol):
    """The log as the feed reads it. Raises: Unavailable."""

    async def page(self, patterns: Sequence[str], after: int, limit: int, max_bytes: int) -> Page:
        """The first messages after a sequence."""
        ...

    async def newest(self) -> int:
        """The last sequence of the log, whatever stands there."""
        ...

    def follow(self, after: int, patterns: Sequence[str]) -> AsyncGenerator[Sequence[Recorded], None]:
        """Messages after a sequence as they come, without an end."""
        ...


class Feed:
    """All that may be followed. `window` is None while nobody looks."""

    def __init__(
        self,
        log: EventLog,
        *,
        heartbeat_s: float,
        erased: Callable[[int], None] = lambda _: None,
        window: int = WINDOW,
        page: int = PAGE,
    ) -> None:
        """`erased`: called with a sequence once everything that was erased up to there has left the window."""
        self.log = log
        self._erased = erased
        self.window: Window | None = None
        self._lookers = 0
        self._looked_at = asyncio.Event()
        self._erasures_read: int | None = None
        self._history = asyncio.Lock()
        self._heartbeat_s = heartbeat_s
        self._window_limit = window
        self._page_limit = page

    async def run(self) -> None:
        """Follow the log; started again after an error it goes on where it was."""
        await together(self._forget(), self._fill())

    @asynccontextmanager
    async def looked_into(self) -> AsyncIterator[Window]:
        """The window, which is kept up to date inside. Raises: Unavailable."""
        self._lookers += 1
        try:
            if self.window is None:
                newest = await self.log.newest()
                if self.window is None:  # an erasure that was read is about what lies before the window
                    floor = max(newest, self._erasures_read or 0)
                    self.window = Window(floor, limit=self._window_limit, limit_bytes=WINDOW_BYTES)
                    self._looked_at.set()
            yield self.window
        finally:
            self._lookers -= 1

    async def _forget(self) -> None:
        if self._erasures_read is None:
            self._erasures_read = await self.log.newest()
            self._erased(self._erasures_read)
        async for batch in self.log.follow(self._erasures_read, (_ERASURES,)):
            for message in batch:
                self._erasures_read = message.sequence
                if self.window is not None:
                    self.window.drop(_sequences(message))
                self._erased(message.sequence)

    async def _fill(self) -> None:
        while True:
            await self._looked_at.wait()
            assert self.window is not None, "set together"
            async with aclosing(self.log.follow(self.window.newest, ANALYST_SUBJECTS)) as batches:
                async for batch in batches:
                    if not self._lookers:
                        self.window = None
                        self._looked_at.clear()
                        break
                    self.window.add([(message.sequence, message.subject, message.data) for message in batch])

    async def _page(self, question: Question, at: int) -> Page:
        """A page of history. One is read at a time, and half of the time none: readers of the rest come first."""
        async with self._history:
            now = asyncio.get_running_loop().time
            began = now()
            page = await self.log.page(question.patterns, at, self._page_limit, PAGE_BYTES)
            await asyncio.sleep(min(now() - began, REST_S))
            return page

    async def chunks(self, window: Window, question: Question) -> AsyncGenerator[bytes, None]:
        """What to send a client, without an end; a heartbeat where there is nothing to tell.

        Raises: Unavailable: history cannot be read now.
        """
        at = window.newest if question.after is None else question.after
        wants = question.wants
        now = asyncio.get_running_loop().time
        spoke = now()
        while True:
            if at < window.floor:
                floor = window.floor  # before the page is read: it may rise while we wait
                page = await self._page(question, at)
                found = [frame(each.sequence, each.subject, each.data) for each in page.messages]
                last = page.messages[-1].sequence if page.messages else at
                at = last if page.more else max(last, floor)
            else:
                batch = window.after(at, self._page_limit)
                if not batch:
                    at = max(at, window.newest)  # what was there may have been erased
                    with suppress(TimeoutError):
                        async with asyncio.timeout_at(spoke + self._heartbeat_s):
                            await window.beyond(at)
                            continue
                found = [event.wire for event in batch if wants(event.subject)]
                at = batch[-1].sequence if batch else at
            if found or now() >= spoke + self._heartbeat_s:
                yield b"".join(found) or HEARTBEAT
                spoke = now()


def _sequences(message: Recorded) -> frozenset[int]:
    event = decode(message.subject, message.data).event
    assert isinstance(event, ErasureOrdered)
    return frozenset(fact.sequence for fact in event.facts)
