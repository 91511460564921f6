"""A worker of the toy kind: three steps one after another, each a run of its own, over facts of its own.

It is what a service of a new kind has to write: its events, how they fold, and what follows what. All else is shared.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Never, Protocol
from uuid import UUID, uuid5

from contracts.steps import StepName
from contracts.v1.event import Event, OnceEvent
from contracts.v1.parts import EphemeralRef, Usage
from kit.clock import Clock
from kit.ephemeral import EphemeralTexts
from kit.errors import Retry, Superseded
from kit.models.base import Brief, Checkpoint, Finished, Limits, Model, ModelError
from kit.runs import RunRecord, limit_time
from lifecycle.attempts import Exhausted, Link, NotDue, Nothing, OwnedByOtherWorker
from lifecycle.retries import ATTEMPTS
from lifecycle.run import NextAttempt, RunHistory
from tests.support.toy_kind import TOY, WeighStep, Weight

RUNS: Final = UUID(int=0x701)
KEPT_FOR: Final = timedelta(hours=24)


class ToyFact(Event):
    """Facts about one run."""

    run_id: UUID

    def key(self) -> str:
        return str(self.run_id)


class ToyStarted(ToyFact, OnceEvent):
    SUBJECT = "errata.v1.toy.started"
    attempt: int
    delivery_count: int

    def identity(self) -> str:
        return str(self.attempt)


class ToyAdvanced(ToyFact):
    SUBJECT = "errata.v1.toy.advanced"
    attempt: int
    calls: int
    before: str | None
    segment: EphemeralRef
    usage: Usage

    def identity(self) -> str:
        return f"{self.attempt}|{self.calls}"


class ToyRetryScheduled(ToyFact):
    SUBJECT = "errata.v1.toy.retry_scheduled"
    attempt: int
    usage: Usage | None
    transcript: EphemeralRef | None
    retry_at: datetime

    def identity(self) -> str:
        return str(self.attempt)


class ToyFailed(ToyFact, OnceEvent):
    SUBJECT = "errata.v1.toy.failed"
    reason: str


class ToyWeighed(ToyFact, OnceEvent):
    """The end of a run, which holds no words."""

    SUBJECT = "errata.v1.toy.weighed"
    step: StepName
    grams: int
    transcript: EphemeralRef


class Log(Protocol):
    """The facts of a run, with their places."""

    async def of(self, key: str) -> Sequence[tuple[int, Event]]: ...


def run_of(thing: UUID, step: StepName) -> UUID:
    """The run of one step about one thing."""
    return uuid5(RUNS, f"{thing}|{step}")


def fold(facts: Sequence[tuple[int, Event]]) -> tuple[RunHistory[EphemeralRef], ToyWeighed | ToyFailed | None]:
    """The history of a run, and how it ended."""
    history: RunHistory[EphemeralRef] = RunHistory()
    end: ToyWeighed | ToyFailed | None = None
    for sequence, event in facts:
        match event:
            case ToyStarted():
                history.start(sequence, event.attempt, event.delivery_count)
            case ToyAdvanced():
                history.add_segment(event.attempt, Link(event.segment, event.before), event.usage)
            case ToyRetryScheduled():
                history.schedule_retry(event.attempt, event.retry_at, event.usage, event.transcript)
            case ToyWeighed() | ToyFailed():
                history.end()
                end = end or event
            case _:
                pass
    return history, end


class _Words:
    """Words of a run, kept until its hour."""

    def __init__(self, texts: EphemeralTexts, until: datetime) -> None:
        self._texts = texts
        self._until = until

    async def get_text(self, ref: EphemeralRef) -> str:
        return await self._texts.get(ref)

    async def put_text(self, text: str, answers: str | None = None) -> EphemeralRef:
        return await self._texts.put(text, self._until, answers)

    async def answers(self, step: str) -> Sequence[EphemeralRef]:
        return await self._texts.answers(step, self._until)


class ToyWorker:
    """Weighs things. Their words are kept for a day from the request on."""

    def __init__(self, log: Log, texts: EphemeralTexts, model: Model, clock: Clock) -> None:
        self._log = log
        self._texts = texts
        self._model = model
        self._clock = clock

    async def on_requested(self, thing: UUID, requested_at: datetime, delivery_count: int) -> AsyncIterator[Event]:
        """Go through the steps; what is in the log is not bought again."""
        for step in TOY.steps:
            history, end = fold(await self._log.of(str(run_of(thing, step.name))))
            match history.plan(delivery_count, self._clock.now()):
                case NextAttempt() as attempt:
                    failed = False
                    async for fact in self._run(thing, step, attempt, requested_at, delivery_count):
                        yield fact
                        failed |= isinstance(fact, ToyFailed)
                    if failed:
                        return
                case Nothing():
                    if isinstance(end, ToyFailed):
                        return
                case Exhausted():
                    yield ToyFailed(run_id=run_of(thing, step.name), reason="every attempt was cut short")
                    return
                case NotDue(left_s):
                    raise Retry(left_s, "it is too early for the next attempt")
                case OwnedByOtherWorker():
                    raise Superseded("an attempt was begun on a later delivery")

    async def _run(
        self,
        thing: UUID,
        step: WeighStep,
        attempt: NextAttempt[EphemeralRef],
        requested_at: datetime,
        delivery_count: int,
    ) -> AsyncIterator[Event]:
        run = run_of(thing, step.name)
        yield ToyStarted(run_id=run, follows=attempt.follows, attempt=attempt.attempt, delivery_count=delivery_count)
        words = _Words(self._texts, requested_at + KEPT_FOR)
        record = RunRecord(
            words, partial(_step_name, run), attempt.done, attempt.on_record, is_first=attempt.attempt == 1
        )
        try:
            async for fact in self._converse(run, step, attempt, record):
                yield fact
        except ModelError as error:
            transcript = None if error.transcript is None else await record.keep(error.transcript)
            delay_s = ATTEMPTS.delay_s(attempt.attempt, error.failure, error.retry_after_s)
            if delay_s is None:
                yield ToyFailed(run_id=run, reason=error.name)
                return
            yield ToyRetryScheduled(
                run_id=run,
                attempt=attempt.attempt,
                usage=error.usage,
                transcript=transcript,
                retry_at=self._clock.now() + timedelta(seconds=delay_s),
            )
            raise Retry(delay_s, error.reason) from error

    async def _converse(
        self, run: UUID, step: WeighStep, attempt: NextAttempt[EphemeralRef], record: RunRecord[EphemeralRef]
    ) -> AsyncIterator[Event]:
        done, published = await record.before()
        brief: Brief[Never, Weight] = Brief(
            step=step.name,
            instructions=step.prompt.text,
            parts=tuple(part for part in step.brief("a bat") if isinstance(part, str)),
            read=step.read,
            turns=step.turns,
            tools=step.tools("a bat"),
            research={"look_up": _look_up},
            schema=step.schema,
            limits=Limits(),
            done=done,
            published=published,
        )
        began = asyncio.get_running_loop().time()
        items = limit_time(self._model.converse(brief), record, began=began, seconds=60)
        async with aclosing(items):
            async for item in items:
                match item:
                    case Checkpoint():
                        segment = await record.keep_checkpoint(item)
                        yield ToyAdvanced(
                            run_id=run,
                            attempt=attempt.attempt,
                            calls=item.calls,
                            before=segment.before,
                            segment=segment.words,
                            usage=item.usage,
                        )
                    case Finished():
                        transcript = await record.keep(item.transcript)
                        yield ToyWeighed(run_id=run, step=step.name, grams=item.answer.grams, transcript=transcript)


def _step_name(run: UUID, before: str | None) -> str:
    return f"{run}/{before or 'first'}"


async def _look_up(arguments: str) -> str:
    return "It weighs 40 g."
