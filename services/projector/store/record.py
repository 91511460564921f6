"""The public record: one document for each finished investigation of a version that its site or enough readers confirm.

Every list, feed, figure and map of the site reads these documents and nothing else, so a result without a document is
in none of them. Whichever comes last of the result, the site's confirmation and the readers' corroboration writes the
document, and nothing ever deletes it: the record is the same in any order of the two streams (decision 0029).

A document takes the version's text, which no later fact can change; the findings that stand; and the heading, which
changes once at most, when the site says what it is. The document changes with them. So nothing depends on where a batch
happened to end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from services.projector.projections.bounds import MAX_NAME, MAX_TITLE, MAX_URL
from services.projector.store.load import Connection

MAX_FINDINGS: Final = 100_000
"""Units: characters. The words must fit a tsvector of 1,048,575 bytes; a character takes at most eight."""


VOUCHED_FOR: Final = "(v.server_verified_at IS NOT NULL OR v.corroborated_at IS NOT NULL)"
_AUTHOR: Final = "CASE WHEN h.confirmed THEN h.author_id END"
_WORDS: Final = f"""setweight(to_tsvector('english',
                concat_ws(' ', left(h.title, {MAX_TITLE}), left(h.author_name, {MAX_NAME}))), 'A')
            || setweight(to_tsvector('english', left(h.url, {MAX_URL})), 'C')
            || setweight(to_tsvector('english', left(coalesce(f.findings, ''), {MAX_FINDINGS})), 'B')"""
_HEAD: Final = "concat_ws(E'\\n', h.title, h.author_name, h.url)"
_BODY: Final = "lower(concat_ws(E'\\n', h.title, h.author_name, h.url, f.findings, b.content_text))"
_CONTENT: Final = """
    CROSS JOIN LATERAL (SELECT post_id, content_hash FROM post_version WHERE id = r.post_version_id OFFSET 0) v
    CROSS JOIN LATERAL (SELECT content_text FROM content_blob WHERE content_hash = v.content_hash OFFSET 0) b"""
_FINDINGS: Final = """
    CROSS JOIN LATERAL (SELECT string_agg(concat_ws(E'\\n', c->>'text', c->>'summary', c->>'reasoning'), E'\\n'
            ORDER BY n) AS findings FROM jsonb_array_elements(r.claims) WITH ORDINALITY each(c, n)) f"""
_UNLISTED: Final = f"""
    SELECT d.*, g.place FROM unnest(%s::uuid[]) WITH ORDINALITY g(post_version_id, place)
    CROSS JOIN LATERAL (SELECT * FROM investigation_doc WHERE post_version_id = g.post_version_id OFFSET 0) d
    CROSS JOIN LATERAL (SELECT FROM post_version v WHERE v.id = g.post_version_id AND {VOUCHED_FOR} OFFSET 0) v
    WHERE NOT EXISTS (SELECT FROM search_document WHERE investigation_id = d.investigation_id)"""  # noqa: S608 (our words)
DOCUMENTS: Final = f"""
    INSERT INTO search_document (investigation_id, post_id, author_id, platform, checked_at, claim_count, words, body)
    SELECT r.investigation_id, v.post_id, {_AUTHOR}, p.platform, r.checked_at, r.claim_count, {_WORDS}, {_BODY}
    FROM ({_UNLISTED} OFFSET 0) r {_CONTENT}
    CROSS JOIN LATERAL (SELECT platform FROM post WHERE id = v.post_id OFFSET 0) p
    LEFT JOIN LATERAL (SELECT * FROM version_heading WHERE post_version_id = r.post_version_id OFFSET 0) h ON true
    {_FINDINGS}
    ORDER BY r.place, r.checked_at, r.investigation_id
    ON CONFLICT DO NOTHING"""  # noqa: S608 (our words)
CORRECTED_DOCUMENTS: Final = f"""
    UPDATE search_document d SET author_id = {_AUTHOR}, words = {_WORDS}, body = {_BODY}
    FROM unnest(%s::uuid[]) g(post_version_id)
    CROSS JOIN LATERAL (SELECT * FROM version_heading WHERE post_version_id = g.post_version_id OFFSET 0) h
    CROSS JOIN LATERAL (SELECT * FROM investigation_doc WHERE post_version_id = g.post_version_id OFFSET 0) r {_CONTENT}
    {_FINDINGS}
    WHERE d.investigation_id = r.investigation_id
        AND (d.author_id IS DISTINCT FROM {_AUTHOR} OR NOT starts_with(d.body, lower({_HEAD})))"""  # noqa: S608 (our words)
FOLLOWING_DOCUMENTS: Final = f"""
    UPDATE search_document d SET claim_count = r.claim_count, words = {_WORDS}, body = {_BODY}
    FROM unnest(%s::uuid[]) g(investigation_id)
    CROSS JOIN LATERAL (SELECT * FROM investigation_doc WHERE investigation_id = g.investigation_id OFFSET 0) r
    {_CONTENT}
    LEFT JOIN LATERAL (SELECT * FROM version_heading WHERE post_version_id = r.post_version_id OFFSET 0) h ON true
    {_FINDINGS}
    WHERE d.investigation_id = r.investigation_id"""  # noqa: S608 (our words)
FIND: Final = "search_document_find_idx"


@asynccontextmanager
async def index_built_at_the_end(db: Connection) -> AsyncIterator[None]:
    """Drop the large index and build it at the end, which costs a fraction of adding each document to it."""
    row = await (await db.execute("SELECT pg_get_indexdef(%s::regclass)", (FIND,))).fetchone()
    assert row is not None
    await db.execute(f"DROP INDEX {FIND}")
    yield
    await db.execute("SET maintenance_work_mem = '256MB'; SET min_parallel_table_scan_size = 0")
    await db.execute(row[0])
    await db.execute("SELECT without_statistics(%s)", (FIND,))
