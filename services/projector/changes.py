"""What a batch of facts does to the tables, as values.

A field of a row is named as its column, so a row needs no translation on its way to the database. Within one batch
there is at most one row for each key: what several facts say about it has been folded already, in the log's order.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from services.projector.expenses import Expense
from services.projector.facts import Fact


@dataclass(slots=True)
class Author:
    """A name on a platform: the first that a reader gave, until the site gives one; then the site's newest."""

    id: UUID
    platform: str
    platform_user_id: str
    display_name: str
    created_at: datetime
    updated_at: datetime
    confirmed: bool


@dataclass(slots=True)
class Post:
    """A post with the first address and author that readers gave, until the site gives them; then the site's newest."""

    id: UUID
    platform: str
    external_id: str
    url: str
    author_id: UUID | None
    created_at: datetime
    updated_at: datetime
    confirmed: bool
    view_count: int = 0
    unique_view_score: int = 0


@dataclass(slots=True)
class Content:
    """A normalised text."""

    content_hash: str
    content_text: str
    word_count: int
    created_at: datetime


@dataclass(slots=True)
class Page:
    """The HTML of a page."""

    html_hash: str
    html_content: str
    created_at: datetime


@dataclass(slots=True)
class OccurrenceSet:
    """All pictures of a version."""

    occurrences_hash: str
    created_at: datetime


@dataclass(slots=True)
class Occurrence:
    """One picture."""

    occurrences_hash: str
    original_index: int
    normalized_text_offset: int
    source_url: str
    caption_text: str | None


@dataclass(slots=True)
class Version:
    """A version as this batch registers it; `seen_count` counts the batch's sightings only."""

    id: UUID
    post_id: UUID
    version_hash: str
    content_hash: str
    occurrences_hash: str
    server_verified_at: datetime | None
    first_seen_at: datetime
    last_seen_at: datetime
    seen_count: int
    correlation: UUID


@dataclass(slots=True)
class Heading:
    """What stands above a version; `confirmed`: as its site said."""

    post_version_id: UUID
    url: str
    title: str | None
    author_id: UUID | None
    author_name: str | None
    confirmed: bool


@dataclass(slots=True)
class Seen:
    """Sightings of a version that is known already."""

    id: UUID
    server_verified_at: datetime | None
    last_seen_at: datetime
    seen_count: int


@dataclass(slots=True)
class Failure:
    """Why an observation could not be confirmed, or which version it became."""

    observation_id: UUID
    post_version_id: UUID | None = None
    reason: str | None = None
    detail: str | None = None
    failed_at: datetime | None = None


@dataclass(slots=True)
class Anomaly:
    """A contradiction between reader and site."""

    observation_id: UUID
    kind: str
    post_id: UUID
    platform: str
    external_id: str
    observed: str
    canonical: str
    detected_at: datetime


@dataclass(slots=True)
class Candidate:
    """A claim that was submitted; a verdict of the same batch is folded in."""

    claim_id: UUID
    investigation_id: UUID
    attempt: int | None
    ordinal: int
    payload: dict[str, Any]
    proposed_at: datetime
    retained_from: UUID | None = None
    state: str = "PENDING"
    gate: str | None = None
    reason: str | None = None
    decided_at: datetime | None = None


@dataclass(slots=True)
class Verdict:
    """What became of a claim submitted in an earlier batch."""

    claim_id: UUID
    state: str
    gate: str | None
    reason: str | None
    decided_at: datetime


@dataclass(slots=True)
class SourceCheck:
    """What became of one source of a candidate in one round."""

    claim_id: UUID
    round: int
    ordinal: int
    url: str
    status: str
    reason: str | None = None
    final_url: str | None = None
    page_hash: str | None = None
    size_bytes: int | None = None
    media_type: str | None = None
    fetched_at: datetime | None = None


@dataclass(slots=True)
class Review:
    """One verdict on a candidate, or that none could be had; what was said to the model is in the transcript.

    Shapes: `attempt` is 0, or the number of a review that failed for now.
    """

    id: UUID
    claim_id: UUID
    round: int
    outcome: str
    gate: str | None
    reason: str | None
    status_code: int | None
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_input_tokens: int | None
    reasoning_output_tokens: int | None
    cost_micro_usd: int | None
    transcript_hash: str | None
    decided_at: datetime
    attempt: int
    prompt_hash: str | None


@dataclass(slots=True)
class PromptRow:
    """Instructions, once by hash."""

    hash: str
    version: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Heard:
    """An attempt whose exchange with the model can be read now. Units: `at` is when its end was told."""

    attempt_id: UUID
    transcript_hash: str
    at: datetime


@dataclass(slots=True)
class Parked:
    """A fact that waits, or has waited."""

    stream: str
    sequence: int
    awaits: str | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything a batch does.

    Shapes: `metas` holds rows by table; `investigations` are facts left to `lifecycle`, which needs their state.
    """

    authors: tuple[Author, ...]
    posts: tuple[Post, ...]
    contents: tuple[Content, ...]
    pages: tuple[Page, ...]
    occurrence_sets: tuple[OccurrenceSet, ...]
    occurrences: tuple[Occurrence, ...]
    versions: tuple[Version, ...]
    headings: tuple[Heading, ...]
    seen: tuple[Seen, ...]
    metas: dict[str, tuple[dict[str, Any], ...]]
    failures: tuple[Failure, ...]
    anomalies: tuple[Anomaly, ...]
    candidates: tuple[Candidate, ...]
    verdicts: tuple[Verdict, ...]
    source_checks: tuple[SourceCheck, ...]
    reviews: tuple[Review, ...]
    review_prompts: tuple[PromptRow, ...]
    review_expenses: tuple[Expense, ...]
    investigations: tuple[Fact, ...]
