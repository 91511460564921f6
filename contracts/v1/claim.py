"""The life of one candidate: proposed by the investigator, judged by a validator.

The key is the investigation, so its whole history is one subject filter. A claim has one id per place in the text. Of a
round's verdicts on a claim, the first one in the log counts.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from contracts.v1.event import Event, OnceEvent
from contracts.v1.gates import GatePolicy, GateResult
from contracts.v1.investigation import FailureClass, Fault
from contracts.v1.opinion import Opinion
from contracts.v1.parts import CheckedSource, ClaimPayload, Prompt, TextRef, Usage


class ClaimEvent(Event, key="investigation_id", identity=("claim_id", "round")):
    """Base of a claim's events. `round` is that of the request: after a failure a claim is proposed and judged anew."""

    investigation_id: UUID
    claim_id: UUID
    round: int = Field(default=1, ge=1)


class ClaimProposed(ClaimEvent, subject="claim.proposed"):
    """The model submitted a candidate; it is not a finding yet. `ordinal` is its place among the run's submissions."""

    version_id: UUID
    analysis: str
    attempt: int = Field(ge=1)
    ordinal: int = Field(ge=0)
    payload: ClaimPayload


class ClaimRetained(ClaimEvent, subject="claim.retained"):
    """An update run retained a finding of the earlier version, which was validated before."""

    retained_from: UUID
    ordinal: int = Field(ge=0)
    payload: ClaimPayload


class ClaimValidationStarted(
    OnceEvent, subject="claim.validation_started", key="claim_id", identity=("round", "attempt", "delivery_count")
):
    """A review of the candidate begins; other workers leave the candidate alone meanwhile.

    The key is the claim, so that reviews of one run do not block one another. `attempt` is the one the candidate came
    from; `delivery_count` numbers the candidate's deliveries, and a later delivery takes over.
    """

    investigation_id: UUID
    claim_id: UUID
    round: int = Field(default=1, ge=1)
    attempt: int = Field(ge=1)
    delivery_count: int = Field(ge=1)


class ClaimApproved(ClaimEvent, subject="claim.approved"):
    """The candidate passed validation.

    Shapes: `payload` is what is published: it has only those of the candidate's sources that count, each with the
    address where it was found. `sources` are all of the candidate's, in its order. Here and in every other verdict
    `prompt` is the reviewer's, `rules` the version of the rules that decide without a model, and `unchecked_allowed`
    whether the operator accepts sources that could not be fetched; None in older events. `gates` are the results of the
    gates that judged before the review, in their order, under `policy`; without a policy none did. `opinion` is the
    second opinion, whose cost is part of `usage`.
    """

    version_id: UUID
    payload: ClaimPayload
    sources: tuple[CheckedSource, ...] = ()
    usage: Usage = Usage()
    transcript: TextRef | None = None
    prompt: Prompt | None = None
    rules: str | None = None
    unchecked_allowed: bool | None = None
    policy: GatePolicy | None = None
    gates: tuple[GateResult, ...] = ()
    opinion: Opinion | None = None


class ClaimHeld(ClaimEvent, subject="claim.held"):
    """The candidate passed validation, and is not displayed before its hold is over.

    `approval` is published once the claim is released. Analysts may not follow this. Units: `held_at` is UTC.
    """

    approval: ClaimApproved
    held_at: datetime


class ClaimHoldEnded(OnceEvent, subject="claim.hold_ended", key="claim_id", identity=("round",)):
    """A held claim is released, or withheld for good; its verdict follows.

    The key is the claim, so that of two workers that end a hold the stream accepts one. Shapes: `code` is None exactly
    if the claim is released. Units: `views_a_day` are unique; None: unknown. `hold_s`: how long it had to be held, in
    seconds; None if that was not decided, and in older events.
    """

    investigation_id: UUID
    claim_id: UUID
    round: int = Field(default=1, ge=1)
    state: Literal["RELEASED", "WITHHELD"]
    code: str | None = None
    views_a_day: int | None = Field(default=None, ge=0)
    hold_s: int | None = Field(default=None, ge=0)


class ClaimRejected(ClaimEvent, subject="claim.rejected"):
    """The candidate did not pass validation; `gate` rejected it: rule, sources, one of `gates`, model, or hold."""

    gate: str
    reason: str
    sources: tuple[CheckedSource, ...] = ()
    usage: Usage = Usage()
    transcript: TextRef | None = None
    prompt: Prompt | None = None
    rules: str | None = None
    unchecked_allowed: bool | None = None
    policy: GatePolicy | None = None
    gates: tuple[GateResult, ...] = ()
    opinion: Opinion | None = None


class ClaimValidationFailed(ClaimEvent, subject="claim.validation_failed"):
    """There is no verdict, which is never an approval: the investigation fails.

    `fault` USER_KEY: a reader's own key could not be used. `usage` and `transcript` are those of the failed review.
    """

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
    policy: GatePolicy | None = None
    gates: tuple[GateResult, ...] = ()
    opinion: Opinion | None = None


class ClaimValidationRetryScheduled(
    ClaimEvent, subject="claim.validation_retry_scheduled", identity=("claim_id", "round", "review_attempt")
):
    """A review failed with a transient error; the next one is tried at `retry_at`.

    `review_attempt` counts such failures of one claim in one round, from 1. `error_name` is the kind of error;
    `usage` and `transcript` are those of the failed review.
    """

    review_attempt: int = Field(ge=1)
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
    policy: GatePolicy | None = None
    gates: tuple[GateResult, ...] = ()
    opinion: Opinion | None = None
    retry_at: datetime
