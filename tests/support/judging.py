"""A validator over any log: candidates go in, facts come out and are told to the log, as delivery does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from contracts.v1 import ClaimProposed, ClaimValidationStarted, Event, OnceEvent
from contracts.v1.gates import GatePolicy
from kit.errors import Reject, Retry, Superseded
from kit.models.base import Model, ModelError
from kit.publisher import PublishConflict
from services.validator.handlers import Validator
from services.validator.opinion import SecondOpinion
from services.validator.ports import Runs, Sources
from tests.support.factories import proposed
from tests.support.fakes import (
    Handled,
    ListedSources,
    MemoryKeys,
    MemoryLog,
    MemoryTexts,
    ScriptedModel,
    StillClock,
    Verdict,
)


class Journal(Protocol):
    """A log that can be read as the validator reads it, and told facts."""

    @property
    def runs(self) -> Runs: ...

    async def tell(self, *events: Event) -> None:
        """Store facts, each after the newest of its subject."""
        ...

    async def publish(self, event: Event) -> None:
        """Store a fact as it is. Raises: PublishConflict: a once-event that does not follow."""
        ...


def following(event: Event, last: int) -> Event:
    """The fact as its publisher would store it."""
    return event.model_copy(update={"follows": last}) if isinstance(event, OnceEvent) else event


class InMemory:
    """A journal over the fake."""

    def __init__(self, log: MemoryLog) -> None:
        self.runs = log

    async def tell(self, *events: Event) -> None:
        for event in events:
            self.runs.publish(following(event, self.runs.last(event.subject())))

    async def publish(self, event: Event) -> None:
        self.runs.publish(event)


class Judge:
    """A validator, and what it was given to work with. `begun`: reviews it announced."""

    def __init__(
        self,
        journal: Journal,
        *verdicts: Verdict | ModelError,
        sources: Sources | None = None,
        unchecked_allowed: bool = False,
        policy: GatePolicy | None = None,
        hold: bool = False,
        opinion: Model | None = None,
        keys: Mapping[str, str] | None = None,
        model: ScriptedModel | None = None,
    ) -> None:
        self.journal = journal
        self.begun: list[Event] = []
        self.model = model or ScriptedModel(verdicts=verdicts)
        self.sources = sources if isinstance(sources, ListedSources) else ListedSources()
        self.keys = MemoryKeys(**(keys or {}))
        self.clock = StillClock()
        self.texts = MemoryTexts()
        self.validator = Validator(
            journal.runs,
            self.texts,
            self.keys,
            self.model,
            sources or self.sources,
            self.clock,
            unchecked_allowed=unchecked_allowed,
            policy=policy,
            opinion=None if opinion is None else SecondOpinion(opinion, self.texts),
            hold=hold,
        )

    async def judge(self, claim: ClaimProposed | None = None, attempt: int = 1) -> Handled:
        """One delivery; if it is to come again later, it is later then."""
        outcome = await self._told(self.validator.on_claim_proposed(claim or proposed(), attempt))
        self.clock.wait_for_the_next(outcome)
        return outcome

    async def give_up(self, claim: ClaimProposed, reason: str) -> Handled:
        """One message that became a dead letter."""
        return await self._told(self.validator.on_exhausted(claim, reason))

    async def _told(self, events: AsyncIterator[Event]) -> Handled:
        outcome = Handled()
        try:
            async for event in events:
                await self.journal.publish(event)
                (self.begun if isinstance(event, ClaimValidationStarted) else outcome.facts).append(event)
        except (Retry, Reject, Superseded, PublishConflict) as error:
            outcome.gave_up = error
        return outcome
