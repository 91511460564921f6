"""Words that leave the tables: those whose hour is purged, and those of analyses whose quotes were withdrawn.

Facts alone decide, in any order: whichever comes last of the words and the purge, they are gone.
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


async def remove_words(db: Connection, withdrawn: Collection[UUID]) -> None:
    """Remove words up to the newest purge, and those of these analyses; numbers, labels and citations stay."""
    await db.execute(_OF_ANALYSES, (list(withdrawn),))
    await db.execute(_OF_ASSERTIONS.encode())
    await db.execute(_OF_SAMPLES.encode())
