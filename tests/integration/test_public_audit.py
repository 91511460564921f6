"""The audit as anybody may ask for it: all that was exchanged with the model, and nothing of what was rejected."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import httpx
import pytest

from contracts.v1.event import OnceEvent
from kit import topology
from kit.bus import connect
from kit.database import Database
from services.commands.export.run import export
from services.gateway.public.documents import RecordDocuments
from services.gateway.public.graphql.schema import make_schema
from services.gateway.record.audit import Audits
from services.gateway.record.repository import PublicRecord
from services.gateway.record.runs import Exchange
from tests.integration.readmodel_tables import owner, prepare
from tests.integration.test_events import serving, some
from tests.support import transcripts
from tests.support.graphql_client import Client, everything_of, graphql_client
from tests.support.public_record import EDITED, OLD, TWEET, Article
from tests.support.repetitive import BESIDE, NEVER_SAID, POST, QUOTE, REBUTTALS, run_of
from tests.support.servers import Prepare
from tests.support.site_client import TAG, client_of, page_of
from tests.support.site_server import pages_of, tell
from tests.unit.gateway.fakes import Bench
from tests.unit.projector.histories import Tape

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


WHOLE = f"""query ($id: ID!) {{ publicInvestigation(investigationId: $id)
    {everything_of(make_schema().type_map["PublicInvestigationResult"])} }}"""  # type: ignore[arg-type]  # it is an object type


async def audit_of(client: Client, post: Article) -> Any:
    answer = await client.ask(WHOLE, id=str(post.investigation_id))
    return answer["publicInvestigation"]["investigation"]["audit"]


@asynccontextmanager
async def pages(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with pages_of(url, Tape().now) as router, client_of(router) as client:
        yield client


async def document_of(url: str, post: Article) -> Any:
    """The JSON document."""
    database = Database(url, role="reader")
    try:
        result = await RecordDocuments(PublicRecord(database)).document(post.investigation_id)
    finally:
        await database.close()
    assert result is not None
    return json.loads(result.model_dump_json(by_alias=True))


@pytest.mark.requirement("2.12-07", "2.12-04")
async def test_all_that_was_exchanged_can_be_asked_for(database_url: str) -> None:
    """2.12-07: Audit publicly reachable.
    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    tape = Tape()
    tape.add(*run_of(POST))
    await tell(database_url, tape)
    async with graphql_client(database_url) as client:
        audit = await audit_of(client, POST)
    failed, attempt = audit["attempts"]
    request = attempt["request"]
    assert request["instructions"] == "be strict in the look"
    assert request["input"] == f"Article:\n{POST.text}"
    assert request["inputCharacters"] == len(request["input"])
    assert [tool["type"] for tool in request["tools"]] == ["web_search", "function"]
    assert [json.loads(tool["definition"]) for tool in request["tools"]] == list(transcripts.TOOLS)
    assert (request["reasoningEffort"], request["reasoningSummary"]) == ("low", "auto")
    assert attempt["reasoningSummaries"] == ["Is it so? About the rest. I doubt it."]
    assert [(each["url"], each["title"]) for each in attempt["citations"]] == [
        ("https://e.example/0", "Owls of the world"),
        ("https://e.example/1", "Owls of the world"),
    ]
    assert (attempt["outputText"], audit["modelTextWithheld"]) == ("I am done.", False)
    assert (failed["reasoningSummaries"], failed["citations"]) == ([], [])
    assert failed["request"]["input"] == "<<<ARTICLE>>> The moon is made of cheese."
    (verdict,) = audit["validation"]
    (failure,) = verdict["failures"]
    assert (failure["round"], failure["reason"], failure["statusCode"]) == (1, "It was about: busy", 503)
    assert verdict["totalTokens"] == 6, "the verdict, not the look that failed"
    assert (audit["verificationFailure"], audit["contentDiff"]) == (None, None)
    told = (await document_of(database_url, POST))["audit"]
    for given in (each for row in audit["attempts"] for each in row["request"]["tools"]):
        given["definition"] = json.loads(given["definition"])
    for name in ("request", "reasoningSummaries", "citations", "outputText"):
        assert [row[name] for row in told["attempts"]] == [row[name] for row in audit["attempts"]]
    assert told["validation"][0]["failures"] == verdict["failures"]
    assert told["modelTextWithheld"] is False
    async with pages(database_url) as client:
        page = re.sub(r"\s+", " ", unescape(TAG.sub(" ", (await client.get(f"{page_of(POST)}/audit")).text)))
    for shown in (
        f"What it was sent Article: {POST.text}",
        "Tools it was offered web_search, fetch_url",
        "as its provider summarises it Is it so? About the rest.",
        "2 pages it cited Owls of the world",
        "an earlier review failed: It was about: busy",
    ):
        assert shown in page
    assert "is not shown" not in page


@pytest.mark.requirement("2.12-07")
async def test_why_a_site_did_not_confirm_the_text(database_url: str) -> None:
    """2.12-07: Audit publicly reachable."""
    tape = Tape()
    tape.add(TWEET.unavailable("first", "host_busy"), TWEET.registered(), *TWEET.run())
    tape.add(TWEET.unavailable("later", "no_text"), TWEET.seen("later"))
    await tell(database_url, tape)
    async with graphql_client(database_url) as graphql:
        audit = await audit_of(graphql, TWEET)
    assert audit["verificationFailure"]["reason"] == "no_text", "the newest"
    assert (await document_of(database_url, TWEET))["audit"]["verificationFailure"] == audit["verificationFailure"]
    async with pages(database_url) as client:
        page = (await client.get(f"{page_of(TWEET)}/audit")).text
    assert re.search(r"Why the site did not confirm the text</h2>\s*<p>no text, <time", page)


@pytest.mark.requirement("2.12-05", "2.12-07")
async def test_an_update_tells_what_has_changed(database_url: str) -> None:
    """2.12-05: Update lineage stored.
    2.12-07: Audit publicly reachable.
    """
    tape = Tape()
    tape.add(OLD.registered(), *OLD.run(), EDITED.registered(), EDITED.requested(), EDITED.started(parent=OLD))
    tape.add(EDITED.drafted(), EDITED.completed())
    await tell(database_url, tape)
    async with graphql_client(database_url) as graphql:
        audit = await audit_of(graphql, EDITED)
    assert (audit["contentDiff"], audit["parentInvestigationId"]) == ("-old\n+new", str(OLD.investigation_id))
    assert (await document_of(database_url, EDITED))["audit"]["contentDiff"] == "-old\n+new"
    async with pages(database_url) as client:
        page = (await client.get(f"{page_of(EDITED)}/audit")).text
    assert '<pre class="said" tabindex="0" dir="auto">-old\n+new</pre>' in page
    assert f'Since <a href="{page_of(OLD)}">' in page


async def answers(url: str, folder: Path) -> dict[str, str]:
    """Everything that anybody can read about the post, by what it is called."""
    found = {"document": json.dumps(await document_of(url, POST), ensure_ascii=False)}
    database = Database(url, role="reader")
    try:
        await export(database, folder, "jsonl", full=True)
        async with Bench(record=PublicRecord(database)).http as client:
            for name, given in (
                ("getInvestigation", {"investigationId": str(POST.investigation_id)}),
                ("getPostInvestigations", {"platform": "WIKIPEDIA", "externalId": POST.post.external_id}),
                ("searchInvestigations", {"limit": 5, "offset": 0, "query": "owls"}),
            ):
                response = await client.get(f"/trpc/public.{name}", params={"input": json.dumps(given)})
                assert response.status_code == 200, response.text
                found[name] = response.text
    finally:
        await database.close()
    found |= {file.name: file.read_text() for file in folder.rglob("*.jsonl")}  # noqa: ASYNC240 (a few small files)
    async with graphql_client(url) as graphql:
        found["graphql"] = json.dumps(await audit_of(graphql, POST), ensure_ascii=False)
        query = "{ search(query: %s) { edges { node { claimSummaries { summary } } highlights { parts { text } } } } }"
        for sought in ("eyelids", "as far as that"):
            found[f"search {sought}"] = json.dumps(await graphql.ask(query % json.dumps(sought)))
    paths = ("", "/text", "/audit", "/prompt.txt")
    async with pages(url) as client:
        for path in (
            *(f"{page_of(POST)}{path}" for path in paths),
            f"/posts/wikipedia/{POST.post.external_id}",
            "/",
            "/corrections",
            "/authors",
            "/figures",
            "/accuracy",
            "/accuracy.json",
            "/feeds/all.atom",
            "/feeds/all.json",
            "/sitemaps/2026-01-05.xml",
        ):
            response = await client.get(path)
            assert response.status_code == 200, path
            found[path] = re.sub(r"\s+", " ", unescape(TAG.sub(" ", unescape(response.text))))
    return found


@pytest.mark.requirement("2.12-07")
async def test_what_was_rejected_is_in_no_answer_however_often_the_model_says_it(
    database_url: str, tmp_path: Path
) -> None:
    """2.12-07: Audit publicly reachable."""
    tape = Tape()
    tape.add(*run_of(POST, QUOTE, NEVER_SAID))
    await tell(database_url, tape)
    async with await owner(database_url) as db:
        stored = await (await db.execute("SELECT count(*) FROM investigation_attempt_reasoning_summary")).fetchone()
    assert stored == (3,), "what is not shown is there"
    found = await answers(database_url, tmp_path)
    assert "owl eyesight" in found["graphql"]
    assert "https://e.example/0" in found["graphql"]
    assert BESIDE in found["graphql"]
    assert "is not shown: some of what it submitted is not published" in found[f"{page_of(POST)}/audit"]
    for name, text in found.items():
        assert [each for each in (NEVER_SAID, *REBUTTALS) if each in text] == [], name
        assert text.count(QUOTE) == text.count(BESIDE), f"{name} shows it elsewhere than in the post"
        assert quote(QUOTE) not in text, name


@pytest.mark.requirement("2.12-07")
async def test_what_was_rejected_is_in_no_event(nats_url: str) -> None:
    """2.12-07: Audit publicly reachable."""
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        last: dict[str, int] = {}
        for fact in run_of(POST, QUOTE, NEVER_SAID):
            subject = fact.subject()
            follows = {"follows": last.get(subject, 0)} if isinstance(fact, OnceEvent) else {}
            last[subject] = (await bus.publish(fact.model_copy(update=follows), correlation=uuid4())).sequence
        async with (
            asyncio.timeout(60),
            serving(bus) as url,
            httpx.AsyncClient(base_url=url, timeout=20) as http,
        ):
            got = await some(http, "0", 2)
    assert [each.name for each in got] == ["errata.v1.claim.approved", "errata.v1.investigation.completed"]
    assert not [each for each in got for said in (QUOTE, NEVER_SAID, *REBUTTALS) if said in each.data]


async def test_what_was_exchanged_is_read_once_and_only_if_it_is_asked_for(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = Tape()
    tape.add(*run_of(POST, QUOTE))
    await tell(database_url, tape)
    asked: list[UUID] = []
    read = Audits.exchanges

    async def counted(audits: Audits, investigation_id: UUID) -> list[Exchange]:
        asked.append(investigation_id)
        return await read(audits, investigation_id)

    monkeypatch.setattr(Audits, "exchanges", counted)
    query = """query ($id: ID!) { publicInvestigation(investigationId: $id) { investigation { audit {
        rejectedCount attempts { number toolCalls { payload } %s } } } } }"""
    async with graphql_client(database_url) as client:
        await client.ask(query % "", id=str(POST.investigation_id))
        assert asked == []
        parts = "request { input } reasoningSummaries citations { url }"
        answer = await client.ask(query % parts, id=str(POST.investigation_id))
    assert len(answer["publicInvestigation"]["investigation"]["audit"]["attempts"]) == 2
    assert asked == [POST.investigation_id]


async def test_a_run_without_end_is_told_in_a_bounded_answer(database_url: str) -> None:
    tape = Tape()
    tape.add(*run_of(POST))
    await tell(database_url, tape)
    async with await owner(database_url) as db:
        await db.execute("""
            WITH a AS (
                INSERT INTO investigation_attempt (id, investigation_id, attempt_number, round, outcome, prompt_hash,
                    content_hash, request_model, request_instructions, request_input, transcript_hash,
                    transcript_state, started_at, completed_at)
                SELECT gen_random_uuid(), investigation_id, 2 + n, 1, 'FAILED', prompt_hash, content_hash, 'm', 'i',
                    repeat('x', 300000), 'h', 'read', now(), now()
                FROM investigation_attempt, generate_series(1, 20) n WHERE attempt_number = 2
                RETURNING id
            ), o AS (
                INSERT INTO investigation_attempt_output_item SELECT gen_random_uuid(), id, 0, NULL, 'message', NULL
                FROM a RETURNING id
            ), p AS (
                INSERT INTO investigation_attempt_text_part SELECT gen_random_uuid(), id, 0, 'output_text', 't'
                FROM o RETURNING id
            ), c AS (
                INSERT INTO investigation_attempt_annotation SELECT gen_random_uuid(), id, n, 'url_citation', 0, 1,
                    repeat('u', 9000) || n, repeat('t', 9000), NULL
                FROM p, generate_series(1, 150) n
            )
            INSERT INTO investigation_attempt_reasoning_summary SELECT gen_random_uuid(), id, n, repeat('y', 9000)
            FROM o, generate_series(1, 150) n""")
    async with graphql_client(database_url) as client:
        attempts = (await audit_of(client, POST))["attempts"]
    assert (len(attempts), sum(each["request"] is not None for each in attempts)) == (22, 10)
    last = attempts[-1]
    assert (len(last["request"]["input"]), last["request"]["inputCharacters"]) == (200_000, 300_000)
    assert [len(each) for each in last["reasoningSummaries"]] == [4_000] * 100
    assert [(len(each["url"]), len(each["title"])) for each in last["citations"]] == [(4_000, 500)] * 100
    async with pages(database_url) as http:
        page = (await http.get(f"{page_of(POST)}/audit")).text
    assert len(page) < 150_000
    assert "Not all of it is shown here." in page
