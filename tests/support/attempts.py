"""An investigator over a log in memory, with a version and a request in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar
from uuid import UUID

from contracts.v1 import (
    Event,
    InvestigationRequested,
)
from contracts.v1.parts import ClaimPayload
from kit.models.base import Decision, Limits
from services.investigator.domain import Prior
from tests.support.factories import (
    VERSION_ID,
    payload,
    requested,
    snapshot,
)
from tests.support.fakes import (
    FixedPriors,
    Handled,
    MemoryKeys,
    MemoryLog,
    MemoryTexts,
    Run,
    ScriptedModel,
    StillClock,
    handled,
    investigator_over,
)

E = TypeVar("E", bound=Event)


def submit(quote: str, call_id: str = "call-1", **given: object) -> Decision[ClaimPayload | UUID]:
    """The decision with which a model submits a claim."""
    return Decision(call_id, payload(quote, **given))


class World:
    """A log with a version and a request, and an investigator over it."""

    def __init__(
        self,
        *runs: Run,
        request: InvestigationRequested | None = None,
        keys: MemoryKeys | None = None,
        prior: Prior | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.request = request or requested()
        self.log = MemoryLog(self.request, versions={VERSION_ID: snapshot()})
        self.deliveries = 0
        self.texts = MemoryTexts()
        self.model = ScriptedModel(runs or ((),))
        self.priors = FixedPriors(prior)
        self.clock = StillClock()
        self.investigator = investigator_over(self.log, self.texts, self.model, keys, self.priors, limits, self.clock)

    async def deliver(self) -> Handled:
        """Deliver the request, for the first time or again. If it is put off, the clock moves to the next delivery."""
        self.deliveries += 1
        run = self.investigator.on_investigation_requested(self.request, self.deliveries)
        return await handled(run, self.log, self.clock)

    def told(self, kind: type[E]) -> list[E]:
        """Facts of a class, in the order of the log."""
        return [event for event in self.log.events if isinstance(event, kind)]


def kinds(facts: Sequence[Event]) -> list[str]:
    """Class names."""
    return [type(fact).__name__ for fact in facts]
