"""The stream `JOBS` and expiring texts in memory, with the rules of the real ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import TypeVar
from uuid import UUID

from contracts.v1 import Envelope, Event, OnceEvent
from contracts.v1.parts import EphemeralRef, ephemeral_place
from kit.clock import Clock
from kit.ephemeral import round_up
from kit.history import StoredFact
from services.gateway.ports import Unavailable

E = TypeVar("E", bound=Event)


@dataclass
class MemoryJobLog:
    """Facts in order; once-events only where they follow, and of several all or none.

    `meanwhile` is called once before the next facts are stored, as a rival would come first. `loses_answers`: facts are
    stored, and the sender gets no answer. `lag`: the number of facts that only the leader has, and no replica yet.
    """

    clock: Clock
    facts: list[StoredFact] = field(default_factory=list)
    meanwhile: Callable[[], object] | None = None
    loses_answers: bool = False
    broken: bool = False
    lag: int = 0
    batches: int = 0
    following: int = 0
    _stored: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, *events: Event, at: datetime | None = None, cause: UUID | None = None) -> int:
        """Store facts as other services do; the sequence of the last."""
        for event in events:
            envelope = Envelope(
                id=event.event_id(),
                occurred_at=at or self.clock.now(),
                correlation=UUID(int=1),
                cause=cause,
                event=event,
            )
            self.facts.append(StoredFact(len(self.facts) + 1, envelope))
        self._stored.set()
        self._stored = asyncio.Event()
        return len(self.facts)

    def of(self, kind: type[E]) -> list[E]:
        """All facts of a class."""
        return [fact.event for fact in self.facts if isinstance(fact.event, kind)]

    def last(self, subject: str) -> int:
        """The sequence of the newest fact on a subject; 0 if there is none."""
        return next((fact.sequence for fact in reversed(self.facts) if fact.event.subject() == subject), 0)

    async def latest(self, *subjects: str, current: bool = False) -> Sequence[StoredFact]:
        self._answer()
        known = self.facts if current else self.facts[: len(self.facts) - self.lag]
        newest = {fact.event.subject(): fact for fact in known if fact.event.subject() in subjects}
        return sorted(newest.values(), key=lambda fact: fact.sequence)

    async def read(self, *patterns: str, after: int = 0) -> Sequence[StoredFact]:
        self._answer()
        return [
            fact
            for fact in self.facts[after:]
            if any(fnmatchcase(fact.event.subject(), pattern.replace(">", "*")) for pattern in patterns)
        ]

    async def find_sequence(self, moment: datetime) -> int:
        self._answer()
        return sum(fact.envelope.occurred_at < moment for fact in self.facts)

    async def publish(self, fact: OnceEvent, correlation: UUID) -> bool:
        return await self.publish_together(fact, correlation=correlation, at=self.clock.now())

    async def publish_together(self, *facts: OnceEvent, correlation: UUID, at: datetime) -> bool:
        self._answer()
        self.batches += 1
        await asyncio.sleep(0)
        rival, self.meanwhile = self.meanwhile, None
        if rival is not None:
            rival()
        if any(fact.follows != self.last(fact.subject()) for fact in facts):
            return False
        self.add(*facts, at=at)
        if self.loses_answers:
            raise Unavailable("broker: no answer")
        return True

    async def newest(self) -> int:
        self._answer()
        return len(self.facts)

    async def follow(self, after: int, patterns: Sequence[str]) -> AsyncGenerator[Sequence[str], None]:
        self.following += 1
        try:
            while True:
                stored = self._stored
                found = await self.read(*patterns, after=after)
                after = len(self.facts)
                if found:
                    yield [fact.event.subject() for fact in found]
                else:
                    await stored.wait()
        finally:
            self.following -= 1

    def _answer(self) -> None:
        if self.broken:
            raise Unavailable("broker: down")


@dataclass
class MemoryWords:
    """Texts by where they lie."""

    clock: Clock
    texts: dict[str, str] = field(default_factory=dict)
    broken: bool = False

    async def put(self, text: str, until: datetime, answers: str | None = None) -> EphemeralRef:
        if self.broken:
            raise Unavailable("broker: down")
        data, hour = text.encode(), round_up(until)
        ref = EphemeralRef(sha256=sha256(data).hexdigest(), size_bytes=len(data), until=hour, answers=answers)
        self.texts[ref.place] = text
        return ref

    async def get(self, ref: EphemeralRef) -> str | None:
        if self.broken:
            raise Unavailable("broker: down")
        return None if ref.has_expired(self.clock.now()) else self.texts.get(ref.place)

    async def remove(self, ref: EphemeralRef) -> None:
        self.texts.pop(ref.place, None)

    async def remove_answers(self, step: str, until: datetime) -> None:
        below = ephemeral_place(round_up(until), step)
        for place in [place for place in self.texts if place.startswith(f"{below}/")]:
            del self.texts[place]


@dataclass
class MemoryMemos:
    """Which job's extraction serves others."""

    jobs: dict[UUID, UUID] = field(default_factory=dict)

    async def find(self, memo_id: UUID) -> UUID | None:
        return self.jobs.get(memo_id)
