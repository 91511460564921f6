"""The life of one candidate: proposed by the investigator, judged by a validator.

The key is the investigation, so its whole history is one filter. A claim has one id per place in the text; whoever
folds these takes the first verdict of a round in the order of the log.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from pydantic import Field

from contracts.v1.event import Event, OnceEvent
from contracts.v1.investigation import FailureClass, Fault
from contracts.v1.parts import CheckedSource, ClaimPayload, Prompt, TextRef, Usage


class ClaimEvent(Event):
    """Base of the claim's facts. `round` is the request's: after a failure a claim is proposed and judged anew."""

    investigation_id: UUID
    claim_id: UUID
    round: int = Field(default=1, ge=1)

    def key(self) -> str:
        return str(self.investigation_id)

    def identity(self) -> str:
        return f"{self.claim_id}|{self.round}"


class ClaimProposed(ClaimEvent):
    """The model submitted a candidate; it is not a finding yet. `ordinal` is its place among the run's submissions."""

    SUBJECT: ClassVar[str] = "errata.v1.claim.proposed"

    version_id: UUID
    analysis: str
    attempt: int = Field(ge=1)
    ordinal: int = Field(ge=0)
    payload: ClaimPayload


class ClaimRetained(ClaimEvent):
    """An update run kept a finding of the earlier version: already validated, so confirmed at once."""

    SUBJECT: ClassVar[str] = "errata.v1.claim.retained"

    retained_from: UUID
    ordinal: int = Field(ge=0)
    payload: ClaimPayload


class ClaimValidationStarted(OnceEvent):
    """A model is about to be asked about the candidate, and whoever gets it meanwhile leaves it alone.

    The key is the claim, so that reviews of one run never stand in one another's way. `attempt` is the one the
    candidate came from; `delivery` numbers the candidate's deliveries, and a later one takes over.
    """

    SUBJECT: ClassVar[str] = "errata.v1.claim.validation_started"

    investigation_id: UUID
    claim_id: UUID
    round: int = Field(default=1, ge=1)
    attempt: int = Field(ge=1)
    delivery: int = Field(ge=1)

    def key(self) -> str:
        return str(self.claim_id)

    def identity(self) -> str:
        return f"{self.round}|{self.attempt}|{self.delivery}"


class ClaimApproved(ClaimEvent):
    """The candidate withstood validation.

    Shapes: `payload` is what is published: of the candidate's sources only those that count, each under the address
    where it was found. `sources` are all of the
    candidate's, in its order. Here and in every other verdict `prompt` is what the reviewer was given, `rules` the
    version of what decided without a model, and `unchecked_allowed` whether the operator let sources count that could
    not be looked up; older facts do not say.
    """

    SUBJECT: ClassVar[str] = "errata.v1.claim.approved"

    version_id: UUID
    payload: ClaimPayload
    sources: tuple[CheckedSource, ...] = ()
    usage: Usage = Usage()
    transcript: TextRef | None = None
    prompt: Prompt | None = None
    rules: str | None = None
    unchecked_allowed: bool | None = None


class ClaimRejected(ClaimEvent):
    """The candidate did not withstand validation; `gate` says what refused it: rule, sources or model."""

    SUBJECT: ClassVar[str] = "errata.v1.claim.rejected"

    gate: str
    reason: str
    sources: tuple[CheckedSource, ...] = ()
    usage: Usage = Usage()
    transcript: TextRef | None = None
    prompt: Prompt | None = None
    rules: str | None = None
    unchecked_allowed: bool | None = None


class ClaimValidationFailed(ClaimEvent):
    """No verdict could be had, which is never an approval: the investigation fails.

    `fault` USER_KEY: a reader's own key could not be used. `usage` and `transcript` are what was spent and said before.
    """

    SUBJECT: ClassVar[str] = "errata.v1.claim.validation_failed"

    failure: FailureClass
    fault: Fault = "RUN"
    reason: str
    status_code: int | None = None
    sources: tuple[CheckedSource, ...] = ()
    usage: Usage = Usage()
    transcript: TextRef | None = None
    prompt: Prompt | None = None
    rules: str | None = None
    unchecked_allowed: bool | None = None


class ClaimValidationRetryScheduled(ClaimEvent):
    """A review failed in a way that may pass; the next one is tried at `retry_at`.

    `attempt` counts such failures of one claim in one round, from 1. `error_name` is the kind of error; `usage` and
    `transcript` are what was spent and said before it.
    """

    SUBJECT: ClassVar[str] = "errata.v1.claim.validation_retry_scheduled"

    attempt: int = Field(ge=1)
    failure: FailureClass
    reason: str
    status_code: int | None = None
    error_name: str | None = None
    sources: tuple[CheckedSource, ...] = ()
    usage: Usage = Usage()
    transcript: TextRef | None = None
    prompt: Prompt | None = None
    rules: str | None = None
    unchecked_allowed: bool | None = None
    retry_at: datetime

    def identity(self) -> str:
        return f"{super().identity()}|{self.attempt}"
