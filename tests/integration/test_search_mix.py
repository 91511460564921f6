"""The declared mix of questions over many documents: right, by indexes alone, and within what a page may read.

Buffers do not depend on how busy the machine is; times at ten times the size are the benchmark's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kit.database import Database
from services.gateway.public.graphql.graph import RecordGraph
from services.gateway.record.connection import open_transaction
from services.gateway.record.question import Filters
from services.gateway.record.repository import PublicRecord
from services.gateway.record.search import Search
from tests.integration.readmodel_tables import owner, prepare
from tests.support.explained import plans, statements
from tests.support.search_documents import ANY, BUFFERS, COMMON, MIX, PAGE, exhaustive, fill_documents
from tests.support.servers import Prepare

pytest_plugins = ["tests.support.servers"]
pytestmark = pytest.mark.xdist_group("search-mix")  # their documents take a while to make

DOCUMENTS = 20_000


def with_documents(url: str) -> None:
    prepare(url)
    asyncio.run(_fill(url))


async def _fill(url: str) -> None:
    async with await owner(url) as db:
        await fill_documents(db, DOCUMENTS, sentences=24)


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return with_documents


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[tuple[str, Database]]:
    database = Database(database_url, role="reader")
    yield database_url, database
    await database.close()


@pytest.mark.requirement("3.4-05", "3.4-06", "3.4-07")
async def test_every_question_of_the_mix_reads_little(database: tuple[str, Database]) -> None:
    """3.4-05: Search finds pieces of the text.
    3.4-06: Search can be limited to a platform.
    3.4-07: Search counts claims, says whether there is more, and gives summaries.
    """
    url, reader = database
    graph, read = RecordGraph(PublicRecord(reader)), {}
    async with await owner(url) as db, await reader.session() as explaining:
        for question in MIX:
            expected = await exhaustive(db, question.words, question.filters, PAGE + 1)
            async with statements() as taken:
                page = await graph.list_page(question.words, question.filters, PAGE, 0)
            assert [row.id for row in page.investigations] == expected[:PAGE], question.name
            assert page.has_more is (len(expected) > PAGE), question.name
            found = await plans(explaining, taken)
            assert [plan.scanned for plan in found if plan.scanned] == [], question.name
            read[question.name] = sum(plan.buffers for plan in found)
        place = None
        for _ in range(500):
            async with statements() as taken, open_transaction(reader) as connection:
                hits = await Search(connection).newest(None, ANY, place, PAGE)
            place = hits[-1].place
        assert [hit.investigation_id for hit in hits] == (await exhaustive(db, None, ANY, 500 * PAGE))[-PAGE:]
        read["page 500 by cursor"] = sum(plan.buffers for plan in await plans(explaining, taken))
    assert len(read) == 12
    assert {name: buffers for name, buffers in read.items() if buffers > BUFFERS} == {}


@pytest.mark.parametrize("words", COMMON)
async def test_phrases_whose_words_are_in_every_text(database: tuple[str, Database], words: str) -> None:
    url, reader = database
    async with await owner(url) as db, await reader.session() as explaining:
        for filters in (ANY, Filters("WIKIPEDIA", 3)):
            expected = await exhaustive(db, words, filters, PAGE + 1)
            async with statements() as taken:
                page = await RecordGraph(PublicRecord(reader)).list_page(words, filters, PAGE, 0)
            assert [row.id for row in page.investigations] == expected[:PAGE]
            found = await plans(explaining, taken)
            assert [plan.scanned for plan in found if plan.scanned] == []


async def test_the_best_first_read_little_too(database: tuple[str, Database]) -> None:
    _, reader = database
    graph, read = RecordGraph(PublicRecord(reader)), {}
    async with await reader.session() as explaining:
        for question in MIX:
            if question.words is None:
                continue
            async with statements() as taken:
                await graph.search(question.words, question.filters, ranked=True, first=PAGE, after=None)
            found = await plans(explaining, taken)
            assert [plan.scanned for plan in found if plan.scanned] == [], question.name
            read[question.name] = sum(plan.buffers for plan in found)
    assert {name: buffers for name, buffers in read.items() if buffers > BUFFERS} == {}
