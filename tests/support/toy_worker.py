"""A worker of the toy kind: three steps one after another, each a run of its own, and a fact for each result.

It is what a service of a new kind has to write: how a run ends, and what follows what. All else is shared.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID, uuid5

from contracts.steps import StepName
from contracts.v1 import Event, RunFailed
from contracts.v1.event import OnceEvent
from contracts.v1.run import RunEnd, StageModel
from kit.clock import Clock
from kit.ephemeral import EphemeralTexts
from kit.models.base import Model
from services.auditor.domain import AlreadyFailed, Answered, RunRequest
from services.auditor.runs import Log as RunLog
from services.auditor.runs import Runs
from tests.support.toy_kind import TOY, WeighStep, Weight

RUNS: Final = UUID(int=0x701)
KEPT_FOR: Final = timedelta(hours=24)


class ToyWeighed(OnceEvent, subject="toy.weighed"):
    """The end of a run, which holds no words."""

    step: StepName
    grams: int
    end: RunEnd

    def key(self) -> str:
        return str(self.end.run_id)


class Log(RunLog, Protocol):
    """Runs, and whether they have their results."""

    async def is_weighed(self, run_id: UUID) -> bool: ...


def run_of(thing: UUID, step: StepName) -> UUID:
    """The run of one step about one thing."""
    return uuid5(RUNS, f"{thing}|{step}")


class ToyWorker:
    """Weighs things. Their words are kept for a day from the request on."""

    def __init__(self, log: Log, texts: EphemeralTexts, model: Model, clock: Clock) -> None:
        self._log = log
        self._model = model
        self._runs = Runs(log, texts, self, clock, "toy-worker")

    def open(self, chosen: StageModel) -> Model:
        """The only model."""
        return self._model

    async def on_requested(self, thing: UUID, requested_at: datetime, delivery_count: int) -> AsyncIterator[Event]:
        """Go through the steps; what is in the log is not bought again."""
        for step in TOY.steps:
            wanted = _want(thing, step, requested_at)
            if await self._log.is_weighed(wanted.run_id):
                continue
            async for item in self._runs.carry_out(wanted, delivery_count):
                match item:
                    case Answered():
                        yield ToyWeighed(step=step.name, grams=item.answer.grams, end=item.end)
                    case AlreadyFailed():
                        return
                    case _:
                        yield item
                        if isinstance(item, RunFailed):
                            return


def _want(thing: UUID, step: WeighStep, requested_at: datetime) -> RunRequest[str, Weight]:
    return RunRequest(
        run_id=run_of(thing, step.name),
        subject_id=thing,
        step=step,
        rules=TOY.rules,
        material="a bat",
        model=StageModel(step=step.name, provider="toy", model="toy", max_tokens=1_000),
        until=requested_at + KEPT_FOR,
        folder=str(run_of(thing, step.name)),
        call_micro_usd=1_000_000,
        run_s=60,
        research={"look_up": look_up},
    )


async def look_up(arguments: str) -> str:
    """Answer the tool."""
    return "It weighs 40 g."
