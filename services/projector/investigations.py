"""What investigations are in the tables: their rows, and all that a batch of facts does to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from lifecycle.progress import Progress
from services.projector.changes import Heard, PromptRow
from services.projector.expenses import Expense


@dataclass(slots=True, kw_only=True)
class Investigation(Progress):
    """A row of `investigation`; parent and diff are set only by the batch that learns them."""

    id: UUID
    post_version_id: UUID
    analysis: str
    created_at: datetime
    updated_at: datetime
    input_id: UUID | None = None
    parent_investigation_id: UUID | None = None
    content_diff: str | None = None
    prompt_hash: str | None = None
    provider: str | None = None
    model: str | None = None
    model_version: str | None = None
    requested_by: str | None = None
    key_source: str | None = None
    requested_sequence: int | None = None


@dataclass(slots=True)
class Input:
    """The frozen input."""

    investigation_id: UUID
    provenance: str
    content_hash: str
    markdown_source: str
    markdown: str | None
    markdown_renderer_version: str | None
    created_at: datetime


@dataclass(slots=True)
class ImageBlob:
    """A picture that is kept, once by hash."""

    content_hash: str
    storage_key: str
    original_url: str
    mime_type: str
    size_bytes: int
    created_at: datetime


@dataclass(slots=True)
class InvestigationImage:
    """A picture the model was shown."""

    investigation_id: UUID
    content_hash: str
    image_order: int


@dataclass(slots=True)
class PictureFate:
    """What became of one picture of the post."""

    investigation_id: UUID
    original_index: int
    source_url: str
    fate: str
    content_hash: str | None
    same_as: int | None
    reason: str | None


@dataclass(slots=True)
class Lease:
    """Who works on it."""

    investigation_id: UUID
    lease_owner: str
    attempt: int
    started_at: datetime


@dataclass(slots=True)
class Attempt:
    """One attempt as it begins."""

    id: UUID
    investigation_id: UUID
    attempt_number: int
    round: int
    prompt_hash: str
    content_hash: str
    request_model: str
    started_at: datetime


@dataclass(slots=True)
class AttemptEnd:
    """How an attempt ended; a later word on the same attempt replaces an earlier one."""

    id: UUID
    outcome: str
    completed_at: datetime
    response_model_version: str | None = None


@dataclass(slots=True)
class UsageRow:
    """What an attempt cost."""

    attempt_id: UUID
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_input_tokens: int | None
    reasoning_output_tokens: int | None
    cost_micro_usd: int | None
    created_at: datetime


@dataclass(slots=True)
class ErrorRow:
    """How an attempt failed."""

    attempt_id: UUID
    error_name: str
    error_message: str
    status_code: int | None
    created_at: datetime


@dataclass(slots=True)
class ClaimRow:
    """A published claim."""

    id: UUID
    investigation_id: UUID
    ordinal: int
    text: str
    context: str
    summary: str
    reasoning: str
    created_at: datetime


@dataclass(slots=True)
class SourceRow:
    """One source of a published claim."""

    claim_id: UUID
    ordinal: int
    url: str
    title: str
    snippet: str
    retrieved_at: datetime


@dataclass(slots=True)
class Result:
    """A completed investigation as it is sent to readers."""

    investigation_id: UUID
    post_version_id: UUID
    analysis: str
    checked_at: datetime
    claim_count: int
    claims: list[dict[str, Any]]


@dataclass(slots=True)
class Round:
    """One request for a run, and whose fault it was if it failed; either may be known first."""

    investigation_id: UUID
    round: int
    requested_by: str | None = None
    key_source: str | None = None
    requested_at: datetime | None = None
    fault: str | None = None


@dataclass(slots=True)
class Lifecycles:
    """What the facts of a batch do to its investigations. `ended` lose their lease, if they have one."""

    states: dict[UUID, Investigation]
    changed: dict[UUID, Investigation] = field(default_factory=dict)
    inputs: dict[UUID, Input] = field(default_factory=dict)
    image_blobs: dict[str, ImageBlob] = field(default_factory=dict)
    images: list[InvestigationImage] = field(default_factory=list)
    picture_fates: list[PictureFate] = field(default_factory=list)
    prompts: dict[str, PromptRow] = field(default_factory=dict)
    leases: dict[UUID, Lease] = field(default_factory=dict)
    attempts: dict[UUID, Attempt] = field(default_factory=dict)
    attempt_ends: dict[UUID, AttemptEnd] = field(default_factory=dict)
    heard: dict[UUID, Heard] = field(default_factory=dict)
    usages: dict[UUID, UsageRow] = field(default_factory=dict)
    attempt_expenses: dict[UUID, Expense] = field(default_factory=dict)
    rounds: dict[tuple[UUID, int], Round] = field(default_factory=dict)
    errors: dict[UUID, ErrorRow] = field(default_factory=dict)
    claims: list[ClaimRow] = field(default_factory=list)
    sources: list[SourceRow] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
