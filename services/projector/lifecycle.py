"""The state of an investigation, folded over its facts in the order of the log.

How far it has come is decided by `lifecycle.progress`. The order of facts is the log's, so every replica and every
rebuild arrives at the same row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

from contracts.v1 import (
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
)
from contracts.v1.parts import ModelName
from services.projector import attempts
from services.projector.changes import PromptRow
from services.projector.facts import Fact
from services.projector.inputs import freeze
from services.projector.investigations import (
    Attempt,
    AttemptEnd,
    ClaimRow,
    Investigation,
    Lease,
    Lifecycles,
    Result,
    Round,
    SourceRow,
)


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


def without_end(states: Mapping[UUID, Investigation], fact: Fact) -> Lifecycles:
    """What is left of an investigation whose end was refused: it has failed, so that nobody waits for it."""
    lives = Lifecycles(dict(states))
    event = fact.event
    if isinstance(event, InvestigationCompleted | InvestigationFailed):
        state = lives.states.get(event.investigation_id)
        if state is not None and state.fail(state.round, fact.at, "NON_RETRYABLE", "the result could not be stored"):
            _touch(lives, state, fact.at)
    return lives


def _open(lives: Lifecycles, event: InvestigationRequested | InvestigationStarted, at: datetime) -> Investigation:
    state = lives.states.get(event.investigation_id)
    if state is None:
        state = Investigation(
            id=event.investigation_id,
            post_version_id=event.version_id,
            analysis=event.analysis,
            queued_at=at,
            created_at=at,
            updated_at=at,
        )
        lives.states[state.id] = state
    return state


def _touch(lives: Lifecycles, state: Investigation, at: datetime) -> None:
    state.updated_at = at
    lives.changed[state.id] = state
    if state.status != "PROCESSING":
        lives.leases.pop(state.id, None)


def _round(lives: Lifecycles, investigation: UUID, number: int) -> Round:
    return lives.rounds.setdefault((investigation, number), Round(investigation, number))


def _asked(state: Investigation, model: ModelName) -> None:
    state.provider, state.model = model.provider, model.model
    state.model_version = model.version or state.model_version


def _requested(lives: Lifecycles, fact: Fact, event: InvestigationRequested) -> None:
    state = _open(lives, event, fact.at)
    asked = _round(lives, state.id, event.round)
    if asked.requested_at is None:
        asked.requested_by, asked.key_source, asked.requested_at = event.requested_by, event.key_source, fact.at
    newest = state.requested_sequence is None or event.round > state.round
    if not state.request(event.round, fact.at):
        return
    if newest:
        state.requested_by, state.key_source = event.requested_by, event.key_source
    state.requested_sequence = fact.sequence
    _touch(lives, state, fact.at)


def _started(lives: Lifecycles, fact: Fact, event: InvestigationStarted, texts: Mapping[str, str]) -> None:
    state = _open(lives, event, fact.at)
    number = attempts.attempt_id(state.id, event.attempt)
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
        freeze(lives, state, event, fact.at, texts)
    begun = state.start(event.attempt)
    if begun:
        lives.leases[state.id] = Lease(state.id, event.worker, event.attempt, fact.at)
    if first or begun:
        prompt = event.prompt
        lives.prompts.setdefault(prompt.sha256, PromptRow(prompt.sha256, prompt.version, prompt.text, fact.at))
        state.prompt_hash, state.attempt_count = prompt.sha256, event.attempt
        _asked(state, event.model)
        _touch(lives, state, fact.at)


def _advanced(lives: Lifecycles, fact: Fact, event: InvestigationAdvanced) -> None:
    state = lives.states.get(event.investigation_id)
    if state is not None and event.attempt <= state.attempt_count:
        attempts.paid(lives, state, attempts.attempt_id(event.investigation_id, event.attempt), event.usage, fact.at)


def _drafted(lives: Lifecycles, fact: Fact, event: InvestigationDrafted) -> None:
    state = lives.states.get(event.investigation_id)
    if state is None or event.attempt > state.attempt_count:
        return
    number = attempts.attempt_id(event.investigation_id, event.attempt)
    attempts.spent(lives, state, number, event.usage, fact.at)
    attempts.ended(lives, AttemptEnd(number, "SUCCEEDED", fact.at, event.model.version))
    attempts.heard(lives, number, event.transcript, fact.at)
    if state.is_open:
        _asked(state, event.model)
        _touch(lives, state, fact.at)


def _retry(lives: Lifecycles, fact: Fact, event: InvestigationRetryScheduled) -> None:
    attempts.failed(lives, fact, event)
    state = lives.states.get(event.investigation_id)
    if state is not None and state.schedule_retry(event.attempt, event.retry_at):
        _touch(lives, state, fact.at)


def _completed(lives: Lifecycles, fact: Fact, event: InvestigationCompleted) -> None:
    state = lives.states.get(event.investigation_id)
    if state is None or state.input_id is None or not state.complete(fact.at):
        return
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
        attempts.failed(lives, fact, event)
    failed = _round(lives, state.id, event.round)
    failed.fault = failed.fault or event.fault
    if state.fail(event.round, fact.at, event.failure, event.reason):
        _touch(lives, state, fact.at)
