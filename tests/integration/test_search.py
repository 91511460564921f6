"""Search gives the answer that reading everything would give, page after page, and never reads everything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from time import perf_counter
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


async def test_a_long_text_is_put_into_lower_case_once_and_not_for_each_row(database: tuple[str, Database]) -> None:
    """What a connection repeats ten times gets a plan without values, in which nothing is reckoned beforehand."""
    _, reader = database
    words, took_s = "§ q " * 100 + "x" * 400_000, []
    async with reader.connect() as connection:
        for _ in range(20):
            began = perf_counter()
            assert await Search(connection).newest(words, Filters(), None, 20) == []
            took_s.append(perf_counter() - began)
    assert min(took_s[-4:]) < 20 * min(took_s[:4]), "it would take 150 times as long"


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


async def test_anomalies_of_a_site_are_read_without_those_of_others(empty_url: str) -> None:
    reader = Database(empty_url, role="reader")
    async with await owner(empty_url) as db:
        await db.execute("""INSERT INTO integrity_anomaly
            SELECT gen_random_uuid(), 'TEXT', gen_random_uuid(), 'X', n::text, 'a', 'b', '2026-01-01Z'::timestamptz
                + n * interval '1 second' FROM generate_series(1, 5000) n""")
        await db.execute("ANALYZE integrity_anomaly")
    async with await reader.session() as db:
        async with statements() as taken:
            assert (await RecordGraph(PublicRecord(reader)).anomalies("WIKIPEDIA", None, 20, None)).edges == []
        assert sum(plan.buffers for plan in await plans(db, taken)) < 20
    await reader.close()


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


@pytest.mark.parametrize("dashes", ["-" * 60, "- " * 60, "-(" * 60])
async def test_dashes_that_negate_nothing_say_nothing(database: tuple[str, Database], dashes: str) -> None:
    """The database fails on more than thirty negations in a row."""
    async with open_transaction(database[1]) as connection:
        search = Search(connection)
        assert await search.ranked(f"{dashes} sofia", Filters()) == await search.ranked("sofia", Filters())
        assert await search.ranked(dashes, Filters()) == []
        assert await search.ranked("everyword -everyword", Filters()) == []


async def test_what_takes_too_long_is_refused(database: tuple[str, Database]) -> None:
    _, reader = database
    with pytest.raises(BadQuestion, match="too long"):
        async with open_transaction(reader) as connection:
            await connection.exec_driver_sql("SET LOCAL statement_timeout = 20")
            await connection.exec_driver_sql("SELECT pg_sleep(20)")


@pytest.mark.requirement("2.7-01", "2.7-02")
async def test_an_author_is_counted_by_posts(empty_url: str) -> None:
    """2.7-01: Author entity per platform identity, linked to posts.
    2.7-02: The share of investigated posts with findings is published.
    """
    draw, reader = Random(7), Database(empty_url, role="reader")
    documents = [(draw.randrange(9), draw.randrange(3), draw.randrange(3)) for _ in range(160)]
    authors = [UUID(int=n) for n in range(4)]
    async with await owner(empty_url) as db:
        await db.execute("ALTER TABLE search_document DROP CONSTRAINT search_document_investigation_id_fkey")
        await db.execute(
            """INSERT INTO search_document (investigation_id, post_id, author_id, platform, checked_at, claim_count,
                words, body) SELECT gen_random_uuid(), md5('p' || p)::uuid, a, 'X', '2026-01-01Z', c, '', ''
            FROM unnest(%s::int[], %s::uuid[], %s::int[]) d(p, a, c)""",
            (*([each[n] if n != 1 else authors[each[n]] for each in documents] for n in range(3)),),
        )
    async with PublicRecord(reader).open() as session:
        found = await session.authors.metrics(authors)
    await reader.close()
    assert authors[3] not in found
    for n, author in enumerate(authors[:3]):
        theirs = [(post, claims) for post, whose, claims in documents if whose == n]
        assert found[author].investigated_posts == len({post for post, _ in theirs})
        assert found[author].flagged_posts == len({post for post, claims in theirs if claims})
        assert found[author].claim_count == sum(claims for _, claims in theirs)


@pytest.mark.requirement("3.4-08")
async def test_a_window_of_time_counts_as_reading_everything_would(empty_url: str) -> None:
    """Whatever comes late and goes again, and wherever the window begins and ends.

    3.4-08: Figures can be limited by platform, author and time.
    """
    draw = Random(8)
    begin, reader = datetime(2026, 1, 1, tzinfo=UTC), Database(empty_url, role="reader")
    moments = [begin + timedelta(hours=8 * n) for n in range(19)]
    moments += [begin + timedelta(microseconds=draw.randrange(6 * 86_400_000_000)) for _ in range(20)]
    record = PublicRecord(reader)
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
                async with record.open() as session:
                    counted = await session.counts.posts(platform, None, start, end)
                found = await db.execute(
                    """SELECT count(DISTINCT post_id), count(DISTINCT post_id) FILTER (WHERE claim_count > 0)
                    FROM search_document WHERE (%(platform)s::text IS NULL OR platform = %(platform)s)
                        AND checked_at >= coalesce(%(start)s::timestamptz, '-infinity')
                        AND date_trunc('milliseconds', checked_at)
                            <= coalesce(date_trunc('milliseconds', %(end)s::timestamptz), 'infinity')""",
                    {"platform": platform, "start": start, "end": end},
                )
                told = (counted.total_investigated_posts, counted.investigated_posts_with_flags)
                assert told == await found.fetchone(), (n, platform, start, end)
    await reader.close()


async def test_counts_scan_nothing_and_are_kept_a_while(database: tuple[str, Database]) -> None:
    _, reader = database
    graph = RecordGraph(PublicRecord(reader))
    day = datetime(2026, 1, 2, tzinfo=UTC)
    windows = ((None, None, None), ("X", None, None), (None, UUID(int=1), None), ("X", None, day))
    async with await reader.session() as db:
        async with statements() as taken:
            counted = [await graph.metrics(platform, author, start, None) for platform, author, start in windows]
        found = await plans(db, taken)
        assert counted[0].total_investigated_posts == 2_501
        assert [plan.scanned for plan in found if plan.scanned] == []
        async with statements() as again:
            assert counted == [
                await graph.metrics(platform, author, start, None) for platform, author, start in windows
            ]
        assert await plans(db, again) == []


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
