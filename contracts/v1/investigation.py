"""The life of one investigation, from request to result."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from contracts.v1.event import Event, OnceEvent
from contracts.v1.gates import GatePolicy
from contracts.v1.parts import (
    InvestigationInput,
    ModelName,
    Objection,
    Origin,
    Prompt,
    Provenance,
    PublishedClaim,
    Sha256,
    TextRef,
    Usage,
)

FailureClass = Literal["TRANSIENT", "NON_RETRYABLE", "PARTIAL"]
RequestedBy = Literal["READER", "SELECTOR"]
KeySource = Literal["INSTANCE", "USER"]
Fault = Literal["RUN", "USER_KEY"]

CONVERSATION_LOST: Final = "ConversationLost"
"""The `error_name` of an attempt whose provider lost the conversation: the next attempt begins anew."""
CANCELLED: Final = "cancelled by operator"
"""The `reason` of an investigation that the operator ended."""


class InvestigationRequested(OnceEvent, subject="investigation.requested", key="investigation_id", identity=("round",)):
    """An investigation of a version is requested; its id derives from version, analysis and origin, so requests merge.

    `origin` is the reason: ORIGINAL, once for a version and analysis; APPEAL, an objection to findings; RETRACTION, a
    check ordered because a finding is doubted; CONTROL, a run with a known answer, whose result is not published.
    `origin_id` names the appeal, the order or the list of controls; only an ORIGINAL has none. `round` counts explicit
    requests after a failure, from 1. `attachment` names the reader's key that pays; None in older events. `objection`
    is the text of an APPEAL.
    """

    investigation_id: UUID
    version_id: UUID
    post_id: UUID
    analysis: str
    origin: Origin
    origin_id: UUID | None = None
    requested_by: RequestedBy
    key_source: KeySource = "INSTANCE"
    attachment: UUID | None = None
    round: int = Field(default=1, ge=1)
    objection: Objection | None = None

    @model_validator(mode="after")
    def _origin_is_named(self) -> Self:
        if (self.origin == "ORIGINAL") != (self.origin_id is None):
            raise ValueError("an ORIGINAL has no origin_id, everything else has one")
        return self


class InvestigationStarted(OnceEvent, subject="investigation.started", key="investigation_id", identity=("attempt",)):
    """An attempt begins. `input` is the same in every attempt: the snapshot that the first one took.

    `attachment` is the request's, `delivery_count` the number of the request's delivery on which the attempt was begun.
    Units: `cost_limit_micro_usd` is the limit for the whole run with its reviews, in millionths of a US dollar; None:
    no limit. `rules` is the version of the rules that decide without a model; None in older events. `gates` is the
    policy of the gates that decide by code, without the instance's own hosts; None if there are none, and in older
    events.
    """

    investigation_id: UUID
    version_id: UUID
    post_id: UUID
    analysis: str
    attempt: int = Field(ge=1)
    worker: str
    input: InvestigationInput
    prompt: Prompt
    model: ModelName
    key_source: KeySource = "INSTANCE"
    attachment: UUID | None = None
    delivery_count: int | None = Field(default=None, ge=1)
    cost_limit_micro_usd: int | None = Field(default=None, ge=0)
    rules: str | None = None
    gates: GatePolicy | None = None


class InvestigationDrafted(OnceEvent, subject="investigation.drafted", key="investigation_id", identity=("attempt",)):
    """The model has finished; the result is those of `claim_ids` that pass validation or were retained.

    Shapes: `claim_ids` are all claims that the model submitted, in its order; those also in `retained_ids` are findings
    of the earlier version that it retained, and need no verdict. Older events list these in `retained_ids` only.
    """

    investigation_id: UUID
    attempt: int = Field(ge=1)
    claim_ids: tuple[UUID, ...] = ()
    retained_ids: tuple[UUID, ...] = ()
    model: ModelName
    usage: Usage
    transcript: TextRef


class InvestigationAdvanced(
    Event, subject="investigation.advanced", key="investigation_id", identity=("attempt", "calls")
):
    """A checkpoint: the exchange with the model so far is stored, and no later attempt pays for it again.

    Shapes: `segment` has the exchange since the previous segment, whose hash is `before`; None: since the beginning.
    `calls` counts the stored answers. `usage` is that of this attempt so far.
    """

    investigation_id: UUID
    attempt: int = Field(ge=1)
    calls: int = Field(ge=1)
    before: Sha256 | None = None
    segment: TextRef
    usage: Usage


class InvestigationRetryScheduled(
    Event, subject="investigation.retry_scheduled", key="investigation_id", identity=("attempt",)
):
    """An attempt failed with a transient error; the next one starts at `retry_at`.

    `error_name` is the kind of error; `usage` and `transcript` are those of the failed attempt.
    """

    investigation_id: UUID
    attempt: int = Field(ge=1)
    failure: FailureClass
    reason: str
    status_code: int | None = None
    error_name: str | None = None
    usage: Usage | None = None
    transcript: TextRef | None = None
    retry_at: datetime


class InvestigationCompleted(OnceEvent, subject="investigation.completed", key="investigation_id"):
    """The investigation is complete; `claims` are all its findings, often none.

    `provenance` is that of the text when it was investigated; None in older events. `round` is that of the request
    which this answers; 1 in older events. A later round repeats a result that could not be applied.
    """

    investigation_id: UUID
    version_id: UUID
    post_id: UUID
    analysis: str
    attempt: int = Field(ge=1)
    model: ModelName
    claims: tuple[PublishedClaim, ...] = ()
    provenance: Provenance | None = None
    round: int = Field(default=1, ge=1)

    def identity(self) -> str:
        return "" if self.round == 1 else str(self.round)


class InvestigationFailed(OnceEvent, subject="investigation.failed", key="investigation_id", identity=("round",)):
    """The investigation ended without a result; none of its claims is published.

    `fault` USER_KEY: a reader's own key could not be used, which says nothing about the post and restricts no other
    reader. `error_name`, `usage` and `transcript` are those of the attempt that failed, if one did.
    """

    investigation_id: UUID
    version_id: UUID
    attempt: int = Field(ge=0)
    round: int = Field(default=1, ge=1)
    failure: FailureClass
    fault: Fault = "RUN"
    reason: str
    status_code: int | None = None
    error_name: str | None = None
    usage: Usage | None = None
    transcript: TextRef | None = None
