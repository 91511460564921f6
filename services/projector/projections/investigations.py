"""The state of an investigation, folded over its facts in the order of the log.

How far it has come is decided by `lifecycle.progress`. The order of facts is the log's, so every replica and every
rebuild arrives at the same row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
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
from contracts.v1.gates import GatePolicy
from contracts.v1.ids import investigation_id
from contracts.v1.parts import ModelName, Origin
from contracts.v1.variant import variant_sha256
from services.projector.facts.fact import Fact
from services.projector.projections import accuracy, attempts, prompts
from services.projector.projections.inputs import freeze
from services.projector.projections.material import Material
from services.projector.projections.versions import VERSION
from services.projector.rows import investigations as rows
from services.projector.rows.table import RowKey, Tables

INVESTIGATION: Final = rows.INVESTIGATIONS.by()
_LEASE: Final = rows.LEASES.by()
_ROUND: Final = rows.ROUNDS.by()
_PROVENANCE: Final = rows.PROVENANCES.by()

InvestigationEvent = (
    InvestigationRequested
    | InvestigationStarted
    | InvestigationAdvanced
    | InvestigationDrafted
    | InvestigationRetryScheduled
    | InvestigationCompleted
    | InvestigationFailed
)


def request_keys(event: InvestigationRequested) -> Sequence[RowKey]:
    """The rows that a request is about."""
    round_ = (_ROUND, (event.investigation_id, event.round))
    return (VERSION, event.version_id), *_state_keys(event), round_, *accuracy.run_keys(event)


def start_keys(event: InvestigationStarted) -> Sequence[RowKey]:
    """The rows that the beginning of an attempt is about."""
    return (
        (VERSION, event.version_id),
        *_state_keys(event),
        *attempts.start_keys(event),
        *prompts.keys(event.prompt),
    )


def attempt_keys(event: InvestigationAdvanced | InvestigationDrafted | InvestigationRetryScheduled) -> Sequence[RowKey]:
    """The rows that the progress of an attempt is about."""
    return *_state_keys(event), *attempts.usage_keys(event)


def completion_keys(event: InvestigationCompleted) -> Sequence[RowKey]:
    """The rows that a result is about."""
    return *_state_keys(event), (_PROVENANCE, event.investigation_id)


def failure_keys(event: InvestigationFailed) -> Sequence[RowKey]:
    """The rows that the failure of a round is about."""
    round_ = (_ROUND, (event.investigation_id, event.round))
    return *_state_keys(event), round_, *attempts.usage_keys(event)


def request(tables: Tables, fact: Fact, event: InvestigationRequested, material: Material) -> None:
    """A run was requested, for the first time or again."""
    state = _get(tables, event) or _new(event, fact.at, event.origin, event.origin_id)
    round_ = _round(tables, event)
    if round_.requested_at is None:
        by, key = event.requested_by, event.key_source
        tables[rows.ROUNDS].put(replace(round_, requested_by=by, key_source=key, requested_at=fact.at))
    accuracy.request(tables, fact, event)
    newest = state.requested_sequence is None or event.round > state.round
    if not state.request(event.round, fact.at):
        return
    if newest:
        state.requested_by, state.key_source = event.requested_by, event.key_source
    state.requested_sequence = fact.sequence
    _put(tables, state, fact.at)


def start(tables: Tables, fact: Fact, event: InvestigationStarted, material: Material) -> None:
    """An attempt begins; the first one freezes the input."""
    state = _get(tables, event)
    if state is None:
        if event.investigation_id != investigation_id(event.version_id, event.analysis):
            return  # its request was refused, and no other fact has its origin
        state = _new(event, fact.at, "ORIGINAL", None)
    attempts.start(tables, fact, event, state.round)
    prompts.add(tables, event.prompt, fact.at)
    first = state.input_id is None
    if first:
        freeze(tables, state, event, fact.at, material)
    begun = state.start(event.attempt)
    if begun:
        tables[rows.LEASES].put(rows.Lease(state.id, event.worker, event.attempt, fact.at))
    if first or begun:
        state.prompt_hash, state.attempt_count = event.prompt.sha256, event.attempt
        state.rules = event.rules
        state.gates = None if event.gates is None else event.gates.model_dump(mode="json")
        _set_model(state, event.model)
        _put(tables, state, fact.at)


def advance(tables: Tables, fact: Fact, event: InvestigationAdvanced, material: Material) -> None:
    """An attempt reached a checkpoint."""
    attempts.advance(tables, fact, event)


def draft(tables: Tables, fact: Fact, event: InvestigationDrafted, material: Material) -> None:
    """An attempt ended with its draft; its claims are under review."""
    state = _get(tables, event)
    attempts.draft(tables, fact, event, material)
    if state is not None and event.attempt <= state.attempt_count and state.is_open:
        _set_model(state, event.model)
        _put(tables, state, fact.at)


def retry(tables: Tables, fact: Fact, event: InvestigationRetryScheduled, material: Material) -> None:
    """An attempt failed for now."""
    attempts.fail(tables, fact, event, material)
    state = _get(tables, event)
    if state is not None and state.schedule_retry(event.attempt, event.retry_at):
        _put(tables, state, fact.at)


def complete(tables: Tables, fact: Fact, event: InvestigationCompleted, material: Material) -> None:
    """An investigation was completed."""
    state, frozen = _get(tables, event), tables[rows.PROVENANCES].get(event.investigation_id)
    if state is None or frozen is None or not state.complete(fact.at):
        return
    _set_model(state, event.model)
    _put(tables, state, fact.at)
    if state.origin == "CONTROL":
        return  # a control, whose answer is known, is not shown to readers
    for place, claim in enumerate(event.claims):
        payload = claim.payload
        tables[rows.CLAIMS].add(
            rows.Claim(
                claim.claim_id,
                state.id,
                place,
                payload.text,
                payload.context,
                payload.summary,
                payload.reasoning,
                fact.at,
            )
        )
        for rank, source in enumerate(payload.sources):
            tables[rows.SOURCES].add(
                rows.Source(claim.claim_id, rank, source.url, source.title, source.snippet, fact.at)
            )
    tables[rows.RESULTS].add(
        rows.Result(
            state.id,
            state.post_version_id,
            state.analysis,
            frozen.provenance,
            fact.at,
            len(event.claims),
            [{"id": str(claim.claim_id), **claim.payload.model_dump()} for claim in event.claims],
            variant=state.variant,
        )
    )
    tables.listable.setdefault(state.post_version_id)


def fail(tables: Tables, fact: Fact, event: InvestigationFailed, material: Material) -> None:
    """A round failed."""
    state = _get(tables, event)
    if state is None:
        return
    if event.attempt > 0:
        attempts.fail(tables, fact, event, material)
    round_ = _round(tables, event)
    tables[rows.ROUNDS].put(replace(round_, fault=round_.fault or event.fault))
    if state.fail(event.round, fact.at, event.failure, event.reason):
        _put(tables, state, fact.at)


def fail_visibly(tables: Tables, fact: Fact) -> None:
    """Fail an investigation whose end was refused, so that it does not stay open."""
    event = fact.event
    if isinstance(event, InvestigationCompleted | InvestigationFailed):
        state = _get(tables, event)
        if state is not None and state.fail(state.round, fact.at, "NON_RETRYABLE", "the result could not be stored"):
            _put(tables, state, fact.at)


def _state_keys(event: InvestigationEvent) -> Sequence[RowKey]:
    return (INVESTIGATION, event.investigation_id), (_LEASE, event.investigation_id)


def _get(tables: Tables, event: InvestigationEvent) -> rows.Investigation | None:
    return tables[rows.INVESTIGATIONS].edit(event.investigation_id)


def _new(
    event: InvestigationRequested | InvestigationStarted, at: datetime, origin: Origin, origin_id: UUID | None
) -> rows.Investigation:
    return rows.Investigation(
        id=event.investigation_id,
        post_version_id=event.version_id,
        analysis=event.analysis,
        origin=origin,
        origin_id=origin_id,
        queued_at=at,
        created_at=at,
        updated_at=at,
    )


def _put(tables: Tables, state: rows.Investigation, at: datetime) -> None:
    state.updated_at = at
    tables[rows.INVESTIGATIONS].put(state)
    if state.status != "PROCESSING":
        tables[rows.LEASES].remove(state.id)


def _round(tables: Tables, event: InvestigationRequested | InvestigationFailed) -> rows.Round:
    key = (event.investigation_id, event.round)
    return tables[rows.ROUNDS].get(key) or rows.Round(*key)


def _set_model(state: rows.Investigation, model: ModelName) -> None:
    state.provider, state.model = model.provider, model.model
    state.model_version = model.version or state.model_version
    if state.prompt_hash is not None:
        gates = None if state.gates is None else GatePolicy.model_validate(state.gates)
        state.variant = variant_sha256(state.prompt_hash, model.provider, model.model, state.rules, gates)
