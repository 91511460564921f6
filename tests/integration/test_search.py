"""Search gives the answer that reading everything would give, page after page, and never reads everything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from uuid import UUID

import pytest

from kit.database import Database
from services.gateway.public.graphql.graph import RecordGraph
from services.gateway.record.connection import open_transaction
from services.gateway.record.question import BadQuestion, Filters, normalise_words
from services.gateway.record.repository import PublicRecord
from services.gateway.record.search import MAX_RANKED, Search
from tests.integration.readmodel_tables import fill, owner, prepare, store_at
from tests.support.explained import plans, statements
from tests.support.search_documents import exhaustive, fill_documents
from tests.support.servers import Prepare, Servers
from tests.unit.projector.histories import Page, Tape

pytest_plugins = ["tests.support.servers"]
pytestmark = pytest.mark.xdist_group("search")  # their documents take a while to make

DOCUMENTS = 5_000
WORDS = (
    None,
    "everyword",
    "hundredth",
    "thousandth",
    "tenthousandth",
    "nowhere to be seen",
    "of the have been not",
    "the",
    "q",
    "th",
    "0%",
    "§",
    "§ 7",
    "%",
    "_",
    "\\",
    "%%%",
    ". a",
    "100% sure",
    "ADA HOPPER",
    "site.example/posts/499",
    "notes on",
    "ü",
    "привет",
    "日本",
)
FILTERS = (
    Filters(),
    Filters("WIKIPEDIA"),
    Filters(min_claims=1),
    Filters("X", 3),
    Filters(min_claims=4),
    Filters("NOWHERE", 1),
    Filters(min_claims=50),
)


def with_documents(url: str) -> None:
    """A read model of some thousand documents."""
    prepare(url)
    asyncio.run(_fill(url))


async def _fill(url: str) -> None:
    async with await owner(url) as db:
        await fill_documents(db, DOCUMENTS, sentences=1)


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return with_documents


@pytest.fixture
def empty_url(stack: Servers) -> Iterator[str]:
    """A read model without any rows."""
    with stack.database(prepare) as url:
        yield url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[tuple[str, Database]]:
    """The documents' address, and their readers' connections."""
    database = Database(database_url, role="reader")
    yield database_url, database
    await database.close()


@pytest.mark.requirement("3.4-05", "3.4-06", "3.4-07")
@pytest.mark.parametrize("filters", FILTERS, ids=str)
async def test_the_answer_of_reading_everything(database: tuple[str, Database], filters: Filters) -> None:
    """3.4-05: Search finds pieces of the text.
    3.4-06: Search can be limited to a platform.
    3.4-07: Search counts claims, says whether there is more, and gives summaries.
    """
    url, reader = database
    async with await owner(url) as db:
        for words in WORDS:
            expected = await exhaustive(db, words, filters, 61)
            found: list[UUID] = []
            place = None
            while len(found) < 61:
                async with open_transaction(reader) as connection:
                    hits = await Search(connection).newest(words, filters, place, 20)
                found += [hit.investigation_id for hit in hits]
                if len(hits) < 20:
                    break
                place = hits[-1].place
            assert found[:61] == expected, (words, filters)


async def test_pages_counted_off_are_the_same(database: tuple[str, Database]) -> None:
    url, reader = database
    async with await owner(url) as db, open_transaction(reader) as connection:
        for words, filters in ((None, FILTERS[0]), (None, FILTERS[2]), ("hundredth", FILTERS[0]), ("th", FILTERS[1])):
            every = await exhaustive(db, words, filters, 120)
            hits = await Search(connection).with_offset(words, filters, 7, 11)
            assert [hit.investigation_id for hit in hits] == every[7:18]


async def test_pages_far_behind_are_the_same(database: tuple[str, Database]) -> None:
    url, reader = database
    async with await owner(url) as db, open_transaction(reader) as connection:
        for words, filters in ((None, FILTERS[0]), (None, FILTERS[3]), ("everyword", FILTERS[0]), ("th", FILTERS[2])):
            every = await exhaustive(db, words, filters, DOCUMENTS)
            for offset in (1_001, 2_345, len(every) - 3, len(every), 2**31 - 1):
                hits = await Search(connection).with_offset(words, filters, offset, 5)
                assert [hit.investigation_id for hit in hits] == every[offset : offset + 5], (words, filters, offset)


@pytest.mark.requirement("3.4-05")
async def test_a_text_of_any_length_can_be_looked_for(database: tuple[str, Database]) -> None:
    """3.4-05: Search finds pieces of the text."""
    url, reader = database
    async with await owner(url) as db:
        found = await db.execute("SELECT body FROM search_document ORDER BY length(body) DESC, body LIMIT 1")
        ((body,),) = await found.fetchall()
        said = body.splitlines()[-1].split("  ")[0]
        assert len(said) > 300
        async with open_transaction(reader) as connection:
            for words, expected in ((said, 1), (said + "x", 0), ("x" * 400_000, 0), ("§ " * 9_000, 0)):
                hits = await Search(connection).with_offset(normalise_words(words, None), FILTERS[0], 0, 20)
                assert len(hits) == expected, words[:80]


async def test_nothing_is_ever_scanned(database: tuple[str, Database]) -> None:
    _, reader = database
    graph = RecordGraph(PublicRecord(reader))
    async with await reader.session() as db:
        for words in WORDS:
            for filters in FILTERS:
                async with statements() as taken:
                    await graph.list_page(words, filters, 20, 0)
                    await graph.list_page(words, filters, 20, 4_000)
                for plan in await plans(db, taken):
                    assert not plan.scanned, (words, filters, plan.statement)
        async with statements() as taken:
            await graph.search("it is not so", FILTERS[0], ranked=True, first=20, after=None)
            await graph.authors("ada", None, 20, None)
            await graph.authors("x", None, 20, None)
            await graph.anomalies("X", "1", 20, None)
            await graph.anomalies(None, None, 20, None)
            await graph.of_post("X", "1")
        found = await plans(db, taken)
        assert [plan.scanned for plan in found if plan.scanned] == []
        assert len(found) > 10


async def test_pieces_of_time_are_the_indexes_business(database: tuple[str, Database]) -> None:
    """As a filter after the index, a piece would cost as much as all documents."""
    _, reader = database
    async with await reader.session() as db:
        async with statements() as taken:
            await RecordGraph(PublicRecord(reader)).list_page("thousandth", Filters("X"), 20, 0)
        steps = [plan for plan in await plans(db, taken) if "shown" in plan.statement]
    conditions = [" ".join(plan.index_conditions) for plan in steps]
    assert len(conditions) > 2
    for piece in ("(bucket =", "((bucket / 8) =", "((bucket / 64) ="):
        assert any(piece in condition for condition in conditions), conditions
    assert all("body ~~" in condition and "search_facets" in condition for condition in conditions)


async def test_a_scan_would_be_seen(database: tuple[str, Database]) -> None:
    _, reader = database
    async with await reader.session() as db:
        async with statements() as taken, reader.connect() as connection:
            await connection.exec_driver_sql("SELECT count(*) FROM search_document WHERE position('a' IN body) > 0")
        (plan,) = await plans(db, taken)
    assert list(plan.scanned) == ["search_document"]
    assert plan.buffers > 100


async def test_ranked_results_say_it_where_it_counts(database: tuple[str, Database]) -> None:
    url, reader = database
    async with open_transaction(reader) as connection:
        search = Search(connection)
        hits = await search.ranked("sofia", Filters())
        assert len(hits) == MAX_RANKED
        everywhere = await search.ranked("everyword", Filters())
        newest = await search.newest("everyword", Filters(), None, MAX_RANKED)
        assert everywhere == newest
        assert await search.ranked("nowhere to be seen", Filters()) == []
    async with await owner(url) as db:
        rows = await (
            await db.execute(
                "SELECT bool_and(body LIKE '%%sofia%%') FROM search_document WHERE investigation_id = ANY (%s)",
                ([hit.investigation_id for hit in hits],),
            )
        ).fetchone()
    assert rows == (True,)


async def test_what_takes_too_long_is_refused(database: tuple[str, Database]) -> None:
    _, reader = database
    with pytest.raises(BadQuestion, match="too long"):
        async with open_transaction(reader) as connection:
            await connection.exec_driver_sql("SET LOCAL statement_timeout = 20")
            await connection.exec_driver_sql("SELECT pg_sleep(20)")


async def test_buckets_have_the_order_of_time(database: tuple[str, Database]) -> None:
    url, _ = database
    async with await owner(url) as db:
        disorder = await db.execute("""SELECT count(*) FROM (SELECT bucket - lag(bucket) OVER
            (ORDER BY checked_at, investigation_id) AS step FROM search_document) d WHERE step NOT IN (0, 1)""")
        assert await disorder.fetchone() == (0,)
        sizes = await db.execute("SELECT max(documents), sum(documents)::int, count(*) FROM search_bucket")
        assert await sizes.fetchone() == (512, DOCUMENTS, -(-DOCUMENTS // 512))


async def test_late_documents_go_to_the_bucket_of_their_time(empty_url: str) -> None:
    async with await owner(empty_url) as db:
        await db.execute("ALTER TABLE search_document DROP CONSTRAINT search_document_investigation_id_fkey")
        insert = """INSERT INTO search_document (investigation_id, post_id, platform, checked_at, claim_count,
            words, body) SELECT gen_random_uuid(), gen_random_uuid(), 'X',
            timestamptz '2026-01-01Z' + n * interval '1 s', 0, '', 'text' FROM generate_series(%s::int, %s::int) n"""
        await db.execute(insert, (1000, 1511))
        await db.execute(insert, (1511, 1511))  # not later than all before, so no new bucket
        await db.execute(insert, (1, 1))
        await db.execute(insert, (2000, 2599))
        await db.execute(insert, (1500, 1500))
        await db.execute(insert, (2100, 2100))
        found = await db.execute("SELECT number, documents FROM search_bucket ORDER BY number")
        assert await found.fetchall() == [(0, 515), (1, 513), (2, 88)]
        mixed = await db.execute("""SELECT count(*) FROM search_document a JOIN search_document b
            ON a.bucket < b.bucket AND a.checked_at >= b.checked_at""")
        assert await mixed.fetchone() == (0,)


@pytest.mark.requirement("2.7-01", "2.7-02")
async def test_counts_are_kept_up_whatever_comes_and_goes(empty_url: str) -> None:
    """2.7-01: Author entity per platform identity, linked to posts.
    2.7-02: The share of investigated posts with findings is published.
    """
    draw = Random(7)
    async with await owner(empty_url) as db:
        await db.execute("ALTER TABLE search_document DROP CONSTRAINT search_document_investigation_id_fkey")
        for n in range(40):
            await db.execute(
                """INSERT INTO search_document (investigation_id, post_id, author_id, platform, checked_at, claim_count,
                    words, body) SELECT gen_random_uuid(), md5('p' || p)::uuid, CASE WHEN a > 0 THEN md5('a' || a)::uuid
                    END, 'S' || p %% 3, timestamptz '2026-01-01Z' + %s * interval '1 s', c, '', ''
                FROM unnest(%s::int[], %s::int[], %s::int[]) d(p, a, c)""",
                (n, *([draw.randrange(top) for _ in range(4)] for top in (9, 3, 2))),
            )
            await db.execute(
                """DELETE FROM search_document WHERE investigation_id IN (
                    SELECT investigation_id FROM search_document ORDER BY md5(investigation_id::text || %s)
                    LIMIT %s)""",
                (str(n), draw.randrange(6)),
            )
            counted = await db.execute("""SELECT s.scope, count(DISTINCT post_id)::int,
                    (count(DISTINCT post_id) FILTER (WHERE claim_count > 0))::int, sum(claim_count)::int
                FROM search_document CROSS JOIN LATERAL (VALUES ('all'), ('platform:' || platform),
                    ('author:' || author_id)) s(scope) WHERE s.scope IS NOT NULL GROUP BY s.scope ORDER BY 1""")
            kept = await db.execute("SELECT scope, posts, flagged_posts, claims FROM tally ORDER BY 1")
            assert await kept.fetchall() == await counted.fetchall(), n
        await db.execute("DELETE FROM search_document")
        for table in ("tally", "tally_post"):
            assert await (await db.execute(f"SELECT * FROM {table}".encode())).fetchall() == []


@pytest.mark.requirement("3.4-08")
async def test_a_window_of_time_counts_as_reading_everything_would(empty_url: str) -> None:
    """Whatever comes late and goes again, and wherever the window begins and ends.

    3.4-08: Figures can be limited by platform, author and time.
    """
    draw = Random(8)
    begin, reader = datetime(2026, 1, 1, tzinfo=UTC), Database(empty_url, role="reader")
    moments = [begin + timedelta(hours=8 * n) for n in range(19)]
    moments += [begin + timedelta(microseconds=draw.randrange(6 * 86_400_000_000)) for _ in range(20)]
    graph = RecordGraph(PublicRecord(reader))
    async with await owner(empty_url) as db:
        await db.execute("ALTER TABLE search_document DROP CONSTRAINT search_document_investigation_id_fkey")
        for n in range(12):
            await db.execute(
                """INSERT INTO search_document (investigation_id, post_id, platform, checked_at, claim_count, words,
                    body) SELECT gen_random_uuid(), md5('p' || p)::uuid, 'S' || p %% 2, at, c, '', ''
                FROM unnest(%s::int[], %s::timestamptz[], %s::int[]) d(p, at, c)""",
                (
                    [draw.randrange(9) for _ in range(5)],
                    draw.choices(moments, k=5),
                    [draw.randrange(2) for _ in "12345"],
                ),
            )
            await db.execute(
                """DELETE FROM search_document WHERE investigation_id IN (SELECT investigation_id FROM search_document
                    ORDER BY md5(investigation_id::text || %s) LIMIT %s)""",
                (str(n), draw.randrange(4)),
            )
            for _ in range(25):
                platform = draw.choice((None, "S0", "S2"))
                start, end = (draw.choice((None, *moments)) for _ in range(2))
                counted = await graph.metrics(platform, None, start, end)
                found = await db.execute(
                    """SELECT count(DISTINCT post_id), count(DISTINCT post_id) FILTER (WHERE claim_count > 0)
                    FROM search_document WHERE (%(platform)s::text IS NULL OR platform = %(platform)s)
                        AND checked_at >= coalesce(%(start)s::timestamptz, '-infinity')
                        AND checked_at <= coalesce(%(end)s::timestamptz, 'infinity')""",
                    {"platform": platform, "start": start, "end": end},
                )
                told = (counted.total_investigated_posts, counted.investigated_posts_with_flags)
                assert told == await found.fetchone(), (n, platform, start, end)
        await db.execute("DELETE FROM search_document")
        for table in ("tally_day", "tally_moment"):
            assert await (await db.execute(f"SELECT * FROM {table}".encode())).fetchall() == []
    await reader.close()


async def test_the_index_knows_every_letter_and_every_two_and_no_others(empty_url: str) -> None:
    draw = Random(4)
    words = ["the", "the", "moon", "é", "x", "", "\n", "a\nb", "§", "100%", "naïve", "\x01", "月の石", "the.", "zz"]
    texts = [" ".join(draw.choices(words, k=draw.randrange(1, 14))) for _ in range(400)]
    async with await owner(empty_url) as db:
        found = await (await db.execute("SELECT search_grams(t) FROM unnest(%s::text[]) t", (texts,))).fetchall()
    for text, (grams,) in zip(texts, found, strict=True):
        whole = text.replace("\x01", " ")
        assert set(grams) == {*whole, *map("".join, pairwise(whole))}, text


async def test_the_index_knows_where_common_words_meet(empty_url: str) -> None:
    draw = Random(5)
    words = ["the", "of", "he", "a", "bathe", "office", "ofthe", "x", "théa", "", "the\nof", "because", "abecause"]
    texts = [" ".join(draw.choices(words, k=draw.randrange(12))) for _ in range(400)]
    async with await owner(empty_url) as db:
        ((common,),) = await (await db.execute("SELECT search_common()")).fetchall()
        found = await (
            await db.execute("SELECT search_pairs(string_to_array(t, ' ')) FROM unnest(%s::text[]) t", (texts,))
        ).fetchall()
    for text, (pairs,) in zip(texts, found, strict=True):
        assert sorted(pairs) == sorted(meetings(text.split(" "), common)), text


def meetings(words: Sequence[str], common: Sequence[str]) -> set[str]:
    """The longest common word that one ends with, and the longest that the next begins with; `~`: there is more."""
    found = set()
    for one, two in pairwise(words):
        ending = max((each for each in common if one.endswith(each)), key=len, default=None)
        beginning = max((each for each in common if two.startswith(each)), key=len, default=None)
        if ending is not None and beginning is not None:
            found.add(f"{'~ '[ending == one]}{ending} {beginning}{'~ '[beginning == two]}")
    return found


async def test_a_phrase_is_shown_by_every_pair_of_common_words_in_it(empty_url: str) -> None:
    """Nothing that stands in a text may be lost because the index does not know the pairs it looks for."""
    draw = Random(9)
    words = [
        "the",
        "of",
        "he",
        "a",
        "an",
        "bathe",
        "office",
        "ofthe",
        "th",
        "e",
        "x",
        "theory",
        "'s",
        "of.",
        "(the",
        "",
    ]
    texts = [" ".join(draw.choices(words, k=draw.randrange(2, 12))) for _ in range(300)]
    phrases = [" ".join(text[draw.randrange(len(text) or 1) :][: draw.randrange(3, 20)].split()) for text in texts]
    async with await owner(empty_url) as db:
        lost = await db.execute(
            """WITH bodies AS MATERIALIZED (
                SELECT body, search_pairs(string_to_array(body, ' ')) pairs FROM unnest(%s::text[]) body
            ), phrases AS MATERIALIZED (
                SELECT phrase, forms FROM unnest(%s::text[]) phrase, search_pairs_of(string_to_array(phrase, ' ')) forms
            )
            SELECT body, phrase FROM bodies, phrases WHERE position(phrase IN body) > 0 AND NOT pairs && forms""",
            (texts, phrases),
        )
        assert await lost.fetchall() == []
        narrowed = await db.execute(
            """SELECT count(*) FROM unnest(%s::text[]) body WHERE search_pairs(string_to_array(body, ' ')) && ALL (
                SELECT forms FROM search_pairs_of(ARRAY['the', 'of']) forms)""",
            (["at the office", "bathe of", "the of", "the x of", "of the", "he of"],),
        )
        assert await narrowed.fetchone() == (3,)


async def test_counting_everything_costs_a_look(database: tuple[str, Database]) -> None:
    _, reader = database
    graph = RecordGraph(PublicRecord(reader))
    async with await reader.session() as db:
        author = (await graph.authors(None, None, 1, None)).edges
        async with statements() as taken:
            whole = await graph.metrics(None, None, None, None)
            await graph.metrics("X", None, None, None)
            await graph.metrics(None, UUID(int=1), None, None)
        found = await plans(db, taken)
        assert (whole.total_investigated_posts, author) == (2_501, [])
        assert [plan.scanned for plan in found if plan.scanned] == []
        assert sum(plan.buffers for plan in found) < 30
        async with statements() as taken:
            await graph.metrics("X", None, datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 3, tzinfo=UTC))
        assert [plan.scanned for plan in await plans(db, taken) if plan.scanned] == []


async def test_a_document_keeps_what_stood_there_first(empty_url: str) -> None:
    page = Page("en:1", "The Moon is made of CHEESE.")
    tape = Tape()
    tape.add(page.registered(), page.requested(), page.started(), page.seen("later"), page.drafted(), page.completed())
    store = store_at(empty_url)
    await fill(store, tape.records)
    await store.close()
    async with await owner(empty_url) as db:
        found = await (await db.execute("SELECT body, url FROM search_document, post")).fetchone()
    assert found == (f"t\nauthor of en:1\n{page.url.lower()}?first\nthe moon is made of cheese.", f"{page.url}?later")
