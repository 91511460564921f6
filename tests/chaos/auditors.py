"""Two auditors that are killed and replaced, each behind a trap to the broker.

The words that they wait for are shared: whichever auditor comes to one dies there, and the other goes on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final
from uuid import UUID

from contracts.topology import JOBS
from contracts.v1 import RunStarted
from kit.bus import Bus
from tests.support.audit_provider import AuditProvider, Bill, Step
from tests.support.openai_server import Broken, Request, Turn
from tests.support.system import Process, System, until
from tests.support.trap import Trap, Word

WITHIN_S: Final = 120.0


@dataclass(frozen=True)
class Asked:
    """As soon as the model has been asked about a claim or an article."""

    step: Step
    subject: str

    def __str__(self) -> str:
        return f"{self.step} of {self.subject!r} is asked"


@dataclass(frozen=True)
class CutOff:
    """It is cut off from the broker at a word and lives on, until another auditor has begun its run once more."""

    word: Word
    run: UUID


Moment = Word | Asked | CutOff
"""When an auditor dies."""


@dataclass
class WatchedProvider(AuditProvider):
    """Notes what is asked without need: an answer that is stored, or one that a living auditor is waiting for.

    Shapes: `find_run` names the run of a step about a claim or an article; `dead` are the keys of dead auditors;
    `unanswered` are questions that were left hanging because `hold_about` had said so.
    """

    find_run: Callable[[Step, str], UUID] = lambda step, subject: UUID(int=0)
    dead: set[str] = field(default_factory=set)
    needless: list[str] = field(default_factory=list)
    unanswered: list[Bill] = field(default_factory=list)
    _held: set[tuple[Step, str]] = field(default_factory=set)

    def hold_about(self, step: Step, subject: str) -> None:
        """Take the money for the next call about a claim or an article and say nothing."""
        self._held.add((step, subject))

    def turn(self, request: Request) -> Turn:
        """Write a bill and answer."""
        answer = super().turn(request)
        bill, earlier = self.bills[-1], self.bills[:-1]
        if bill.stored.get(str(self.find_run(bill.step, bill.subject)), 0) > bill.turn:
            self.needless.append(f"it was stored: {bill}")
        if any(_same(bill, each) and each.payer not in self.dead for each in earlier):
            self.needless.append(f"its auditor lives: {bill}")
        if (bill.step, bill.subject) in self._held:
            self._held.remove((bill.step, bill.subject))
            self.unanswered.append(bill)
            return Broken("silence")
        return answer

    def count_questions(self, step: Step) -> Counter[tuple[str, int]]:
        """How often each question of a step was asked."""
        return Counter((each.subject, each.turn) for each in self.paid(step))


def _same(one: Bill, other: Bill) -> bool:
    return (one.step, one.subject, one.turn) == (other.step, other.subject, other.turn)


@dataclass
class Place:
    """The place of one auditor. Its key tells its bills from those of the one before it."""

    name: str
    broker: Trap
    key: str = ""
    process: Process | None = None


@dataclass
class Auditors:
    """Both places. Shapes: `died` are the moments at which auditors were killed, in order."""

    system: System
    provider: WatchedProvider
    places: Sequence[Place]
    words: dict[Word, int]
    bus: Bus
    died: list[str] = field(default_factory=list)
    _cut_off: dict[Word, CutOff] = field(default_factory=dict)
    _begun: dict[CutOff, int] = field(default_factory=dict)
    _lives: count[int] = field(default_factory=lambda: count(1))

    def start(self, place: Place) -> None:
        """Start a new auditor in a place."""
        place.key = f"sk-test-auditor-{next(self._lives):020}"
        settings = {
            "OPENERRATA_NATS_URL": place.broker.url,
            "OPENAI_API_KEY": place.key,
        }
        place.process = self.system.spawn("auditor", name=place.name, settings=settings)

    def watch(self, *moments: Moment) -> None:
        """Let the next auditor that comes to one of these die there."""
        for each in moments:
            if isinstance(each, Word):
                self.words[each] = 0
            elif isinstance(each, CutOff):
                self.words[each.word] = 0
                self._cut_off[each.word] = each
            else:
                self.provider.hold_about(each.step, each.subject)

    async def kill_next(self) -> Moment:
        """Kill the auditor that is the next to come to an awaited moment, and start another in its place."""
        place, moment = await until(self._find_caught, f"one of {self.words}", within_s=WITHIN_S)
        if isinstance(moment, Word) and moment.fate == "stored":
            await asyncio.wait_for(place.broker.confirmed.wait(), WITHIN_S)
        assert place.process is not None
        await place.process.kill()
        self.provider.dead.add(place.key)
        self.died.append(str(moment))
        caught = place.broker.caught
        place.broker.rearm()
        if caught is not None and self._cut_off.get(caught, caught) != moment:
            self.words[caught] = 0  # it came to both at once, and died of the other
        self.start(place)
        return moment

    async def kill_at_each(self, *chains: Sequence[Moment]) -> None:
        """Kill at each moment, those of a chain in order, and those of several chains as they come."""
        left = {moments[0]: moments[1:] for moments in chains if moments}
        self.watch(*left)
        while left:
            following = left.pop(await self.kill_next())
            if following:
                left[following[0]] = following[1:]
                self.watch(following[0])

    async def _find_caught(self) -> tuple[Place, Moment] | None:
        for place in self.places:
            if (caught := place.broker.caught) is not None:
                moment = self._cut_off.get(caught, caught)
                if isinstance(moment, Word) or await self._is_taken_over(moment):
                    return place, moment
            for bill in self.provider.unanswered:
                if bill.payer == place.key:
                    self.provider.unanswered.remove(bill)
                    return place, Asked(bill.step, bill.subject)
        return None

    async def _is_taken_over(self, moment: CutOff) -> bool:
        subject = f"{RunStarted.SUBJECT}.{moment.run}"
        state = (await self.bus.jetstream.stream_info(JOBS.name, subjects_filter=subject)).state
        begun = (state.subjects or {}).get(subject, 0)
        return begun > self._begun.setdefault(moment, begun)


def count_answers(stored: Iterable[str]) -> Mapping[str, int]:
    """How many questions of each run have an answer among these texts."""
    names = [name.split("/") for name in stored if name.startswith("answers/")]
    return Counter(run for run, _ in {(run, before) for _, run, before, _ in names})


@asynccontextmanager
async def auditors(system: System, provider: WatchedProvider, bus: Bus) -> AsyncIterator[Auditors]:
    """Two auditors at work."""
    words: dict[Word, int] = {}
    stored: set[str] = set()
    provider.count_answers = lambda: count_answers(stored)
    async with AsyncExitStack() as stack:
        places = [
            Place(name, await stack.enter_async_context(Trap(system.nats_url, words, stored)))
            for name in ("auditor-one", "auditor-two")
        ]
        both = Auditors(system, provider, places, words, bus)
        for place in places:
            both.start(place)
        try:
            yield both
        finally:
            for place in places:
                if place.process is not None and place.process.alive:
                    await place.process.kill()
