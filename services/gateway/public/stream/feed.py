"""One client's events from any point of history on, without a gap.

First pages of the log up to the window's floor, then the window: both are in the order of the log, and the client's
position is one sequence. Erased events are dropped from the window when the erasure is published; those of them that
have not arrived yet are skipped.

The window is filled only while there are clients; otherwise a gateway reads only erasures and changes of findings.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final, Protocol

from contracts.topology import ANALYST_SUBJECTS
from contracts.v1 import ErasureOrdered, FindingChanged, decode
from kit.cancelling import run_until_first_ends
from kit.ordered import StoredMessage
from kit.pages import LogPage
from services.gateway.public.stream.question import Question, encode_frame
from services.gateway.public.stream.window import Window
from services.gateway.streaming import HEARTBEAT

PAGE: Final = 256
PAGE_BYTES: Final = 1024 * 1024
REST_S: Final = 0.25
"""The longest pause after a page of history."""
WINDOW: Final = 4_096
WINDOW_BYTES: Final = 16 * 1024 * 1024
_INVALIDATING: Final = (f"{ErasureOrdered.SUBJECT}.*", f"{FindingChanged.SUBJECT}.*")


class EventLog(Protocol):
    """Read access to the log. Raises: Unavailable."""

    async def page(self, patterns: Sequence[str], after: int, limit: int, max_bytes: int) -> LogPage:
        """The first messages after a sequence."""

    async def newest(self) -> int:
        """The last sequence of the log."""

    def follow(self, after: int, patterns: Sequence[str]) -> AsyncGenerator[Sequence[StoredMessage], None]:
        """Batches of messages after a sequence, without an end."""


class Feed:
    """Serves chunks to clients. `window` is None while there are none."""

    def __init__(
        self,
        log: EventLog,
        *,
        heartbeat_s: float,
        invalidated: Callable[[int], None] = lambda _: None,
        window: int = WINDOW,
        page: int = PAGE,
    ) -> None:
        """`invalidated`: called with the sequence of a fact that changes what was shown: an erasure, once the window is
        free of what it erased, or a change of a published finding.
        """
        self.log = log
        self._invalidated = invalidated
        self.window: Window | None = None
        self._readers = 0
        self._has_readers = asyncio.Event()
        self._erasures_read: int | None = None
        self._history = asyncio.Lock()
        self._heartbeat_s = heartbeat_s
        self._window_limit = window
        self._page_limit = page

    async def run(self) -> None:
        """Follow the log; after a restart it resumes where it was."""
        await run_until_first_ends(self._follow_invalidating(), self._fill())

    @asynccontextmanager
    async def open_window(self) -> AsyncIterator[Window]:
        """The window, which is filled while the context is open. Raises: Unavailable."""
        self._readers += 1
        try:
            if self.window is None:
                newest = await self.log.newest()
                if self.window is None:  # erasures that were read are of events before the window
                    floor = max(newest, self._erasures_read or 0)
                    self.window = Window(floor, limit=self._window_limit, limit_bytes=WINDOW_BYTES)
                    self._has_readers.set()
            yield self.window
        finally:
            self._readers -= 1

    async def _follow_invalidating(self) -> None:
        if self._erasures_read is None:
            self._erasures_read = await self.log.newest()
            self._invalidated(self._erasures_read)
        async for batch in self.log.follow(self._erasures_read, _INVALIDATING):
            for message in batch:
                self._erasures_read = message.sequence
                if self.window is not None:
                    self.window.drop(_sequences(message))
                self._invalidated(message.sequence)

    async def _fill(self) -> None:
        while True:
            await self._has_readers.wait()
            assert self.window is not None, "set together"
            async with aclosing(self.log.follow(self.window.newest, ANALYST_SUBJECTS)) as batches:
                async for batch in batches:
                    if not self._readers:
                        self.window = None
                        self._has_readers.clear()
                        break
                    self.window.add([(message.sequence, message.subject, message.data) for message in batch])

    async def _page(self, question: Question, at: int) -> LogPage:
        """Read a page of history: one at a time, for at most half of the time, to spare the broker."""
        async with self._history:
            now = asyncio.get_running_loop().time
            began = now()
            page = await self.log.page(question.patterns, at, self._page_limit, PAGE_BYTES)
            await asyncio.sleep(min(now() - began, REST_S))
            return page

    async def chunks(self, window: Window, question: Question) -> AsyncGenerator[bytes, None]:
        """Encoded events for a client, without an end; a heartbeat while there are none.

        Raises: Unavailable: history cannot be read now.
        """
        at = window.newest if question.after is None else question.after
        matches = question.build_filter()
        now = asyncio.get_running_loop().time
        sent_at = now()
        while True:
            if at < window.floor:
                floor = window.floor  # read before the page, since it may rise meanwhile
                page = await self._page(question, at)
                # The page may lack some later messages, since each pattern is read at its own time; the window has all.
                held = [each for each in page.messages if each.sequence <= floor]
                found = [encode_frame(each.sequence, each.subject, each.data) for each in held]
                at = held[-1].sequence if page.more and len(held) == len(page.messages) else floor
            else:
                batch = window.after(at, self._page_limit)
                if not batch:
                    at = max(at, window.newest)  # the events up to there may have been erased
                    with suppress(TimeoutError):
                        async with asyncio.timeout_at(sent_at + self._heartbeat_s):
                            await window.wait_beyond(at)
                            continue
                found = [event.wire for event in batch if matches(event.subject)]
                at = batch[-1].sequence if batch else at
            if found or now() >= sent_at + self._heartbeat_s:
                yield b"".join(found) or HEARTBEAT
                sent_at = now()


def _sequences(message: StoredMessage) -> frozenset[int]:
    event = decode(message.subject, message.data).event
    return frozenset(fact.sequence for fact in event.facts) if isinstance(event, ErasureOrdered) else frozenset()
