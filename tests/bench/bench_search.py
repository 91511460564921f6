"""Search at 200,000 finished investigations: a declared mix of twelve questions, each against reading everything.

Buffers are the honest figure on a busy machine; milliseconds are the database's own, on a warm cache, the best of
three. The raw limit of a question is the time of reading everything for it.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter
from typing import Final

from kit.database import Database, migrate
from kit.embedded import EmbeddedStack
from services.commands.shared import run
from services.gateway.public.graphql.graph import RecordGraph
from services.gateway.record.connection import open_transaction
from services.gateway.record.question import Place
from services.gateway.record.repository import PublicRecord
from services.gateway.record.search import Search
from tests.bench.report import Report, at_most
from tests.integration.readmodel_tables import owner
from tests.support.explained import plans, statements
from tests.support.search_documents import ANY, COMMON, MIX, PAGE, Question, exhaustive, fill_documents

MIX_MS: Final = 60.0
WORST_MS: Final = 1_000.0
"""The limit for a first page at 200,000 documents, cache warm: for the mix, and for phrases of very common words."""


async def measure(url: str, report: Report) -> None:
    """Fill, ask, compare."""
    count = int(os.environ.get("BENCH_SEARCH_DOCUMENTS", "200000"))
    await migrate(url)
    database = Database(url, role="reader")
    graph = RecordGraph(PublicRecord(database))
    async with await owner(url) as db, await database.session() as explaining:
        began = perf_counter()
        await fill_documents(db, count, sentences=24)
        report.note(f"{count:,} documents made in {perf_counter() - began:.0f} s")
        sizes = await db.execute(
            "SELECT pg_size_pretty(pg_table_size('search_document')), pg_size_pretty(pg_relation_size(%s::regclass)), "
            "avg(length(body))::int FROM search_document",
            ("search_document_find_idx",),
        )
        report.note("table, index, characters a text: " + ", ".join(map(str, (await sizes.fetchone()) or ())))
        for question in (*MIX, *(Question(f"“{words}”", words) for words in COMMON)):
            began = perf_counter()
            expected = await exhaustive(db, question.words, question.filters, PAGE + 1)
            raw_ms = (perf_counter() - began) * 1000
            best, buffers = float("inf"), 0
            for _ in range(3):
                async with statements() as taken:
                    page = await graph.list_page(question.words, question.filters, PAGE, 0)
                found = await plans(explaining, taken)
                best = min(best, sum(plan.ms for plan in found))
                buffers = sum(plan.buffers for plan in found)
            assert [row.id for row in page.investigations] == expected[:PAGE], question.name
            assert page.has_more is (len(expected) > PAGE), question.name
            target = MIX_MS if question in MIX else WORST_MS
            report.line(f"{question.name} ({len(expected)} hits)", buffers, "buffers")
            report.line("", best, "ms", target=at_most(target))
            report.note(f"  everything read: {raw_ms:,.0f} ms")
        for question in MIX:
            if question.words is not None:
                async with statements() as taken:
                    await graph.search(question.words, question.filters, ranked=True, first=PAGE, after=None)
                found = await plans(explaining, taken)
                report.line(f"best first: {question.name}", sum(plan.buffers for plan in found), "buffers")
                report.line("", sum(plan.ms for plan in found), "ms")
        async with statements() as taken:
            place: Place | None = None
            for _ in range(500):
                async with open_transaction(database) as connection:
                    hits = await Search(connection).newest(None, ANY, place, PAGE)
                place = hits[-1].place
        taken.transactions = taken.transactions[-1:]
        found = await plans(explaining, taken)
        every = await exhaustive(db, None, ANY, 500 * PAGE)
        assert [hit.investigation_id for hit in hits] == every[-PAGE:]
        report.line("page 500 by cursor", sum(plan.buffers for plan in found), "buffers")
        report.line("", sum(plan.ms for plan in found), "ms", target=at_most(MIX_MS))
    await database.close()


def bench(folder: Path, report: Report) -> None:
    """One embedded PostgreSQL."""
    report.head("search: first pages at 200,000 finished investigations")
    with EmbeddedStack(folder / "servers", durable=False, services=("postgres",)) as servers:
        run(measure(servers.endpoints.database_url, report))
