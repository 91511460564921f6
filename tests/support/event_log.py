"""A log in memory, as the gateway's `/events` reads it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from kit.ordered import StoredMessage
from kit.pages import LogPage
from services.gateway.ports import Unavailable

MOMENT = datetime(2026, 3, 4, tzinfo=UTC)


@dataclass
class MemoryEvents:
    """Messages in rising sequence."""

    messages: list[StoredMessage] = field(default_factory=list)
    broken: bool = False
    pages: int = 0
    most_at_once: int = 0
    """How many pages were read at the same time."""
    _reading: int = 0
    _readers: list[Sequence[str]] = field(default_factory=list)
    _told: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, subject: str, data: bytes = b"{}", *, skip: int = 0) -> int:
        """Append a message, `skip` sequences further on; return its sequence."""
        sequence = (self.messages[-1].sequence if self.messages else 0) + 1 + skip
        self.messages.append(StoredMessage("ERRATA", sequence, subject, data, MOMENT))
        self._told.set()
        self._told = asyncio.Event()
        return sequence

    async def page(self, patterns: Sequence[str], after: int, limit: int, max_bytes: int) -> LogPage:
        """The first messages after a sequence."""
        if self.broken:
            raise Unavailable("broker: down")
        self.pages += 1
        self._reading += 1
        self.most_at_once = max(self.most_at_once, self._reading)
        await asyncio.sleep(0)
        self._reading -= 1
        found = [each for each in self.messages if each.sequence > after and _matches(each.subject, patterns)]
        return LogPage(tuple(found[:limit]), more=len(found) > limit)

    async def newest(self) -> int:
        """The last sequence."""
        if self.broken:
            raise Unavailable("broker: down")
        return self.messages[-1].sequence if self.messages else 0

    def reading(self, subject: str) -> int:
        """How many readers follow this subject now."""
        return sum(_matches(subject, patterns) for patterns in self._readers)

    async def follow(self, after: int, patterns: Sequence[str]) -> AsyncGenerator[Sequence[StoredMessage], None]:
        """Messages after a sequence as they come."""
        self._readers.append(patterns)
        try:
            while True:
                told = self._told
                found = [each for each in self.messages if each.sequence > after and _matches(each.subject, patterns)]
                if found:
                    after = found[-1].sequence
                    yield found
                else:
                    await told.wait()
        finally:
            self._readers.remove(patterns)


def _matches(subject: str, patterns: Sequence[str]) -> bool:
    """Near enough to the broker's rules for subjects whose tokens hold no special characters."""
    return any(fnmatchcase(subject, pattern.replace(">", "*")) for pattern in patterns)
