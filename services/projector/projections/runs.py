"""Attempts of runs: their model, usage and end. The first end of an attempt counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from contracts.v1 import RunAdvanced, RunFailed, RunRetryScheduled, RunStarted
from contracts.v1.parts import Usage
from contracts.v1.run import RunEnd
from services.projector.facts.fact import Fact
from services.projector.projections.material import Material
from services.projector.projections.rules import rows_by
from services.projector.rows.jobs import RUN_ATTEMPTS, RunAttempt
from services.projector.rows.table import RowKey, Tables

_OF_RUN: Final = RUN_ATTEMPTS.by("run_id")

keys: Final = rows_by((_OF_RUN, "run_id"))


def end_keys(end: RunEnd | None) -> Sequence[RowKey]:
    """The attempts of the run that ended, if the event ends one."""
    return () if end is None else ((_OF_RUN, end.run_id),)


def start(tables: Tables, fact: Fact, event: RunStarted, material: Material) -> None:
    """An attempt begins."""
    given = {name: value for name, value in vars(event).items() if name not in ("follows", "prompt_sha256")}
    tables[RUN_ATTEMPTS].add(RunAttempt(**given, prompt_hash=event.prompt_sha256, started_at=fact.at))


def advance(tables: Tables, fact: Fact, event: RunAdvanced, material: Material) -> None:
    """More was exchanged with the model."""
    row = tables[RUN_ATTEMPTS].edit((event.run_id, event.attempt))
    if row is not None and row.outcome is None and event.calls > row.calls:
        row.calls = event.calls
        _use(row, event.usage)


def fail(tables: Tables, fact: Fact, event: RunRetryScheduled | RunFailed, material: Material) -> None:
    """An attempt failed, for now or for good; a run that fails before its first attempt has no row."""
    row = tables[RUN_ATTEMPTS].edit((event.run_id, event.attempt))
    if row is None or row.outcome is not None:
        return
    row.outcome, row.completed_at, row.failure, row.reason = "FAILED", fact.at, event.failure, event.reason
    row.status_code, row.error_name = event.status_code, event.error_name
    if isinstance(event, RunRetryScheduled):
        row.retry_at = event.retry_at
    if event.usage is not None:
        _use(row, event.usage)


def end(tables: Tables, fact: Fact, end: RunEnd | None) -> None:
    """An attempt succeeded."""
    row = None if end is None else tables[RUN_ATTEMPTS].edit((end.run_id, end.attempt))
    if end is None or row is None or row.outcome is not None:
        return
    row.outcome, row.completed_at, row.answered_by = "SUCCEEDED", fact.at, end.model
    _use(row, end.usage)


def _use(row: RunAttempt, usage: Usage) -> None:
    vars(row).update(vars(usage))
