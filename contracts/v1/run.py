"""The life of one run of an audit's step: its attempts, from the first start to its failure.

A run that succeeds ends with a fact of the job or the assertion, which has its `RunEnd`. The key is the run, whose id
derives from the job and the step, or from the assertion and the sequence that the request follows.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from contracts.steps import StepName
from contracts.v1.codes import MicroUsd, Name, Word
from contracts.v1.event import Event, OnceEvent
from contracts.v1.investigation import FailureClass
from contracts.v1.parts import EphemeralRef, Sha256, Usage, Value


class StageModel(Value):
    """The model of a step, frozen when its job or request begins.

    Units: `max_tokens` of one answer; `temperature` from 0 to 2, None for the provider's default.
    """

    step: StepName
    provider: Name
    model: Name
    max_tokens: int = Field(ge=1)
    temperature: float | None = Field(default=None, ge=0, le=2)


class RunEnd(Value):
    """The end of a run that succeeded, inside the fact that has its result. `usage` is the last attempt's.

    `provider` is set if the fallback answered instead of the stage's provider.
    """

    run_id: UUID
    attempt: int = Field(ge=1)
    provider: Name | None = None
    model: Name
    usage: Usage
    transcript: EphemeralRef | None = None


class RunStarted(OnceEvent, subject="run.started", key="run_id"):
    """An attempt of a run begins; `follows` is the start of the attempt before it.

    An attempt is a paid try, `delivery_count` numbers the deliveries of the message that requests it. `subject_id` is
    the job or the assertion. Units: `cost_limit_micro_usd` is the limit of the run in millionths of a US dollar; None:
    no limit.
    """

    run_id: UUID
    step: StepName
    subject_id: UUID
    attempt: int = Field(ge=1)
    worker: Name
    delivery_count: int = Field(ge=1)
    prompt_version: Name
    prompt_sha256: Sha256
    provider: Name
    model: Name
    rules: Name
    cost_limit_micro_usd: MicroUsd | None = None

    def identity(self) -> str:
        """Attempt and worker, so that another worker's start of the same attempt is refused."""
        return f"{self.attempt}|{self.delivery_count}|{self.worker}"


class RunAdvanced(Event, subject="run.advanced", key="run_id", identity=("attempt", "calls")):
    """A checkpoint: the exchange with the model so far is stored, and no later attempt pays for it again.

    Shapes: `segment` has the exchange since the previous segment, whose hash is `before`; None: since the beginning.
    `calls` counts the stored answers. `usage` is that of this attempt so far.
    """

    run_id: UUID
    attempt: int = Field(ge=1)
    calls: int = Field(ge=1)
    before: Sha256 | None = None
    segment: EphemeralRef
    usage: Usage


class RunRetryScheduled(Event, subject="run.retry_scheduled", key="run_id", identity=("attempt",)):
    """An attempt failed with a transient error; the next one starts at `retry_at`.

    `reason` is a code, never a provider's message, which may repeat the article. `error_name` is the kind of error.
    """

    run_id: UUID
    attempt: int = Field(ge=1)
    failure: FailureClass
    reason: Word
    status_code: int | None = Field(default=None, ge=100, le=599)
    error_name: Name | None = None
    usage: Usage | None = None
    transcript: EphemeralRef | None = None
    retry_at: datetime


class RunFailed(OnceEvent, subject="run.failed", key="run_id", identity=("attempt",)):
    """A run ended without a result. `attempt` 0: none was begun. Fields as in `RunRetryScheduled`."""

    run_id: UUID
    attempt: int = Field(ge=0)
    failure: FailureClass
    reason: Word
    status_code: int | None = Field(default=None, ge=100, le=599)
    error_name: Name | None = None
    usage: Usage | None = None
    transcript: EphemeralRef | None = None
