"""Credit, the models of steps, and what is deleted: states whose newest event counts."""

from __future__ import annotations

from typing import Final

from contracts.v1 import CreditPosted, LlmStageConfigured, RetentionPurged
from services.projector.facts.fact import Fact
from services.projector.projections.material import Material
from services.projector.projections.rules import rows_by
from services.projector.rows import jobs as rows
from services.projector.rows.table import Tables

_PERIOD: Final = rows.CREDIT_PERIODS.by()
_STAGE: Final = rows.STAGE_CONFIGS.by()
_PURGE: Final = rows.PURGES.by()

period_keys: Final = rows_by((_PERIOD, "period_id"))
stage_keys: Final = rows_by((_STAGE, "stage"))
purge_keys: Final = rows_by((_PURGE, "what"))


def post(tables: Tables, fact: Fact, event: CreditPosted, material: Material) -> None:
    """An entry of a period, and the state after it."""
    cause = event.job_id or event.adjustment_id
    assert cause is not None, "an entry without one is not decoded"
    period = tables[rows.CREDIT_PERIODS].get(event.period_id)
    if period is None or period.sequence < fact.sequence:
        tables[rows.CREDIT_PERIODS].put(
            rows.CreditPeriod(
                event.period_id,
                event.account_id,
                event.month,
                event.limit_micro_usd,
                event.hard,
                event.used_micro_usd,
                sum(each.micro_usd for each in event.open),
                len(event.open),
                event.extraction_day,
                event.extractions,
                fact.sequence,
                fact.at,
            )
        )
    tables[rows.CREDIT_ENTRIES].add(
        rows.CreditEntry(
            event.period_id, cause, event.entry, event.micro_usd, event.used_micro_usd, fact.sequence, fact.at
        )
    )


def configure(tables: Tables, fact: Fact, event: LlmStageConfigured, material: Material) -> None:
    """An operator chose the model of a step."""
    present = tables[rows.STAGE_CONFIGS].get(event.stage)
    if present is None or present.sequence < fact.sequence:
        tables[rows.STAGE_CONFIGS].put(
            rows.StageConfig(
                event.stage,
                event.provider,
                event.model,
                event.max_tokens,
                event.temperature,
                event.by,
                fact.at,
                fact.sequence,
            )
        )


def purge(tables: Tables, fact: Fact, event: RetentionPurged, material: Material) -> None:
    """Words expired up to an hour; the rows to purge are found in the database."""
    present = tables[rows.PURGES].get(event.what)
    if present is None or present.before < event.before:
        tables[rows.PURGES].put(rows.Purge(event.what, event.slot, event.before, fact.at))
