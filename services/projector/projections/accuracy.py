"""Variants, breakers and controls: the newest event of each counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from contracts.v1 import BreakerChanged, ControlCommitted, ControlOpened, InvestigationRequested, VariantChanged
from services.projector.facts.fact import Fact
from services.projector.projections.material import Material
from services.projector.projections.rules import rows_by
from services.projector.rows.accuracy import (
    BREAKERS,
    CONTROL_BATCHES,
    CONTROL_RUNS,
    VARIANTS,
    Breaker,
    ControlBatch,
    ControlRun,
    Variant,
)
from services.projector.rows.table import RowKey, Tables

_VARIANT: Final = VARIANTS.by()
_BREAKER: Final = BREAKERS.by()
_BATCH: Final = CONTROL_BATCHES.by()
_RUN: Final = CONTROL_RUNS.by()
_RUNS_OF: Final = CONTROL_RUNS.by("batch_id")

variant_keys: Final = rows_by((_VARIANT, "variant"))
breaker_keys: Final = rows_by((_BREAKER, "scope"))


def commit_keys(event: ControlCommitted) -> Sequence[RowKey]:
    """The list's row; none for a set of cases for the bench."""
    return () if event.holds is not None else ((_BATCH, event.batch_id),)


open_keys: Final = rows_by((_BATCH, "batch_id"), (_RUNS_OF, "batch_id"))


def run_keys(event: InvestigationRequested) -> Sequence[RowKey]:
    """The list that a control is from, and its run."""
    if event.origin != "CONTROL":
        return ()
    return (_BATCH, event.origin_id), (_RUN, event.investigation_id)


def change_variant(tables: Tables, fact: Fact, event: VariantChanged, material: Material) -> None:
    """The volume of a variant changed."""
    known = tables[VARIANTS].get(event.variant)
    if known is not None and known.sequence >= fact.sequence:
        return
    tables[VARIANTS].put(
        Variant(
            event.variant,
            event.parts.model_dump(mode="json"),
            event.state,
            event.quota,
            event.step,
            event.clean,
            event.after_wrong,
            event.gate_tier,
            event.since,
            event.through,
            event.why,
            event.by,
            fact.at if known is None else known.announced_at,
            fact.at,
            fact.sequence,
        )
    )


def change_breaker(tables: Tables, fact: Fact, event: BreakerChanged, material: Material) -> None:
    """A breaker opened, opened further, began its trial, or closed."""
    known = tables[BREAKERS].get(event.scope)
    if known is not None and known.sequence >= fact.sequence:
        return
    is_new = known is None or known.state == "CLOSED"
    opened_at = fact.at if known is None or is_new else known.opened_at
    triggers = [] if known is None or (is_new and event.state == "OPEN") else [*known.triggers]
    if event.trigger is not None:
        triggers.append({"trigger": event.trigger, "numbers": event.numbers, "at": fact.at.isoformat()})
    if event.state == "OPEN":
        since, since_sequence = (None, 0) if known is None else (known.since, known.since_sequence)
    else:
        since, since_sequence = fact.at, fact.sequence
    tables[BREAKERS].put(
        Breaker(
            event.scope,
            event.state,
            triggers,
            event.cause,
            event.by,
            event.quota,
            opened_at,
            since,
            since_sequence,
            fact.at,
            fact.sequence,
        )
    )


def commit(tables: Tables, fact: Fact, event: ControlCommitted, material: Material) -> None:
    """A list was committed to."""
    if event.holds is not None:
        return
    tables[CONTROL_BATCHES].add(ControlBatch(event.batch_id, event.commitment, event.size, event.closes_at, fact.at))


def request(tables: Tables, fact: Fact, event: InvestigationRequested) -> None:
    """A run was requested; it is a control if its list was committed to before and is neither closed nor open."""
    batch = tables[CONTROL_BATCHES].get(event.origin_id) if event.origin == "CONTROL" else None
    if batch is not None and batch.opened_at is None and fact.at <= batch.closes_at:
        tables[CONTROL_RUNS].add(ControlRun(event.investigation_id, batch.id, event.version_id, fact.at))


def open_batch(tables: Tables, fact: Fact, event: ControlOpened, material: Material) -> None:
    """A list was published; its posts that were erased have no row."""
    batch = tables[CONTROL_BATCHES].get(event.batch_id)
    if batch is None or batch.opened_at is not None:
        return
    tables[CONTROL_BATCHES].put(replace(batch, opened_at=fact.at))
    by_version = {each.version_id: each for each in event.controls}
    for run in tables[CONTROL_RUNS].current:
        if run.batch_id == batch.id and (opened := by_version.get(run.post_version_id)) is not None:
            tables[CONTROL_RUNS].put(replace(run, salt=opened.salt, outcome=opened.outcome))
