"""An investigator over any log: a request is delivered, facts come out and are told to the log, as delivery does."""

from __future__ import annotations

from typing import Protocol, TypeVar

from contracts.v1 import Event, InvestigationRequested
from kit.errors import Reject, Retry, Superseded
from services.investigator.ports import Log
from tests.support.factories import requested
from tests.support.fakes import Handled, MemoryLog, MemoryTexts, Run, ScriptedModel, StillClock, investigator_over
from tests.support.judging import following

Kind = TypeVar("Kind", bound=Event)


class Journal(Protocol):
    """A log that can be read as the investigator reads it, and told facts."""

    @property
    def log(self) -> Log: ...

    async def tell(self, *events: Event) -> None:
        """Store facts, each after the newest of its subject."""
        ...

    async def publish(self, event: Event) -> None:
        """Store a fact as it is. Raises: PublishConflict: a once-event that does not follow."""
        ...


class InMemory:
    """A journal over the fake."""

    def __init__(self, log: MemoryLog) -> None:
        self.log = log

    async def tell(self, *events: Event) -> None:
        for event in events:
            await self.publish(following(event, self.log.last(event.subject())))

    async def publish(self, event: Event) -> None:
        self.log.publish(event)


class Looker:
    """An investigator and its scripted model, over a journal that others write too."""

    def __init__(self, journal: Journal, *runs: Run) -> None:
        self.journal = journal
        self.model = ScriptedModel(runs or ((),))
        self.clock = StillClock()
        self.investigator = investigator_over(journal.log, MemoryTexts(), self.model, clock=self.clock)

    async def deliver(self, delivery: int = 1, request: InvestigationRequested | None = None) -> Handled:
        """One delivery of the request; if it is to come again later, it is later then."""
        outcome = Handled()
        try:
            async for event in self.investigator.on_investigation_requested(request or requested(), delivery):
                await self.journal.publish(event)
                outcome.facts.append(event)
        except (Retry, Reject, Superseded) as error:
            outcome.gave_up = error
        self.clock.wait_for_the_next(outcome)
        return outcome

    async def told(self, kind: type[Kind]) -> list[Kind]:
        """Facts of a class, in the order of the log."""
        entries = await self.journal.log.history(requested().investigation_id)
        return [entry.envelope.event for entry in entries if isinstance(entry.envelope.event, kind)]
