"""Candidates of the selector: a row for each post and analysis, derived from other rows instead of from facts.

The candidate of a post is its newest version, or the newest one that its site confirmed, if there is any: a reader's
observation never replaces the site's. Versions that neither the site nor enough readers confirm are not eligible, or
made-up posts would use up the daily budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from services.projector.store.load import Connection

MAX_WORDS: Final = 10_000

# OFFSET 0 keeps each look-up a look-up: free to choose, the planner reads whole tables for a handful of posts.
_DERIVE: Final = """
    INSERT INTO candidate AS c (post_id, analysis, post_version_id, score, word_ok, status, eligible_at, platform,
        confirmed)
    SELECT p.id, kind, v.id, p.unique_view_score + p.hint_score, b.word_count <= %(max_words)s, i.status,
        CASE WHEN v.server_verified_at IS NULL AND v.corroborated_at IS NULL THEN NULL
             WHEN i.id IS NULL THEN v.first_seen_at
             WHEN i.status = 'FAILED' AND NOT EXISTS (SELECT FROM investigation_round
                WHERE investigation_id = i.id AND fault IS DISTINCT FROM 'USER_KEY'
                AND key_source IS DISTINCT FROM 'USER') THEN i.failed_at END,
        p.platform, v.server_verified_at IS NOT NULL
    FROM (SELECT unnest(%(posts)s::uuid[])
        UNION SELECT (SELECT post_id FROM post_version WHERE id = n.post_version_id) FROM investigation n
        WHERE n.id = ANY (%(investigations)s)) touched(id)
    CROSS JOIN unnest(%(analyses)s::text[]) kind
    CROSS JOIN LATERAL (SELECT id, platform, unique_view_score, hint_score FROM post WHERE id = touched.id OFFSET 0) p
    CROSS JOIN LATERAL (SELECT id, content_hash, first_seen_at, server_verified_at, corroborated_at
        FROM post_version WHERE post_id = p.id
        ORDER BY server_verified_at IS NULL, last_seen_at DESC, id DESC LIMIT 1) v
    CROSS JOIN LATERAL (SELECT word_count FROM content_blob WHERE content_hash = v.content_hash OFFSET 0) b
    LEFT JOIN LATERAL (SELECT id, status, failed_at FROM investigation
        WHERE post_version_id = v.id AND analysis = kind AND origin = 'ORIGINAL' OFFSET 0) i ON true
    ON CONFLICT (post_id, analysis) DO UPDATE SET post_version_id = excluded.post_version_id,
        score = excluded.score, word_ok = excluded.word_ok, status = excluded.status,
        eligible_at = excluded.eligible_at, confirmed = excluded.confirmed
    WHERE (c.post_version_id, c.score, c.word_ok, c.status, c.eligible_at, c.confirmed) IS DISTINCT FROM
        (excluded.post_version_id, excluded.score, excluded.word_ok, excluded.status, excluded.eligible_at,
            excluded.confirmed)
"""


async def derive(
    db: Connection, posts: Sequence[UUID], investigations: Sequence[UUID], analyses: Sequence[str]
) -> None:
    """Update the candidates of these posts and of the posts of these investigations."""
    if posts or investigations:
        parameters = {
            "posts": list(posts),
            "investigations": list(investigations),
            "analyses": list(analyses),
            "max_words": MAX_WORDS,
        }
        await db.execute(_DERIVE, parameters)
