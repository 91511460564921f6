"""The state of an investigation, folded over its facts in the order of the log.

The first ending wins: what comes after COMPLETE changes nothing, and after FAILED only a new request does. That order
is the log's, so every replica and every rebuild arrives at the same row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from contracts.v1 import (
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
)
from contracts.v1.ids import ID_NAMESPACE
from contracts.v1.parts import ModelName, Picture, TextRef, Usage
from services.projector.changes import Heard, PromptRow
from services.projector.expenses import Expense, cost_something
from services.projector.facts import Fact


@dataclass(slots=True)
class Investigation:
    """A row of `investigation`; parent and diff are set only by the batch that learns them."""

    id: UUID
    post_version_id: UUID
    analysis: str
    queued_at: datetime
    created_at: datetime
    updated_at: datetime
    status: str = "PENDING"
    input_id: UUID | None = None
    parent_investigation_id: UUID | None = None
    content_diff: str | None = None
    prompt_hash: str | None = None
    provider: str | None = None
    model: str | None = None
    model_version: str | None = None
    checked_at: datetime | None = None
    retry_after: datetime | None = None
    failed_at: datetime | None = None
    failure: str | None = None
    failure_reason: str | None = None
    round: int = 1
    attempt_count: int = 0
    requested_by: str | None = None
    key_source: str | None = None
    requested_sequence: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether it may still end."""
        return self.status in ("PENDING", "PROCESSING")


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


def attempt_id(investigation: UUID, number: int) -> UUID:
    """An attempt: its investigation and its number."""
    return uuid5(ID_NAMESPACE, f"attempt\x1f{investigation}\x1f{number}")


def fold(states: Mapping[UUID, Investigation], facts: Iterable[Fact], texts: Mapping[str, str]) -> Lifecycles:
    """Apply the facts of investigations to their states.

    Shapes: `states` holds every investigation the facts speak of that the tables know; `texts` as in `project.plan`.
    """
    lives = Lifecycles(dict(states))
    for fact in facts:
        match fact.event:
            case InvestigationRequested() as event:
                _requested(lives, fact, event)
            case InvestigationStarted() as event:
                _started(lives, fact, event, texts)
            case InvestigationAdvanced() as event:
                _advanced(lives, fact, event)
            case InvestigationDrafted() as event:
                _drafted(lives, fact, event)
            case InvestigationRetryScheduled() as event:
                _retry(lives, fact, event)
            case InvestigationCompleted() as event:
                _completed(lives, fact, event)
            case InvestigationFailed() as event:
                _failed(lives, fact, event)
    return lives


def _open(lives: Lifecycles, event: InvestigationRequested | InvestigationStarted, at: datetime) -> Investigation:
    state = lives.states.get(event.investigation_id)
    if state is None:
        state = Investigation(event.investigation_id, event.version_id, event.analysis, at, at, at)
        lives.states[state.id] = state
    return state


def _touch(lives: Lifecycles, state: Investigation, at: datetime) -> None:
    state.updated_at = at
    lives.changed[state.id] = state
    if state.status != "PROCESSING":
        lives.leases.pop(state.id, None)


def _round(lives: Lifecycles, investigation: UUID, number: int) -> Round:
    return lives.rounds.setdefault((investigation, number), Round(investigation, number))


def _requested(lives: Lifecycles, fact: Fact, event: InvestigationRequested) -> None:
    state = _open(lives, event, fact.at)
    asked = _round(lives, state.id, event.round)
    if asked.requested_at is None:
        asked.requested_by, asked.key_source, asked.requested_at = event.requested_by, event.key_source, fact.at
    if state.status == "COMPLETE":
        return
    if state.status == "FAILED" and event.round > state.round:
        state.status, state.queued_at, state.retry_after = "PENDING", fact.at, None
        state.failed_at = state.failure = state.failure_reason = None
    if state.requested_sequence is None or event.round > state.round:
        state.requested_by, state.key_source = event.requested_by, event.key_source
    state.round = max(state.round, event.round)
    state.requested_sequence = fact.sequence
    _touch(lives, state, fact.at)


def _started(lives: Lifecycles, fact: Fact, event: InvestigationStarted, texts: Mapping[str, str]) -> None:
    state = _open(lives, event, fact.at)
    number = attempt_id(state.id, event.attempt)
    lives.attempts.setdefault(
        number,
        Attempt(
            number,
            state.id,
            event.attempt,
            state.round,
            event.prompt.sha256,
            event.input.content.sha256,
            event.model.model,
            fact.at,
        ),
    )
    first = state.input_id is None
    if first:
        _freeze(lives, state, event, fact.at, texts)
    if first or (state.is_open and event.attempt >= state.attempt_count):
        prompt = event.prompt
        lives.prompts.setdefault(prompt.sha256, PromptRow(prompt.sha256, prompt.version, prompt.text, fact.at))
        state.prompt_hash, state.attempt_count = prompt.sha256, event.attempt
        _asked(state, event.model)
        if state.is_open:
            state.status, state.retry_after = "PROCESSING", None
            lives.leases[state.id] = Lease(state.id, event.worker, event.attempt, fact.at)
        _touch(lives, state, fact.at)


def _freeze(
    lives: Lifecycles, state: Investigation, event: InvestigationStarted, at: datetime, texts: Mapping[str, str]
) -> None:
    given = event.input
    markdown = texts.get(given.markdown.sha256) if given.markdown else None
    source = given.markdown_source if markdown is not None else "NONE"
    if source == "NONE":
        markdown = None
    renderer = (given.markdown_renderer_version or "unknown") if markdown is not None else None
    lives.inputs[state.id] = Input(state.id, given.provenance, given.content.sha256, source, markdown, renderer, at)
    state.input_id = state.id
    _pictures(lives, state.id, given.pictures, at)
    diff = texts.get(given.content_diff.sha256) if given.content_diff else None
    if given.parent_investigation_id is not None and diff is not None:
        state.parent_investigation_id, state.content_diff = given.parent_investigation_id, diff


def _pictures(lives: Lifecycles, investigation: UUID, pictures: Iterable[Picture], at: datetime) -> None:
    order = 0
    for picture in pictures:
        blob = picture.blob
        if blob is not None:
            key = f"sha256/{blob.sha256}"
            lives.image_blobs.setdefault(
                blob.sha256, ImageBlob(blob.sha256, key, picture.source_url, blob.media_type, blob.size_bytes, at)
            )
            lives.images.append(InvestigationImage(investigation, blob.sha256, order))
            order += 1
        lives.picture_fates.append(
            PictureFate(
                investigation,
                picture.original_index,
                picture.source_url,
                picture.status,
                blob.sha256 if blob is not None else None,
                picture.same_as,
                picture.reason,
            )
        )


def _spent(lives: Lifecycles, state: Investigation, attempt: UUID, usage: Usage, at: datetime) -> None:
    lives.usages[attempt] = UsageRow(
        attempt,
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
        usage.cached_input_tokens,
        usage.reasoning_output_tokens,
        usage.cost_micro_usd,
        at,
    )
    _paid(lives, state, attempt, usage, at)


def _paid(lives: Lifecycles, state: Investigation, attempt: UUID, usage: Usage, at: datetime) -> None:
    """Count what an attempt has cost as far as is known; it is told again, and more, until the attempt ends."""
    if cost_something(usage):
        expense = Expense(attempt, state.id, state.round, "INVESTIGATION", usage.total_tokens, usage.cost_micro_usd, at)
        lives.attempt_expenses[attempt] = expense.or_more(lives.attempt_expenses.get(attempt))


def _asked(state: Investigation, model: ModelName) -> None:
    state.provider, state.model = model.provider, model.model
    state.model_version = model.version or state.model_version


def _advanced(lives: Lifecycles, fact: Fact, event: InvestigationAdvanced) -> None:
    state = lives.states.get(event.investigation_id)
    if state is not None and event.attempt <= state.attempt_count:
        _paid(lives, state, attempt_id(event.investigation_id, event.attempt), event.usage, fact.at)


def _drafted(lives: Lifecycles, fact: Fact, event: InvestigationDrafted) -> None:
    state = lives.states.get(event.investigation_id)
    if state is None or event.attempt > state.attempt_count:
        return
    number = attempt_id(event.investigation_id, event.attempt)
    _spent(lives, state, number, event.usage, fact.at)
    _end(lives, AttemptEnd(number, "SUCCEEDED", fact.at, event.model.version))
    _heard(lives, number, event.transcript, fact.at)
    if state.is_open:
        _asked(state, event.model)
        _touch(lives, state, fact.at)


def _retry(lives: Lifecycles, fact: Fact, event: InvestigationRetryScheduled) -> None:
    _fail_attempt(lives, fact, event)
    state = lives.states.get(event.investigation_id)
    if state is not None and state.is_open and event.attempt >= state.attempt_count:
        state.status, state.retry_after = "PENDING", event.retry_at
        _touch(lives, state, fact.at)


def _completed(lives: Lifecycles, fact: Fact, event: InvestigationCompleted) -> None:
    state = lives.states.get(event.investigation_id)
    if state is None or state.input_id is None or not state.is_open:
        return
    state.status, state.checked_at, state.retry_after = "COMPLETE", fact.at, None
    _asked(state, event.model)
    _touch(lives, state, fact.at)
    for place, claim in enumerate(event.claims):
        said = claim.payload
        lives.claims.append(
            ClaimRow(claim.claim_id, state.id, place, said.text, said.context, said.summary, said.reasoning, fact.at)
        )
        lives.sources += (
            SourceRow(claim.claim_id, rank, source.url, source.title, source.snippet, fact.at)
            for rank, source in enumerate(said.sources)
        )
    lives.results.append(
        Result(
            state.id,
            state.post_version_id,
            state.analysis,
            fact.at,
            len(event.claims),
            [{"id": str(claim.claim_id), **claim.payload.model_dump()} for claim in event.claims],
        )
    )


def _failed(lives: Lifecycles, fact: Fact, event: InvestigationFailed) -> None:
    state = lives.states.get(event.investigation_id)
    if state is None:
        return
    if event.attempt > 0:
        _fail_attempt(lives, fact, event)
    failed = _round(lives, state.id, event.round)
    failed.fault = failed.fault or event.fault
    if state.is_open and event.round >= state.round:
        state.status, state.round, state.retry_after = "FAILED", event.round, None
        state.failed_at, state.failure, state.failure_reason = fact.at, event.failure, event.reason
        _touch(lives, state, fact.at)


def _fail_attempt(lives: Lifecycles, fact: Fact, event: InvestigationRetryScheduled | InvestigationFailed) -> None:
    state = lives.states.get(event.investigation_id)
    if state is None or event.attempt > state.attempt_count:
        return
    number = attempt_id(event.investigation_id, event.attempt)
    if event.usage is not None:
        _spent(lives, state, number, event.usage, fact.at)
    name = event.error_name or event.failure
    lives.errors.setdefault(number, ErrorRow(number, name, event.reason, event.status_code, fact.at))
    _end(lives, AttemptEnd(number, "FAILED", fact.at))
    _heard(lives, number, event.transcript, fact.at)


def _heard(lives: Lifecycles, attempt: UUID, transcript: TextRef | None, at: datetime) -> None:
    """The first transcript of an attempt is its record."""
    if transcript is not None:
        lives.heard.setdefault(attempt, Heard(attempt, transcript.sha256, at))


def _end(lives: Lifecycles, end: AttemptEnd) -> None:
    earlier = lives.attempt_ends.get(end.id)
    if earlier is not None:
        end.response_model_version = end.response_model_version or earlier.response_model_version
    lives.attempt_ends[end.id] = end
