"""A read model of many finished investigations, made in the database itself; only what search reads of them.

Texts are sentences from a small stock in random order, with planted words of known frequency, so that an answer can be
checked by reading everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import psycopg

from services.gateway.record.question import Filters

Session = psycopg.AsyncConnection[tuple[Any, ...]]

PLANTED: Final = {"everyword": 1, "hundredth": 100, "thousandth": 1_000, "tenthousandth": 10_000}
"""A word, and in how many documents it stands once."""

PAGE: Final = 20
BUFFERS: Final = 6_000
"""What a page of results may read of 20,000 documents."""
ANY: Final = Filters()


@dataclass(frozen=True, slots=True)
class Question:
    """One question of the mix."""

    name: str
    words: str | None = None
    filters: Filters = ANY


MIX: Final = (
    Question("no words"),
    Question("a word in every text", "everyword"),
    Question("in 1 of 100", "hundredth"),
    Question("in 1 of 1,000", "thousandth"),
    Question("in 1 of 10,000", "tenthousandth"),
    Question("a rare phrase of common words", "the cat of the mountain would not have been there"),
    Question("in none", "nowhere to be seen"),
    Question("a person's name", "Sofia Hopper1293"),
    Question("one character", "§"),
    Question("100%", "100%"),
    Question("every text, one platform, 3 findings", "everyword", Filters("WIKIPEDIA", 3)),
)
"""What people look for; with the five hundredth page by cursor it is the declared mix of twelve."""

COMMON: Final = ("the of", "of the and", "you been", "he of", "of an of", "their which was", "a of.")
"""Phrases whose every word is in nearly every text, so that only where they meet can tell."""

COMMON_WORDS: Final = (
    "a about after all also an and any are as at be because been before but by can could did do for from "
    "had has have he her his how i if in into is it its just like made make many may more most much my "
    "new no not now of on one only or other our out over people said she so some such than that the their "
    "them then there these they this time to two up us use was way we well were what when where which who "
    "will with would years you your"
)
"""Words that stand in nearly every text."""

_PREPARE: Final = f"""
    -- Nothing is here but what search reads.
    SET session_replication_role = replica;
    CREATE TEMPORARY TABLE stock AS SELECT n, (SELECT string_agg(
        CASE WHEN random() < 0.45 THEN common[1 + floor(random() * cardinality(common))::int]
            ELSE substr(md5((floor(random() ^ 3 * 20000))::text || 'w'), 1, 3 + (floor(random() * 7))::int) END, ' ')
            || '. ' FROM generate_series(1, 14), (SELECT string_to_array('{COMMON_WORDS}', ' ')) words(common)
        WHERE n = n) AS sentence
    FROM generate_series(1, 3000) n;
    CREATE INDEX ON stock (n);
    ANALYZE stock;
"""
_FILL: Final = """
    INSERT INTO search_document (investigation_id, post_id, author_id, platform, checked_at, claim_count, words, body)
    SELECT md5('i' || n)::uuid, md5('p' || n / 2)::uuid, md5('a' || (n % 20000))::uuid,
        (ARRAY['X', 'LESSWRONG', 'SUBSTACK', 'WIKIPEDIA', 'X', 'X', 'LESSWRONG', 'X'])[1 + n % 8],
        timestamptz '2026-01-01Z' + n * interval '90 seconds', claims,
        setweight(to_tsvector('english', title || ' ' || author), 'A')
            || setweight(to_tsvector('english', coalesce(findings, '')), 'B'),
        lower(concat_ws(E'\\n', title, author, 'https://site.example/posts/' || n, findings, said))
    FROM (SELECT n, greatest(0, n % 7 - 3) AS claims, 'Notes on ' || md5((n % 5000)::text) AS title,
            (ARRAY['Ada', 'Grace', 'Emmy', 'Sofia', 'Mary'])[1 + n % 5] || ' ' || (ARRAY['Hopper', 'Lovelace',
            'Noether', 'Kovalevskaya', 'Anning', 'Curie'])[1 + (n / 5) % 6] || (n % 20000) AS author,
            CASE WHEN n % 7 > 3 THEN 'It is not so, because of ' || md5((n % 800)::text) END AS findings,
            text.said || ' everyword'
                || CASE WHEN n % 100 = 37 THEN ' hundredth' ELSE '' END
                || CASE WHEN n % 1000 = 433 THEN ' thousandth' ELSE '' END
                || CASE WHEN n % 10000 = 4567 THEN ' tenthousandth' ELSE '' END
                || CASE WHEN n % 25000 = 9999 THEN ' the cat of the mountain would not have been there' ELSE '' END
                || CASE WHEN n % 90 = 5 THEN ' 100% sure' ELSE '' END
                || CASE WHEN n % 4000 = 77 THEN ' see § 7' ELSE '' END AS said
        FROM generate_series({first}::int, {last}::int) n
        CROSS JOIN LATERAL (SELECT string_agg(sentence, '') AS said FROM (
            SELECT 1 + floor(random() * 3000)::int AS pick FROM generate_series(
                1, CASE WHEN n % 8 IN (0, 4, 5, 7) THEN 2 ELSE 4 + n % {sentences} END)
            WHERE n = n OFFSET 0) picks JOIN stock ON stock.n = pick) text
        ORDER BY n) d
"""


_AROUND: Final = """
    INSERT INTO post SELECT DISTINCT ON (d.post_id) d.post_id, platform, d.post_id::text,
        'https://site.example/' || d.post_id, NULL, 0, 0, 0, NULL, checked_at, checked_at FROM search_document d;
    INSERT INTO post_version SELECT investigation_id, post_id, investigation_id::text, investigation_id::text, 'none',
        checked_at, checked_at, checked_at, 1, investigation_id FROM search_document;
    INSERT INTO content_blob SELECT investigation_id::text, body, 1, checked_at FROM search_document;
    INSERT INTO investigation_input SELECT investigation_id, 'SERVER_VERIFIED', investigation_id::text, 'NONE', NULL,
        NULL, checked_at FROM search_document;
    INSERT INTO investigation_doc SELECT investigation_id, investigation_id, 'FACT_CHECK', 'SERVER_VERIFIED',
        checked_at, claim_count, (SELECT coalesce(jsonb_agg(jsonb_build_object('id', n::text, 'context', '',
            'summary', 'It is not so.', 'text', repeat('words ', 20), 'reasoning', repeat('words ', 100),
            'sources', '[]'::jsonb)), '[]')
            FROM generate_series(1, claim_count) n), '[]' FROM search_document;
    SET session_replication_role = origin;
"""


async def fill_documents(db: Session, count: int, *, sentences: int = 6) -> None:
    """Make this many documents, in the order of time, and the rows that a page of results is put together from.

    Half of them are short; the others have four sentences and up to `sentences` more. Shapes: the session is the
    owner's; the large index is built after the rows.
    """
    index = await (await db.execute("SELECT pg_get_indexdef('search_document_find_idx'::regclass)")).fetchone()
    assert index is not None
    await db.execute("DROP INDEX search_document_find_idx")
    await db.execute("SELECT setseed(0.5)")
    await db.execute(_PREPARE)
    for start in range(1, count + 1, 5_000):
        end = min(count, start + 4_999)
        await db.execute(_FILL.format(first=start, last=end, sentences=sentences).encode())
    await db.execute(_AROUND)
    await db.execute("SET maintenance_work_mem = '512MB'")
    await db.execute(index[0])
    await db.execute("SELECT without_statistics('search_document_find_idx')")  # as it was
    await db.execute("VACUUM ANALYZE")


async def exhaustive(db: Session, words: str | None, filters: Filters, limit: int) -> list[UUID]:
    """The answer found by reading every document."""
    found = await db.execute(
        """SELECT investigation_id FROM search_document
        WHERE (%(words)s::text IS NULL OR position(lower(%(words)s) IN body) > 0)
            AND (%(platform)s::text IS NULL OR platform = %(platform)s) AND claim_count >= %(min_claims)s
        ORDER BY checked_at DESC, investigation_id DESC LIMIT %(limit)s""",
        {"words": words, "platform": filters.platform, "min_claims": filters.min_claims, "limit": limit},
    )
    return [id_ for (id_,) in await found.fetchall()]
