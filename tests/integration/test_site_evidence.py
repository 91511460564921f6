"""What a finding rests on: its sources with their copies, and the whole audit."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from hashlib import sha256

import httpx
import pytest
from markupsafe import escape

from kit.database import Database
from services.gateway.public.documents import RecordDocuments
from services.gateway.record.repository import PublicRecord
from tests.integration.readmodel_tables import owner, prepare
from tests.support.graphql_client import graphql_client
from tests.support.public_record import (
    MOON,
    REAL,
)
from tests.support.servers import Prepare
from tests.support.site_client import (
    COPY,
    PAPER,
    TAG,
    UNCITED,
    page_of,
)
from tests.unit.projector.histories import PROMPT

pytest_plugins = ["tests.support.servers", "tests.support.site_client"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.fixture
async def looked_up(http: httpx.AsyncClient, database_url: str) -> Sequence[str]:
    """The sources of a finding were looked at; their addresses."""
    claim, payload = MOON.claim(0)
    urls = [source.url for source in payload.sources]
    rows = (
        (8, 0, urls[0], "missing", None, None),
        (9, 0, urls[0], "found", COPY, "text/html"),
        (9, 1, urls[1], "found", PAPER, "application/pdf"),
    )
    async with await owner(database_url) as db:
        for round_, place, url, status, page, kind in rows:
            kept = (url, sha256(page).hexdigest(), len(page), kind, "2026-02-05T12:00:55Z") if page else (None,) * 5
            values = (claim, round_, place, url, status, None, *kept)
            await db.execute(f"INSERT INTO source_check VALUES ({', '.join(['%s'] * 11)})", values)
    return urls


@pytest.mark.requirement("2.12-02")
async def test_checked_sources_are_told_with_their_archived_copies(
    http: httpx.AsyncClient, looked_up: Sequence[str], database_url: str
) -> None:
    """2.12-02: Prompt version/hash/text persisted."""
    digest_ = sha256(COPY).hexdigest()
    page = (await http.get(page_of(MOON))).text
    told = re.sub(r"\s+", " ", TAG.sub("", page))
    assert f"on the page, seen on 5 Feb 2026. Archived copy: {len(COPY)} bytes, text/html, SHA-256 {digest_}" in told
    assert f'href="/sources/{digest_}"' in page
    async with graphql_client(database_url) as client:
        answer = await client.ask(
            """query ($id: ID!) { publicInvestigation(investigationId: $id) {
            investigation { provider model audit { attempts { answeredByModel } } } claims { sources {
            url check { status pageHash mediaType sizeBytes fetchedAt archivedCopy reason finalUrl } } } } }""",
            id=str(MOON.investigation_id),
        )
    investigation = answer["publicInvestigation"]["investigation"]
    assert (investigation["provider"], investigation["model"]) == ("OPENAI", "OPENAI_GPT_5")
    assert investigation["audit"]["attempts"][-1]["answeredByModel"] == REAL.version
    first, second = answer["publicInvestigation"]["claims"]
    assert [source["url"] for source in first["sources"]] == list(looked_up)
    assert first["sources"][0]["check"] == {
        "status": "found",
        "pageHash": digest_,
        "mediaType": "text/html",
        "sizeBytes": len(COPY),
        "fetchedAt": "2026-02-05T12:00:55.000Z",
        "archivedCopy": f"/sources/{digest_}",
        "reason": None,
        "finalUrl": looked_up[0],
    }
    assert [source["check"] for source in second["sources"]] == [None]


async def test_an_archived_copy_runs_nothing_and_is_what_was_hashed(
    http: httpx.AsyncClient, looked_up: Sequence[str], database_url: str
) -> None:
    for page, kind, disposition in (
        (COPY, "text/plain; charset=utf-8", None),
        (PAPER, "application/octet-stream", f'attachment; filename="{sha256(PAPER).hexdigest()[:16]}.pdf"'),
    ):
        address = f"/sources/{sha256(page).hexdigest()}"
        response = await http.get(address)
        assert (response.status_code, response.content) == (200, page)
        assert response.headers["content-type"] == kind
        assert response.headers.get("content-disposition") == disposition
        assert response.headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["x-robots-tag"] == "noindex"
    for unknown in (sha256(UNCITED).hexdigest(), "0" * 64, "x", sha256(COPY).hexdigest().upper()):
        assert (await http.get(f"/sources/{unknown}")).status_code == 404
    async with await owner(database_url) as db:
        await db.execute("DELETE FROM source_check WHERE page_hash = %s", (sha256(COPY).hexdigest(),))
    assert (await http.get(f"/sources/{sha256(COPY).hexdigest()}")).status_code == 404


@pytest.mark.requirement("2.12-06", "2.12-07")
async def test_the_whole_audit_is_a_page(http: httpx.AsyncClient, database_url: str) -> None:
    """2.12-06: Source snapshots with hash and retrieval time.
    2.12-07: Audit publicly reachable.
    """
    page = (await http.get(f"{page_of(MOON)}/audit")).text
    assert f'href="{page_of(MOON)}/audit"' in (await http.get(page_of(MOON))).text
    assert escape(PROMPT.text) in page
    assert "<b>Searched the web</b>" in page
    assert '<q dir="auto">cheese</q>' in page
    assert '<b>Read a page</b><br><a href="https://e.example" rel="nofollow noopener">' in page
    told = re.sub(r"\s+", " ", TAG.sub(" ", page))
    assert "Attempt 1" in told
    assert "failed: provider is busy" in told
    assert told.count("passed every gate and is published") == 2
    assert told.count("stopped at") + told.count("stopped by") == 2
    assert f'href="{page_of(MOON)}?finding=2#finding-2"' in page
    assert '<td>passed</td><td class="nowrap">found on 1 of 1 page</td><td>not asked</td><td>passed</td>' in page
    prompt = await http.get(f"{page_of(MOON)}/prompt.txt")
    assert (prompt.text, prompt.headers["content-type"]) == (PROMPT.text, "text/plain; charset=utf-8")
    assert f'href="{page_of(MOON)}/prompt.txt"' in page
    for number in (2, 3):
        assert MOON.claim(number)[1].text not in page, "what was rejected is not shown"


async def test_the_json_document_holds_the_audit_and_the_checks(
    http: httpx.AsyncClient, looked_up: Sequence[str], database_url: str
) -> None:
    database = Database(database_url, role="reader")
    result = await RecordDocuments(PublicRecord(database)).document(MOON.investigation_id)
    await database.close()
    assert result is not None
    document = json.loads(result.model_dump_json(by_alias=True))
    checks = {check["url"]: check for check in document["sourceChecks"]}
    assert [checks[url]["status"] for url in looked_up] == ["found", "found"]
    assert checks[looked_up[0]]["archivedCopy"] == f"/sources/{sha256(COPY).hexdigest()}"
    audit = document["audit"]
    assert audit["prompt"]["text"] == PROMPT.text
    assert [attempt["outcome"] for attempt in audit["attempts"]] == ["FAILED", "SUCCEEDED"]
    calls = [call["payload"] for call in audit["attempts"][1]["toolCalls"]]
    assert calls[0]["action"]["query"] == "cheese"
    assert [row["state"] for row in audit["validation"]] == ["APPROVED", "APPROVED", "REJECTED", "REJECTED"]
