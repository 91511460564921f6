"""Carries out a run of a step: attempts as facts of `JOBS`, answers as texts that expire, none paid for twice.

A worker that takes over from one that died finds its stored answers and continues after them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Never, Protocol, TypedDict
from uuid import UUID

from prometheus_client import CollectorRegistry, Counter

from contracts.transcript import Transcript
from contracts.v1 import Event, RunAdvanced, RunFailed, RunRetryScheduled, RunStarted
from contracts.v1.investigation import FailureClass
from contracts.v1.parts import EphemeralRef, Usage
from contracts.v1.run import RunEnd, StageModel
from kit.clock import Clock
from kit.ephemeral import EphemeralTexts
from kit.errors import Retry, Superseded
from kit.models.base import Brief, Checkpoint, Finished, Limits, Model, ModelError, Sampling
from kit.models.looked_up import all_searches_failed, list_looked_up
from kit.runs import RunRecord, limit_time
from kit.settings import SettingsError
from lifecycle.attempts import ATTEMPTS, Exhausted, NotDue, OwnedByOtherWorker
from lifecycle.audits.runs import Run
from lifecycle.audits.words import name_question
from lifecycle.run import NextAttempt
from services.auditor.domain import AlreadyFailed, Answered, AnswerT, MaterialT, RunRequest

REASONS: Final[Mapping[str, str]] = {
    "BadAnswer": "invalid_answer",
    "EmptyAnswer": "invalid_answer",
    "Refusal": "model_refused",
    "RoundLimit": "invalid_answer",
    "CostLimit": "cost_limit",
    "TokenLimit": "cost_limit",
    "PriceUnknown": "cost_limit",
    "RunTimeout": "timeout",
    "SearchUnavailable": "search_unavailable",
}
"""The code of a failure by the name of its error; every other one is `model_unavailable`."""
MODEL_UNAVAILABLE: Final = "model_unavailable"
CUT_SHORT: Final = "cut_short"
"""Every attempt was cut short by the end of its process."""


class Log(Protocol):
    """Runs, folded from the log."""

    async def run(self, run_id: UUID) -> Run: ...


class Models(Protocol):
    """Models by stage. Raises: SettingsError."""

    def open(self, chosen: StageModel) -> Model: ...


class _Texts:
    """The texts of one run, stored until the run's texts expire."""

    def __init__(self, texts: EphemeralTexts, until: datetime) -> None:
        self._texts = texts
        self._until = until

    async def get_text(self, ref: EphemeralRef) -> str:
        return await self._texts.get(ref)

    async def put_text(self, text: str, answers: str | None = None) -> EphemeralRef:
        return await self._texts.put(text, self._until, answers)

    async def answers(self, step: str) -> Sequence[EphemeralRef]:
        return await self._texts.answers(step, self._until)


class _Failure(TypedDict):
    """The fields that both events of a failed attempt share."""

    run_id: UUID
    attempt: int
    failure: FailureClass
    reason: str
    status_code: int | None
    error_name: str
    usage: Usage | None
    transcript: EphemeralRef | None


class Runs:
    """Carries out runs, one attempt for each call."""

    def __init__(
        self,
        log: Log,
        texts: EphemeralTexts,
        models: Models,
        clock: Clock,
        worker: str,
        registry: CollectorRegistry | None = None,
    ) -> None:
        self._fallback_answers = Counter(
            "openerrata_auditor_fallback_answers",
            "Answers of a provider that stood in for the stage's own",
            ("step", "provider"),
            registry=registry,
        )
        self._log = log
        self._texts = texts
        self._models = models
        self._clock = clock
        self._worker = worker

    async def carry_out(
        self, wanted: RunRequest[MaterialT, AnswerT], delivery_count: int
    ) -> AsyncIterator[Event | Answered[AnswerT] | AlreadyFailed]:
        """Carry out the next attempt: its facts, and at its end the answer.

        Raises: Retry: the next attempt is not due, or this one failed for now. Superseded: another worker has it.
        """
        run = await self._log.run(wanted.run_id)
        if run.failure is not None:
            yield AlreadyFailed(run.failure)
            return
        match run.history.plan(delivery_count, self._clock.now()):
            case NextAttempt() as attempt:
                async for item in self._attempt(wanted, attempt, delivery_count):
                    yield item
            case NotDue(left_s):
                raise Retry(left_s, "the next attempt is not due")
            case OwnedByOtherWorker():
                raise Superseded("an attempt was started on a later delivery")
            case Exhausted():
                yield RunFailed(
                    run_id=wanted.run_id, attempt=run.history.attempts, failure="TRANSIENT", reason=CUT_SHORT
                )

    async def _attempt(
        self, wanted: RunRequest[MaterialT, AnswerT], attempt: NextAttempt[EphemeralRef], delivery_count: int
    ) -> AsyncIterator[Event | Answered[AnswerT]]:
        step, model = wanted.step, wanted.model
        yield RunStarted(
            run_id=wanted.run_id,
            follows=attempt.follows,
            step=step.name,
            subject_id=wanted.subject_id,
            attempt=attempt.attempt,
            worker=self._worker,
            delivery_count=delivery_count,
            prompt_version=step.prompt.version,
            prompt_sha256=step.prompt.sha256,
            provider=model.provider,
            model=model.model,
            rules=wanted.rules,
        )
        record = RunRecord(
            _Texts(self._texts, wanted.until),
            partial(name_question, wanted.folder),
            attempt.done,
            attempt.on_record,
            is_first=attempt.attempt == 1,
        )
        try:
            async for item in self._converse(wanted, attempt.attempt, record):
                yield item
        except ModelError as error:
            transcript = None if error.transcript is None else await record.store(error.transcript)
            delay_s = ATTEMPTS.delay_s(attempt.attempt, error.failure, error.retry_after_s)
            failed: _Failure = {
                "run_id": wanted.run_id,
                "attempt": attempt.attempt,
                "failure": error.failure,
                "reason": REASONS.get(error.name, MODEL_UNAVAILABLE),
                "status_code": error.status_code,
                "error_name": error.name,
                "usage": error.usage,
                "transcript": transcript,
            }
            if delay_s is None:
                yield RunFailed(**failed)
                return
            yield RunRetryScheduled(**failed, retry_at=self._clock.now() + timedelta(seconds=delay_s))
            raise Retry(delay_s, failed["reason"]) from error

    async def _converse(
        self, wanted: RunRequest[MaterialT, AnswerT], attempt: int, record: RunRecord[EphemeralRef]
    ) -> AsyncIterator[Event | Answered[AnswerT]]:
        began = asyncio.get_running_loop().time()
        try:
            model = self._models.open(wanted.model)
        except SettingsError as error:
            raise ModelError("TRANSIENT", str(error), name="NotConfigured") from error
        done, published = await record.load_previous()
        step, material = wanted.step, wanted.material
        brief: Brief[Never, AnswerT] = Brief(
            step=step.name,
            instructions=step.prompt.text,
            parts=tuple(part for part in step.brief(material) if isinstance(part, str)),
            read=step.read,
            turns=step.turns,
            sampling=Sampling(wanted.model.max_tokens, wanted.model.temperature),
            tools=step.tools(material),
            research=wanted.research,
            schema=step.schema,
            limits=Limits(call_micro_usd=wanted.call_micro_usd),
            done=done,
            published=published,
        )
        items = limit_time(model.converse(brief), record, began=began, seconds=wanted.run_s)
        async with aclosing(items):
            async for item in items:
                match item:
                    case Checkpoint():
                        segment = await record.store_checkpoint(item)
                        yield RunAdvanced(
                            run_id=wanted.run_id,
                            attempt=attempt,
                            calls=item.calls,
                            before=segment.before,
                            segment=segment.words,
                            usage=item.usage,
                        )
                    case Finished():
                        transcript = await record.store(item.transcript)
                        name = item.model.answered
                        provider = None if item.model.provider == wanted.model.provider else item.model.provider
                        if provider is not None:
                            self._fallback_answers.labels(step.name, provider).inc()
                        looked_up = await asyncio.to_thread(_list_looked_up, item) if brief.research else ()
                        yield Answered(
                            item.answer,
                            RunEnd(
                                run_id=wanted.run_id,
                                attempt=attempt,
                                provider=provider,
                                model=name,
                                usage=item.usage,
                                transcript=transcript,
                            ),
                            frozenset(looked_up),
                        )


def _list_looked_up(finished: Finished[AnswerT]) -> frozenset[str]:
    """The addresses that were looked up. Raises: ModelError: there are none, because all searches failed."""
    transcript = Transcript.model_validate_json(finished.transcript)
    found = list_looked_up(transcript)
    if not found and all_searches_failed(transcript):
        raise ModelError(
            "NON_RETRYABLE",
            "No search was answered.",
            name="SearchUnavailable",
            usage=finished.usage,
            transcript=finished.transcript,
        )
    return found
