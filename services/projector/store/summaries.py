"""What an entry shows of the newest analysis of its assertion, in the transaction of the fact that changes it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from uuid import UUID

from services.projector.store.load import Connection

_SUMMARIES: Final = """
    UPDATE entry e SET analysis_id = a.id, cache_updated_at = a.analysed_at,
        confidence_score = round(100 * v.confidence),
        risk_score = round(50 * (1 - v.confidence) + CASE WHEN v.supporting + v.opposing = 0 THEN 50
            ELSE 100.0 * least(v.supporting, v.opposing) / (v.supporting + v.opposing) END),
        completeness_score = round(100 * least(1, n.cited::float / (a.scenarios * a.evidence))),
        evidence_summary = x.items, source_names = s.domains,
        scenario_summary = d.readings, scenario_count = d.scenarios
    FROM unnest(%s::uuid[]) given(assertion_id)
    CROSS JOIN LATERAL (SELECT * FROM analysis WHERE assertion_id = given.assertion_id
        ORDER BY analysed_at DESC, id LIMIT 1) a
    JOIN scenario r ON r.analysis_id = a.id AND r.ordinal = a.recommended JOIN verdict v ON v.scenario_id = r.id
    CROSS JOIN LATERAL (SELECT count(*) cited FROM citation WHERE analysis_id = a.id) n
    CROSS JOIN LATERAL (SELECT array_agg(domain ORDER BY domain) domains
        FROM (SELECT DISTINCT domain FROM citation WHERE analysis_id = a.id) c) s
    CROSS JOIN LATERAL (SELECT count(*) scenarios,
        jsonb_agg(description ORDER BY ordinal) FILTER (WHERE description IS NOT NULL) readings
        FROM scenario WHERE analysis_id = a.id) d
    CROSS JOIN LATERAL (SELECT jsonb_agg(
            jsonb_build_object('text', text, 'source', source_title, 'relevance', relevance) ORDER BY relevance DESC, id
        ) items FROM (SELECT * FROM evidence WHERE analysis_id = a.id ORDER BY relevance DESC, id LIMIT 5) b) x
    WHERE e.assertion_id = given.assertion_id"""
_OF_PURGED: Final = """
    SELECT e.assertion_id FROM analysis a JOIN entry e ON e.analysis_id = a.id
    WHERE a.kept_until IS NULL AND (e.evidence_summary IS NOT NULL OR e.scenario_summary IS NOT NULL)"""


async def summarise(db: Connection, assertions: Collection[UUID]) -> None:
    """Renew what the entries of these assertions show."""
    if assertions:
        await db.execute(_SUMMARIES, (list(assertions),))


async def summarise_purged(db: Connection) -> None:
    """Renew what entries show of analyses whose words have gone."""
    await db.execute(_SUMMARIES.replace("unnest(%s::uuid[]) given(assertion_id)", f"({_OF_PURGED}) given").encode())
