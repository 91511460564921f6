"""Deletes words from the tables: those that a purge covers, and those of analyses whose quotes were withdrawn.

The result does not depend on the order of the facts: words are deleted whether they or the purge come last.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from uuid import UUID

from services.projector.store.load import Connection

_PURGED: Final = "kept_until <= (SELECT max(before) FROM purge)"
_OF_ANALYSES: Final = f"""
    WITH gone AS (
        UPDATE analysis SET kept_until = NULL WHERE id IN (
            SELECT id FROM analysis WHERE {_PURGED} UNION ALL SELECT unnest(%s::uuid[]))
        RETURNING id
    ), sources AS (
        DELETE FROM evidence WHERE analysis_id IN (SELECT id FROM gone)
    ), readings AS (
        UPDATE scenario SET description = NULL, assumptions = NULL WHERE analysis_id IN (SELECT id FROM gone)
        RETURNING id
    )
    UPDATE verdict SET explanation = NULL, uncertainty_factors = NULL WHERE scenario_id IN (SELECT id FROM readings)"""  # noqa: S608 (our words)
_OF_ASSERTIONS: Final = f"UPDATE assertion SET canonical = NULL, kept_until = NULL WHERE {_PURGED}"  # noqa: S608 (our words)
_OF_SAMPLES: Final = f"DELETE FROM assertion_sample WHERE {_PURGED}"  # noqa: S608 (our words)

_OF_CATALOGUE: Final = (
    f"""UPDATE entry SET wording = published_wording, domain = published_domain, summary = NULL, words_until = NULL
        WHERE {_PURGED.replace("kept_until", "words_until")}""",  # noqa: S608 (our words)
    f"""UPDATE edit SET reason = NULL, before_state = NULL, after_state = NULL, kept_until = NULL
        WHERE {_PURGED}""",  # noqa: S608 (our words)
    f"UPDATE flag SET description = NULL, kept_until = NULL WHERE {_PURGED}",  # noqa: S608 (our words)
    f"""UPDATE flag SET note = NULL, note_until = NULL
        WHERE {_PURGED.replace("kept_until", "note_until")}""",  # noqa: S608 (our words)
)
# Whole days of UTC, so that it does not matter which purge takes them, or in which batch a rebuild does.
_OLD_METRICS: Final = """
    WITH old AS (
        DELETE FROM quality_metric WHERE hour < date_trunc(
            'day', (SELECT max(before) FROM purge) - interval '730 days', 'UTC') RETURNING *
    )
    INSERT INTO quality_day
    SELECT type, category, date_trunc('day', hour, 'UTC'), count(*), avg(value ORDER BY hour), min(value), max(value),
        count(*) FILTER (WHERE CASE WHEN at_most THEN value > target ELSE value < target END)
    FROM old GROUP BY 1, 2, 3 ON CONFLICT DO NOTHING"""


async def remove_words(db: Connection, withdrawn: Collection[UUID]) -> None:
    """Remove words up to the newest purge, and those of these analyses; numbers, labels and citations stay."""
    await db.execute(_OF_ANALYSES, (list(withdrawn),))
    await db.execute(_OF_ASSERTIONS.encode())
    await db.execute(_OF_SAMPLES.encode())


async def remove_catalogue_words(db: Connection) -> None:
    """Remove words of edits and flags up to the newest purge; an entry then has its published words again."""
    for statement in _OF_CATALOGUE:
        await db.execute(statement.encode())


async def aggregate_metrics(db: Connection) -> None:
    """Replace metrics older than two years before the newest purge by one row a day."""
    await db.execute(_OLD_METRICS.encode())
