"""Rows that follow from other rows: corroborations, a post's newest earlier result, documents of the public record, and
what an entry shows of its newest analysis.

They join what two streams or many facts have written, so they are derived in the database, from the rows of the same
transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final
from uuid import UUID

from services.projector.store.load import Connection
from services.projector.store.record import CORRECTED_DOCUMENTS, DOCUMENTS, FOLLOWING_DOCUMENTS

_PRIORS: Final = """
    INSERT INTO post_prior AS p (post_id, analysis, investigation_id, post_version_id, checked_at)
    SELECT DISTINCT ON (v.post_id, d.analysis) v.post_id, d.analysis, d.investigation_id, v.id, d.checked_at
    FROM investigation_doc d JOIN post_version v ON v.id = d.post_version_id
    WHERE d.investigation_id = ANY (%s) AND d.provenance = 'SERVER_VERIFIED'
    ORDER BY v.post_id, d.analysis, d.checked_at DESC, d.investigation_id DESC
    ON CONFLICT (post_id, analysis) DO UPDATE SET investigation_id = excluded.investigation_id,
        post_version_id = excluded.post_version_id, checked_at = excluded.checked_at
    WHERE (excluded.checked_at, excluded.investigation_id) > (p.checked_at, p.investigation_id)"""

_OF_INPUTS: Final = """
    INSERT INTO corroboration_credit (investigation_id, reporter_key, created_at)
    SELECT n.investigation_id, v.reporter_key, greatest(v.seen_at, n.created_at)
    FROM investigation_input n JOIN investigation i ON i.id = n.investigation_id
    JOIN version_reporter v ON v.post_version_id = i.post_version_id
    WHERE n.investigation_id = ANY (%s) AND n.provenance = 'CLIENT_FALLBACK' ON CONFLICT DO NOTHING"""

_OF_REPORTERS: Final = """
    INSERT INTO corroboration_credit (investigation_id, reporter_key, created_at)
    SELECT i.id, v.reporter_key, greatest(v.seen_at, n.created_at)
    FROM unnest(%s::uuid[], %s::text[]) given(post_version_id, reporter_key)
    JOIN version_reporter v USING (post_version_id, reporter_key)
    JOIN investigation i USING (post_version_id) JOIN investigation_input n ON n.investigation_id = i.id
    WHERE n.provenance = 'CLIENT_FALLBACK' ON CONFLICT DO NOTHING"""

_RESULTS: Final = """
    UPDATE investigation_doc d
    SET claims = s.standing, claim_count = jsonb_array_length(s.standing), withdrawn = s.withdrawn
    FROM unnest(%s::uuid[]) g(investigation_id)
    CROSS JOIN LATERAL (SELECT * FROM investigation_doc WHERE investigation_id = g.investigation_id OFFSET 0) r
    CROSS JOIN LATERAL (
        SELECT coalesce(jsonb_agg(c ORDER BY k.ordinal) FILTER (WHERE f.state IS NULL OR f.state = 'RELEASED'), '[]'),
            coalesce(jsonb_agg(c ORDER BY k.ordinal) FILTER (WHERE f.state <> 'RELEASED'), '[]')
        FROM jsonb_array_elements(r.claims || r.withdrawn) c
        JOIN claim k ON k.id = (c->>'id')::uuid LEFT JOIN finding_state f ON f.claim_id = k.id
    ) s(standing, withdrawn)
    WHERE d.investigation_id = r.investigation_id"""

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


async def follow_findings(db: Connection, investigations: Collection[UUID]) -> None:
    """Divide the claims of results into those shown and those withdrawn, and update the documents.

    This is the only place that decides which published claims are shown: everything that shows claims reads these rows.
    """
    if investigations:
        for statement in (_RESULTS, FOLLOWING_DOCUMENTS):
            await db.execute(statement, (list(investigations),))


async def add_documents(db: Connection, versions: Iterable[UUID]) -> None:
    """Add documents for results of versions that are vouched for by now; `versions` in the log's order."""
    if ids := list(versions):
        await db.execute(DOCUMENTS, (ids,))


async def correct_documents(db: Connection, versions: Collection[UUID]) -> None:
    """Update documents whose heading the site has confirmed."""
    if versions:
        await db.execute(CORRECTED_DOCUMENTS, (list(versions),))


async def put_priors(db: Connection, investigations: Collection[UUID]) -> None:
    """Store the newest verified result of each post."""
    if investigations:
        await db.execute(_PRIORS, (list(investigations),))


async def credit_earlier_reporters(db: Connection, investigations: Collection[UUID]) -> None:
    """Credit corroborations to reporters who saw a version before its investigation began."""
    if investigations:
        await db.execute(_OF_INPUTS, (list(investigations),))


async def credit_reporters(db: Connection, reporters: Collection[tuple[UUID, str]]) -> None:
    """Credit corroborations to reporters of a version whose investigation has a reader's text as its input."""
    if reporters:
        versions, keys = zip(*reporters, strict=True)
        await db.execute(_OF_REPORTERS, (list(versions), list(keys)))


async def summarise(db: Connection, assertions: Collection[UUID]) -> None:
    """Update what the entries of these assertions show."""
    if assertions:
        await db.execute(_SUMMARIES, (list(assertions),))


async def summarise_purged(db: Connection) -> None:
    """Update what entries show of analyses whose words were deleted."""
    await db.execute(_SUMMARIES.replace("unnest(%s::uuid[]) given(assertion_id)", f"({_OF_PURGED}) given").encode())
