"""Attempts: cost, transcript, error and end, even if they no longer decide about their investigation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final
from uuid import UUID

from contracts.v1 import InvestigationAdvanced, InvestigationDrafted, InvestigationFailed, InvestigationRetryScheduled
from contracts.v1 import InvestigationStarted as Started
from contracts.v1.ids import ID_NAMESPACE, derive_uuid
from contracts.v1.parts import TextRef, Usage
from services.projector.facts.fact import Fact
from services.projector.projections import expenses
from services.projector.projections.material import Material
from services.projector.rows import attempts as rows
from services.projector.rows.investigations import INVESTIGATIONS
from services.projector.rows.table import RowKey, Tables

_ATTEMPT: Final = rows.ATTEMPTS.by()
_USAGE: Final = rows.USAGES.by()

Ended = InvestigationDrafted | InvestigationRetryScheduled | InvestigationFailed


@lru_cache(4096)
def attempt_id(investigation: UUID, number: int) -> UUID:
    """The id of an attempt, which derives from its investigation and number."""
    return derive_uuid(ID_NAMESPACE, f"attempt\x1f{investigation}\x1f{number}")


def start_keys(event: Started) -> Sequence[RowKey]:
    """The row of the attempt that begins."""
    return ((_ATTEMPT, attempt_id(event.investigation_id, event.attempt)),)


def usage_keys(event: InvestigationAdvanced | Ended) -> Sequence[RowKey]:
    """The rows of the attempt that a fact is about, with those of its usage."""
    id_ = attempt_id(event.investigation_id, event.attempt)
    return (_ATTEMPT, id_), (expenses.EXPENSE, id_), (_USAGE, id_)


def start(tables: Tables, fact: Fact, event: Started, round_: int) -> None:
    """An attempt started."""
    tables[rows.ATTEMPTS].add(
        rows.Attempt(
            id=attempt_id(event.investigation_id, event.attempt),
            investigation_id=event.investigation_id,
            attempt_number=event.attempt,
            round=round_,
            prompt_hash=event.prompt.sha256,
            content_hash=event.input.content.sha256,
            request_model=event.model.model,
            started_at=fact.at,
        )
    )


def advance(tables: Tables, fact: Fact, event: InvestigationAdvanced) -> None:
    """An attempt reached a checkpoint."""
    if (attempt := _known(tables, event)) is not None:
        expenses.put_attempt(tables, attempt, event.usage, fact.at)


def draft(tables: Tables, fact: Fact, event: InvestigationDrafted, material: Material) -> None:
    """An attempt ended with its draft."""
    if (attempt := _known(tables, event)) is not None:
        _spend(tables, attempt, event.usage, fact.at)
        attempt.outcome, attempt.completed_at = "SUCCEEDED", fact.at
        attempt.response_model_version = event.model.version or attempt.response_model_version
        _record(tables, attempt, event.transcript, material, fact.at)


def fail(
    tables: Tables, fact: Fact, event: InvestigationRetryScheduled | InvestigationFailed, material: Material
) -> None:
    """An attempt failed, whether another one follows or not."""
    if (attempt := _known(tables, event)) is not None:
        if event.usage is not None:
            _spend(tables, attempt, event.usage, fact.at)
        name = event.error_name or event.failure
        tables[rows.ERRORS].add(rows.AttemptError(attempt.id, name, event.reason, event.status_code, fact.at))
        attempt.outcome, attempt.completed_at = "FAILED", fact.at
        _record(tables, attempt, event.transcript, material, fact.at)


def _known(tables: Tables, event: InvestigationAdvanced | Ended) -> rows.Attempt | None:
    state = tables[INVESTIGATIONS].get(event.investigation_id)
    if state is None or event.attempt > state.attempt_count:
        return None
    return tables[rows.ATTEMPTS].edit(attempt_id(event.investigation_id, event.attempt))


def _spend(tables: Tables, attempt: rows.Attempt, used: Usage, at: datetime) -> None:
    """Store the total usage of an attempt."""
    tables[rows.USAGES].put(rows.AttemptUsage(attempt_id=attempt.id, created_at=at, **vars(used)))
    expenses.put_attempt(tables, attempt, used, at)


def _record(
    tables: Tables, attempt: rows.Attempt, transcript: TextRef | None, material: Material, at: datetime
) -> None:
    """The first transcript of an attempt is its record."""
    if transcript is None or attempt.transcript_hash is not None:
        return
    exchange = material.exchanges[transcript.sha256]
    for table, row in exchange.parts(attempt.id, transcript.sha256, at):
        tables[table].add(row)
    model, version = attempt.request_model, attempt.response_model_version
    attempt.set_transcript(transcript.sha256, exchange)
    attempt.request_model = attempt.request_model or model
    attempt.response_model_version = version or attempt.response_model_version
