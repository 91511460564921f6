"""The public pages: time of the server for each, from request to last byte, with many finished investigations around.

One reader at a time, in this process and without a socket: what is measured is our own work and the database's.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from time import perf_counter, process_time
from typing import Final

import httpx

from kit.database import migrate
from kit.embedded import EmbeddedStack
from services.commands.shared import run
from tests.bench.report import Report, at_most
from tests.integration.readmodel_tables import owner
from tests.support.public_record import ESSAY, HOSTILE, MOON, public_record
from tests.support.search_documents import fill_documents
from tests.support.site_server import pages_of, tell

ROUNDS: Final = 200
P95_MS: Final = 30.0
BYTES: Final = 100_000
PAGES: Final = {
    "home": "/",
    "corrections": "/corrections",
    "corrections, a rare word": "/corrections?q=tenthousandth",
    "investigation": f"/investigations/{MOON.investigation_id}",
    "investigation, 4,000 hostile words": f"/investigations/{HOSTILE.investigation_id}",
    "picture to share": f"/investigations/{ESSAY.investigation_id}/card.png",
    "post with versions": "/posts/wikipedia/en:555",
    "authors": "/authors",
    "figures": "/figures",
    "Atom feed": "/feeds/all.atom",
}
_REST: Final = """
    SET session_replication_role = replica;
    INSERT INTO prompt VALUES ('none', 'none', 'none', now()) ON CONFLICT DO NOTHING;
    INSERT INTO content_blob SELECT investigation_id::text, body, 100, checked_at FROM search_document
        ON CONFLICT DO NOTHING;
    INSERT INTO investigation (id, post_version_id, analysis, origin, input_id, status, prompt_hash, provider, model,
        checked_at, queued_at, round, attempt_count, created_at, updated_at)
    SELECT investigation_id, investigation_id, 'FACT_CHECK', 'ORIGINAL', investigation_id, 'COMPLETE', 'none', 'OPENAI',
        'gpt', checked_at, checked_at - interval '40 seconds', 1, 1, checked_at, checked_at FROM search_document
        ON CONFLICT DO NOTHING;
    SET session_replication_role = origin;
    ANALYZE;
"""


async def measure(url: str, report: Report) -> None:
    """Fill the tables, request each page, and compare with the targets."""
    count = int(os.environ.get("BENCH_SITE_DOCUMENTS", "50000"))
    await migrate(url)
    errata, views = public_record()
    async with await owner(url) as db:
        began = perf_counter()
        await fill_documents(db, count)
        await db.execute(_REST)
        report.note(f"{count:,} investigations made in {perf_counter() - began:.0f} s")
    await tell(url, errata, views)
    now = errata.now + timedelta(seconds=90 * count)
    async with pages_of(url, now) as router:
        transport = httpx.ASGITransport(app=router)
        headers = {"accept": "text/html"}
        async with httpx.AsyncClient(transport=transport, base_url="http://site", headers=headers) as http:
            for name, path in PAGES.items():
                taken, cpu = [], process_time()
                for _ in range(ROUNDS):
                    began = perf_counter()
                    response = await http.get(path)
                    taken.append((perf_counter() - began) * 1000)
                    assert response.status_code == 200, path
                report.line(f"{name}: CPU of this process", (process_time() - cpu) / ROUNDS * 1000, "ms each")
                taken = sorted(taken[1:])
                report.line("", taken[len(taken) // 2], "ms p50")
                report.line("", taken[len(taken) * 95 // 100], "ms p95", target=at_most(P95_MS))
                report.line("", len(response.content), "bytes", target=at_most(BYTES))


def bench(folder: Path, report: Report) -> None:
    """One embedded PostgreSQL."""
    report.head("site: every kind of page, one reader at a time")
    with EmbeddedStack(folder / "servers", durable=False, services=("postgres",)) as servers:
        run(measure(servers.endpoints.database_url, report))
