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
"""The `error_name` of an attempt whose provider has lost the conversation: the next one begins anew."""
CANCELLED: Final = "cancelled by operator"
"""The `reason` of an investigation that the operator ended."""


class InvestigationRequested(OnceEvent, subject="investigation.requested", key="investigation_id", identity=("round",)):
    """An investigation of a version is requested; its id derives from version, analysis and origin, so requests merge.

    `origin` says why: ORIGINAL, of which a version and analysis have one; APPEAL, an objection to findings; RETRACTION,
    a check ordered because a finding is doubted; CONTROL, a run whose answer is known, of which nothing is published.
    `origin_id` names the appeal, the order or the list of controls; only an ORIGINAL has none. `round` counts explicit
    re-requests after a failure, from 1. `attachment` names the reader's key that pays; None in older events.
    `objection` is what an APPEAL says.
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
    """An attempt begins. `input` is the same in every attempt: the snapshot the first one took.

    `attachment` is the request's, `delivery_count` the number of the request's delivery on which it was begun. Units:
    `cost_limit_micro_usd` is what the whole run may cost, its reviews included, in millionths of a US dollar; None: no
    such limit. `rules` is the version of the rules that decide without a model; None in older events. `gates` is what
    the gates by code ask for, without the instance's own hosts; None: none judge, or an older event.
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
    """The model has finished; the result is whatever of `claim_ids` passes validation or was retained.

    Shapes: `claim_ids` is everything the model submitted, in its order; those among them in `retained_ids` are findings
    of the earlier version that it retained, and need no verdict. Older events list these in `retained_ids` alone.
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
    """A checkpoint: what was exchanged with the model is stored, and no later attempt pays for it again.

    Shapes: `segment` holds what was exchanged since `before`, the hash of the previous segment; None: since the
    beginning. `calls` counts the stored answers. `usage` is what this attempt has used so far.
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
    """The investigation is complete; `claims` is everything that was found wrong, often nothing.

    `provenance` says who vouched for the text when it was investigated; None in older events. `round` is that of the
    request which it answers; 1 in older events. A later round repeats a result that could not be applied.
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
    """The investigation ended without a result; nothing that it found is published.

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
