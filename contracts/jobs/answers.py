"""The job API's answers about a job: accepted, repeated, estimated, and its progress."""

from __future__ import annotations

from typing import Final, Literal, Self
from uuid import UUID

from pydantic import model_validator

from contracts.jobs.costs import CostBreakdown
from contracts.jobs.ids import format_job_id
from contracts.jobs.requests import Options
from contracts.jobs.result import Result
from contracts.jobs.values import Absent, Count, Document, Instant, JobId, Money

JobStatus = Literal["QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED"]
EndedStatus = Literal["SUCCEEDED", "FAILED", "CANCELED"]
Mode = Literal["credit", "cache_only"]
JobFailureCode = Literal[
    "FETCH_FAILED",
    "NOT_PUBLIC",
    "UNSUPPORTED_CONTENT",
    "INPUT_EMPTY",
    "INPUT_TOO_LONG",
    "MODEL_REFUSED",
    "INVALID_ANSWER",
    "COST_LIMIT",
    "SERVICE_UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    "INTERNAL",
]
ENDED: Final[frozenset[JobStatus]] = frozenset({"SUCCEEDED", "FAILED", "CANCELED"})
"""The final statuses."""


class CacheInfo(Document):
    """The number of claims expected to be answered from the cache, by a known extraction or the past hit rate."""

    claims_to_extract: Count
    estimated_cache_hits: Count
    estimated_new_claims: Count
    basis: Literal["memo", "rolling_hit_rate"]

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.claims_to_extract != self.estimated_cache_hits + self.estimated_new_claims:
            raise ValueError("hits and new claims must make up all claims")
        return self


class Links(Document):
    """The paths of a job's resources."""

    self: str
    result: str
    report: str
    events: str


def links_of(job_id: UUID) -> Links:
    """The paths of a job's resources, for its id."""
    path = job_path(job_id)
    return Links.model_validate(
        {"self": path, "result": f"{path}/result", "report": f"{path}/report", "events": f"{path}/events"}
    )


def job_path(job_id: UUID) -> str:
    """The path of a job: the `Location` of its 202."""
    return f"/v1/jobs/{format_job_id(job_id)}"


class _Costs(Document):
    estimated_cost: Money
    maximum_cost: Money
    cost_breakdown: CostBreakdown
    cache_info: CacheInfo
    mode: Mode

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.estimated_cost != self.cost_breakdown.total:
            raise ValueError("the parts must sum to the estimated cost")
        return self


class JobFailure(Document):
    """Why a job failed."""

    code: JobFailureCode
    message: str


class JobAccepted(_Costs):
    """202: a new job."""

    job_id: JobId
    status: Literal["QUEUED"]
    created_at: Instant
    deadline_at: Instant
    links: Links


class JobFinished(_Costs):
    """200: a new job that ended while its client waited. `result`: it succeeded; `error`: it failed."""

    job_id: JobId
    status: EndedStatus
    created_at: Instant
    deadline_at: Instant
    links: Links
    charged: Money
    error: JobFailure | None
    result: Absent[Result] = None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if (self.result is not None) != (self.status == "SUCCEEDED"):
            raise ValueError("a job has a result if and only if it succeeded")
        if (self.error is not None) != (self.status == "FAILED"):
            raise ValueError("a job has an error if and only if it failed")
        return self


class JobRepeated(Document):
    """200: the request was made before, and this is its job."""

    job_id: JobId
    status: JobStatus
    idempotent: Literal[True]
    original_request_at: Instant
    message: str


class Estimate(_Costs):
    """200: what a job would cost. `credit_remaining` is None without a limit."""

    credit_remaining: Money | None
    would_be_accepted: bool


class EchoedLabels(Document):
    """The client's own labels of its request, while its words are kept."""

    request_id: str | None
    source_label: str | None


class Progress(Document):
    """How far a job is; numbers are None until they are known."""

    stage: Literal["queued", "stage1", "stage2", "stage3", "ended"]
    claims_total: Count | None
    claims_done: Count | None


class WebhookState(Document):
    """Whether a message is due at the job's end."""

    state: Literal["pending", "none"]


class JobView(Document):
    """`GET /v1/jobs/{id}`. After `expires_at` result and report are gone."""

    job_id: JobId
    status: JobStatus
    created_at: Instant
    updated_at: Instant
    mode: Mode
    options: Options
    client: EchoedLabels
    links: Links
    deadline_at: Instant
    progress: Progress
    ended_at: Instant | None
    expires_at: Instant | None
    charged: Money | None
    error: JobFailure | None
    webhook: WebhookState | None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        ended = self.status in ENDED
        if (self.ended_at is not None) != ended or (self.progress.stage == "ended") != ended:
            raise ValueError("a job has ended if and only if its status says so")
        if (self.error is not None) != (self.status == "FAILED"):
            raise ValueError("a job has an error if and only if it failed")
        return self


class Health(Document):
    """`GET /v1/health`."""

    status: Literal["ok"]
