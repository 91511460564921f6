"""The public record as existing clients ask for it, and what ours adds, over a real read model."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kit.database import Database
from kit.http import HttpServer, bind
from platforms.base import HIDDEN_BY_AUTHOR
from services.gateway.public.graphql.graph import RecordGraph
from services.gateway.record.repository import PublicRecord
from tests.integration.readmodel_tables import fill, owner, prepare, store_at
from tests.support.bluesky_page import PinnedPage
from tests.support.graphql_client import Client, endpoint, graphql_client
from tests.support.servers import Prepare
from tests.unit.projector.histories import START, Page, Tape, digest

pytest_plugins = ["tests.support.servers"]

UTC_MILLISECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
AUDIT = Path(__file__).parent / "graphql_audit"

DETAIL = """query ($id: ID!) { publicInvestigation(investigationId: $id) {
    investigation { id checkedAt promptVersion provider model corroborationCount
        origin { provenance serverVerifiedAt } }
    post { platform externalId url }
    claims { id text context summary reasoning sources { url title snippet } } } }"""
SEARCH = """query ($query: String, $platform: Platform, $minClaimCount: Int, $limit: Int, $offset: Int) {
    searchInvestigations(
        query: $query, platform: $platform, minClaimCount: $minClaimCount, limit: $limit, offset: $offset
    ) { investigations { id contentHash checkedAt platform externalId url claimCount corroborationCount
            origin { provenance serverVerifiedAt } claimSummaries { id summary } } hasMore } }"""
POST = """query ($platform: Platform!, $externalId: String!) {
    postInvestigations(platform: $platform, externalId: $externalId) {
        post { url author { displayName } } investigations { id checkedAt claimCount claimSummaries { summary } } } }"""
METRICS = """query ($platform: Platform, $authorId: ID, $start: DateTime, $end: DateTime) {
    publicMetrics(platform: $platform, authorId: $authorId, windowStart: $start, windowEnd: $end) {
        totalInvestigatedPosts investigatedPostsWithFlags factCheckIncidence } }"""


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


FLAGGED = Page("en:1", "The moon is made of 100% cheese. Wrong sentence 0. Wrong sentence 2.")
CLEAN = Page("en:2", "The sun is a star, and nothing is wrong with_that.")
TWEET = Page("77", "Only readers saw this moon.", platform="X", provenance="CLIENT_FALLBACK")
WAITING = Page("en:3", "Nobody has looked yet.")


def story() -> tuple[Tape, Tape]:
    errata, views = Tape(start=START + timedelta(microseconds=713_513)), Tape("VIEWS")
    for page in (FLAGGED, CLEAN, TWEET, WAITING):
        errata.add(page.registered())
    errata.add(FLAGGED.anomaly("first"), CLEAN.anomaly("first"))
    errata.add(*FLAGGED.investigated())
    errata.add(CLEAN.requested(), CLEAN.started(), CLEAN.retry(), CLEAN.started(2), CLEAN.drafted(0, 2))
    errata.add(CLEAN.completed(attempt=2))
    errata.add(TWEET.requested(), TWEET.started(), TWEET.drafted(), TWEET.completed())
    errata.add(WAITING.requested())
    views.add(TWEET.viewed("a", reporter="one"), TWEET.viewed("b", reporter="two"))
    return errata, views


@pytest.fixture
async def client(database_url: str) -> AsyncIterator[Client]:
    errata, views = story()
    store = store_at(database_url)
    await fill(store, errata.records)
    await fill(store, views.records)
    await store.close()
    async with graphql_client(database_url) as client:
        yield client


async def found(client: Client, **question: Any) -> list[str]:
    return [
        row["externalId"] for row in (await client.ask(SEARCH, **question))["searchInvestigations"]["investigations"]
    ]


@pytest.mark.requirement("1.3-06", "3.4-01", "3.4-02", "3.4-09", "3.4-10")
async def test_one_investigation(client: Client) -> None:
    """1.3-06: Individual investigations inspectable.
    3.4-01: Readable without authentication.
    3.4-02: An investigation is public once it is complete.
    3.4-09: Every public answer says how far it can be trusted.
    3.4-10: Times end in Z.
    """
    answer = (await client.ask(DETAIL, id=str(FLAGGED.investigation_id)))["publicInvestigation"]
    investigation = answer["investigation"]
    assert UTC_MILLISECONDS.fullmatch(investigation["checkedAt"])
    assert (investigation["provider"], investigation["model"]) == ("DEMO", "DEMO_CATALOGUE")
    assert investigation["origin"]["provenance"] == "SERVER_VERIFIED"
    assert UTC_MILLISECONDS.fullmatch(investigation["origin"]["serverVerifiedAt"])
    assert answer["post"]["externalId"] == "en:1"
    assert [claim["text"] for claim in answer["claims"]] == ["Wrong sentence 0.", "Wrong sentence 2."]
    assert answer["claims"][0]["sources"] == [{"url": "https://source.example/1", "title": "S", "snippet": "so it is"}]
    tweet = (await client.ask(DETAIL, id=str(TWEET.investigation_id)))["publicInvestigation"]["investigation"]
    assert (tweet["corroborationCount"], tweet["origin"]) == (
        2,
        {"provenance": "CLIENT_FALLBACK", "serverVerifiedAt": None},
    )
    for nothing in (str(WAITING.investigation_id), "not-an-id", digest("x")[:32]):
        assert (await client.ask(DETAIL, id=nothing)) == {"publicInvestigation": None}


@pytest.mark.requirement("2.11-01")
async def test_the_record_can_be_read_and_nothing_else(client: Client) -> None:
    """2.11-01: No appeal workflow in v1."""
    answer = await client.ask("{ __schema { mutationType { name } subscriptionType { name } queryType { name } } }")
    assert answer["__schema"] == {"mutationType": None, "subscriptionType": None, "queryType": {"name": "Query"}}


@pytest.mark.requirement("3.4-03")
async def test_the_investigations_of_a_post(client: Client) -> None:
    """3.4-03: An unknown post has no investigations."""
    answer = (await client.ask(POST, platform="WIKIPEDIA", externalId="en:1"))["postInvestigations"]
    assert answer["post"]["author"] == {"displayName": "Author of en:1"}
    assert [row["claimCount"] for row in answer["investigations"]] == [2]
    nothing: dict[str, object] = {"post": None, "investigations": []}
    for external_id in ("en:404", ""):
        assert (await client.ask(POST, platform="WIKIPEDIA", externalId=external_id))["postInvestigations"] == nothing
    waiting = (await client.ask(POST, platform="WIKIPEDIA", externalId="en:3"))["postInvestigations"]
    assert (waiting["post"]["url"], waiting["investigations"]) == (f"{WAITING.url}?first", [])


@pytest.mark.requirement("3.4-05", "3.4-06", "3.4-07")
async def test_search_finds_and_filters(client: Client) -> None:
    """3.4-05: Search finds pieces of the text.
    3.4-06: Search can be limited to a platform.
    3.4-07: Search counts claims, says whether there is more, and gives summaries.
    """
    assert await found(client) == ["77", "en:2", "en:1"]
    assert await found(client, query="  MOON ") == ["77", "en:1"]
    assert await found(client, query="100%") == ["en:1"]
    assert await found(client, query="%") == ["en:1"]
    assert await found(client, query="with_that") == ["en:2"]
    assert await found(client, query="withXthat") == []
    assert await found(client, query="author of EN:2") == ["en:2"]
    assert await found(client, query="site.example/en:1") == ["en:1"]
    assert await found(client, query="because of **this**") == ["en:1"]
    assert await found(client, platform="X") == ["77"]
    assert await found(client, minClaimCount=1) == ["en:1"]
    assert await found(client, minClaimCount=3) == []
    page = (await client.ask(SEARCH, limit=2))["searchInvestigations"]
    assert ([row["externalId"] for row in page["investigations"]], page["hasMore"]) == (["77", "en:2"], True)
    page = (await client.ask(SEARCH, limit=2, offset=2))["searchInvestigations"]
    assert ([row["externalId"] for row in page["investigations"]], page["hasMore"]) == (["en:1"], False)
    assert await found(client, query="moon", offset=1) == ["en:1"]
    for beyond in (10_001, 2**31 - 1):
        nothing = (await client.ask(SEARCH, offset=beyond))["searchInvestigations"]
        assert nothing == {"investigations": [], "hasMore": False}
        assert await found(client, query="moon", offset=beyond) == []
    assert await found(client, query=FLAGGED.text + " and more" * 100) == []
    summaries = page["investigations"][0]["claimSummaries"]
    assert [summary["id"] for summary in summaries] == sorted(summary["id"] for summary in summaries)


@pytest.mark.requirement("3.4-04")
@pytest.mark.parametrize(
    "question", [{"limit": 0}, {"limit": 101}, {"offset": -1}, {"query": "  "}, {"query": ""}, {"minClaimCount": -1}]
)
async def test_what_is_out_of_range_is_masked(client: Client, question: dict[str, Any]) -> None:
    """3.4-04: Limit and offset of a search have bounds."""
    response = await client.post(SEARCH, **question)
    body = response.json()
    assert (response.status_code, body["data"]) == (200, None)
    (error,) = body["errors"]
    assert (error["message"], error["extensions"]) == ("Unexpected error.", {"code": "INTERNAL_SERVER_ERROR"})
    assert (error["path"], bool(error["locations"])) == (["searchInvestigations"], True)


@pytest.mark.requirement("2.7-01", "2.7-02", "2.7-04", "3.4-08")
async def test_metrics(client: Client) -> None:
    """2.7-01: Author entity per platform identity, linked to posts.
    2.7-02: The share of investigated posts with findings is published.
    2.7-04: No cross-platform merging.
    3.4-08: Figures can be limited by platform, author and time.
    """

    async def counts(**question: Any) -> tuple[int, int, float]:
        metrics = (await client.ask(METRICS, **question))["publicMetrics"]
        return tuple(metrics.values())

    assert await counts() == (3, 1, 1 / 3)
    assert await counts(platform="WIKIPEDIA") == (2, 1, 0.5)
    assert await counts(platform="LESSWRONG") == (0, 0, 0)
    author = (await client.ask('{ authors(query: "of en:1") { edges { node { id } } } }'))["authors"]["edges"][0]
    assert await counts(authorId=author["node"]["id"]) == (1, 1, 1)
    assert await counts(authorId="nobody") == (0, 0, 0)
    (moment,) = (await client.ask('{ searchInvestigations(query: "cheese") { investigations { checkedAt } } }'))[
        "searchInvestigations"
    ]["investigations"]
    at = moment["checkedAt"]
    assert await counts(start=at, end=at) == (1, 1, 1), "both ends count, though answers leave out microseconds"
    assert await counts(start=at[:-1] + "999Z", end=at[:-1] + "999Z") == (0, 0, 0)
    assert await counts(end="2026-01-05T09:00:00+09:00") == (0, 0, 0)
    status, error = await client.refused(METRICS, start="2026-01-02T00:00:00Z", end="2026-01-01T00:00:00Z")
    assert (status, error["message"]) == (200, "Unexpected error.")
    assert (await client.post(METRICS, start="2026-01-02")).status_code == 400


@pytest.mark.requirement("1.3-05", "2.7-03")
async def test_authors(client: Client) -> None:
    """1.3-05: Public database of authors and incidence metric.
    2.7-03: Per-author counts.
    """
    query = """query ($query: String, $first: Int, $after: String) {
        authors(query: $query, first: $first, after: $after) {
        edges { node { id displayName platform platformUserId
            metrics { investigatedPosts flaggedPosts claimCount factCheckIncidence }
            investigations { edges { node { externalId } } pageInfo { hasNextPage } } } }
        pageInfo { hasNextPage endCursor } } }"""
    first = (await client.ask(query, first=2))["authors"]
    names = [edge["node"]["displayName"] for edge in first["edges"]]
    assert (names, first["pageInfo"]["hasNextPage"]) == (["Author of en:1", "Author of en:2"], True)
    rest = (await client.ask(query, first=2, after=first["pageInfo"]["endCursor"]))["authors"]
    assert [edge["node"]["displayName"] for edge in rest["edges"]] == ["Author of en:3"]
    node = first["edges"][0]["node"]
    assert node["metrics"] == {"investigatedPosts": 1, "flaggedPosts": 1, "claimCount": 2, "factCheckIncidence": 1}
    assert node["investigations"]["edges"] == [{"node": {"externalId": "en:1"}}]
    assert rest["edges"][0]["node"]["metrics"]["investigatedPosts"] == 0
    for words, expected in (("OF EN:2", ["Author of en:2"]), (":2", ["Author of en:2"]), ("77", []), ("§", [])):
        answer = (await client.ask(query, query=words))["authors"]
        assert [edge["node"]["displayName"] for edge in answer["edges"]] == expected
    one = await client.ask("query ($id: ID!) { author(id: $id) { displayName } }", id=node["id"])
    assert one == {"author": {"displayName": "Author of en:1"}}
    assert await client.ask('{ author(id: "x") { id } }') == {"author": None}


@pytest.mark.requirement("1.3-07", "2.12-07")
async def test_the_audit_of_an_investigation(client: Client) -> None:
    """1.3-07: Attempt-level logic visible to users.
    2.12-07: Audit publicly reachable.
    """
    query = """query ($id: ID!) { publicInvestigation(investigationId: $id) { investigation { audit {
        analysis round requestedBy proposedCount approvedCount rejectedCount failedCount prompt { version text hash }
        validation { claimId state gate attempt } contentHash
        attempts { number outcome requestedModel promptHash inputHash transcriptHash usage { totalTokens }
            error { name message statusCode at } toolCalls { tool payload } } } } } }"""

    async def audit(page: Page) -> Any:
        answer = await client.ask(query, id=str(page.investigation_id))
        return answer["publicInvestigation"]["investigation"]["audit"]

    flagged = await audit(FLAGGED)
    assert [flagged[f"{state}Count"] for state in ("proposed", "approved", "rejected", "failed")] == [3, 2, 1, 0]
    assert [row["state"] for row in flagged["validation"]] == ["APPROVED", "REJECTED", "APPROVED"]
    assert flagged["contentHash"] == flagged["attempts"][0]["inputHash"] == digest(FLAGGED.text)
    assert flagged["prompt"]["hash"] == flagged["attempts"][0]["promptHash"] == digest(flagged["prompt"]["text"])
    assert flagged["attempts"][0]["usage"] == {"totalTokens": 15}
    clean = await audit(CLEAN)
    assert [(row["number"], row["outcome"]) for row in clean["attempts"]] == [(1, "FAILED"), (2, "SUCCEEDED")]
    error = clean["attempts"][0]["error"]
    assert (error["name"], error["message"], error["statusCode"]) == ("Http429", "provider is busy", 429)


async def test_the_tool_calls_of_an_attempt(client: Client, database_url: str) -> None:
    async with await owner(database_url) as db:
        await db.execute("""
            WITH a AS (SELECT id FROM investigation_attempt WHERE attempt_number = 2),
            item AS (INSERT INTO investigation_attempt_output_item
                SELECT gen_random_uuid(), id, 70, NULL, 'web_search_call', 'completed' FROM a RETURNING id, attempt_id)
            INSERT INTO investigation_attempt_tool_call
            SELECT gen_random_uuid(), attempt_id, id, 70, NULL, 'web_search', 'completed', '{"query": "sun"}',
                '2026-01-05 09:00:30.5+00', NULL, NULL FROM item""")
    answer = await client.ask(
        """query ($id: ID!) { publicInvestigation(investigationId: $id) { investigation { audit {
        attempts { toolCalls { index tool status payload capturedAt } } } } } }""",
        id=str(CLEAN.investigation_id),
    )
    attempts = answer["publicInvestigation"]["investigation"]["audit"]["attempts"]
    (call,) = [call for call in attempts[1]["toolCalls"] if call["tool"] == "web_search"]
    assert attempts[0]["toolCalls"] == []
    assert json.loads(call.pop("payload")) == {"query": "sun"}
    assert call == {"index": 70, "tool": "web_search", "status": "completed", "capturedAt": "2026-01-05T09:00:30.500Z"}


async def test_anomalies(client: Client) -> None:
    query = """query ($platform: Platform, $externalId: String, $first: Int, $after: String) {
        integrityAnomalies(platform: $platform, externalId: $externalId, first: $first, after: $after) {
            edges { node { externalId kind observed canonical detectedAt } } pageInfo { hasNextPage endCursor } } }"""
    first = (await client.ask(query, first=1))["integrityAnomalies"]
    assert (first["edges"][0]["node"]["externalId"], first["pageInfo"]["hasNextPage"]) == ("en:2", True)
    rest = (await client.ask(query, first=1, after=first["pageInfo"]["endCursor"]))["integrityAnomalies"]
    assert (rest["edges"][0]["node"]["externalId"], rest["pageInfo"]["hasNextPage"]) == ("en:1", False)
    of_post = (await client.ask(query, platform="WIKIPEDIA", externalId="en:1"))["integrityAnomalies"]
    assert [edge["node"]["observed"] for edge in of_post["edges"]] == ["a"]
    assert (await client.ask(query, platform="X"))["integrityAnomalies"]["edges"] == []
    status, error = await client.refused(query, externalId="en:1")
    assert (status, error["extensions"]) == (200, {"code": "BAD_USER_INPUT"})


async def test_ranked_and_highlighted(client: Client) -> None:
    query = """query ($query: String, $order: SearchOrder, $first: Int, $after: String) {
        search(query: $query, order: $order, first: $first, after: $after) {
            edges { cursor title authorName node { externalId }
                highlights { field parts { text matches } } } pageInfo { hasNextPage endCursor } } }"""

    async def names(**question: Any) -> list[str]:
        return [edge["node"]["externalId"] for edge in (await client.ask(query, **question))["search"]["edges"]]

    assert await names(query="wrong") == ["en:1", "en:2"]
    assert await names(query="wrong", order="NEWEST") == ["en:2", "en:1"]
    assert await names(query="wrong sentences") == ["en:1"]
    page = (await client.ask(query, query="moon"))["search"]
    (tweet, _) = page["edges"]
    assert (tweet["title"], tweet["authorName"]) == (None, "Author of 77")
    (highlight,) = tweet["highlights"]
    assert (highlight["field"], [part["text"] for part in highlight["parts"] if part["matches"]]) == ("TEXT", ["moon"])
    assert "".join(part["text"] for part in highlight["parts"]) == TWEET.text
    for order, expected in (("RELEVANCE", ["en:1", "en:2"]), ("NEWEST", ["en:2", "en:1"])):
        first = (await client.ask(query, query="wrong", order=order, first=1))["search"]
        end = first["pageInfo"]["endCursor"]
        rest = (await client.ask(query, query="wrong", order=order, first=1, after=end))["search"]
        assert [edge["node"]["externalId"] for edge in (*first["edges"], *rest["edges"])] == expected
        assert (first["pageInfo"]["hasNextPage"], rest["pageInfo"]["hasNextPage"]) == (True, False)
    for wrong in ({"first": 0}, {"first": 101}, {"after": "x"}, {"query": "q" * 501}):
        status, error = await client.refused(query, **({"order": "NEWEST"} | wrong))
        assert (status, error["extensions"]) == (200, {"code": "BAD_USER_INPUT"}), error


async def test_an_author_who_asks_not_to_be_shown_ends_no_list_and_is_not_counted_alone(database_url: str) -> None:
    query = """query ($query: String, $order: SearchOrder) {
        search(query: $query, order: $order, first: 1) { edges { node { externalId } } pageInfo { hasNextPage } } }"""
    quiet = PinnedPage("This moon shall stay unread.")
    tape = Tape()
    for page in (FLAGGED, quiet):
        tape.add(page.registered(), page.requested(), page.started(), page.drafted(), page.completed())
    tape.add(quiet.unavailable("later", HIDDEN_BY_AUTHOR))
    store = store_at(database_url)
    await fill(store, tape.records[:-1])
    async with graphql_client(database_url) as client:
        answer = await client.ask('{ authors(query: "Ada") { edges { node { id } } } }')
        ada = answer["authors"]["edges"][0]["node"]["id"]
        await fill(store, tape.records[-1:])
        await store.close()
        for order, words in (("NEWEST", None), ("NEWEST", "moon"), ("RELEVANCE", "moon")):
            found = (await client.ask(query, query=words, order=order))["search"]
            assert found == {"edges": [{"node": {"externalId": "en:1"}}], "pageInfo": {"hasNextPage": False}}
        counted = (await client.ask(METRICS, authorId=ada))["publicMetrics"]
        assert counted == {"totalInvestigatedPosts": 0, "investigatedPostsWithFlags": 0, "factCheckIncidence": 0}


async def test_every_kind_of_body_and_what_is_none(client: Client) -> None:
    http, query = client.http, "{ publicMetrics { totalInvestigatedPosts } }"
    answer = {"data": {"publicMetrics": {"totalInvestigatedPosts": 3}}}
    for sent in (
        {"json": {"query": query}},
        {"content": query, "headers": {"content-type": "application/graphql"}},
        {"data": {"query": query, "variables": "{}"}},
    ):
        response = await http.post("/graphql", **sent)
        assert (response.status_code, response.json()) == (200, answer)
        assert response.headers["content-type"] == "application/json; charset=utf-8"
    newer = {"accept": "application/graphql-response+json"}
    response = await http.post("/graphql", json={"query": query}, headers=newer)
    assert response.headers["content-type"] == "application/graphql-response+json; charset=utf-8"
    two = "query A { __typename } query B { __typename }"
    value = "query ($p: Platform) { publicMetrics(platform: $p) { __typename } }"
    for body, headers, expected in (
        ("{", {}, (400, "BAD_REQUEST")),
        ([{"query": query}], {}, (400, "BAD_REQUEST")),
        ({}, {}, (200, "BAD_REQUEST")),
        ({}, newer, (400, "BAD_REQUEST")),
        ({"query": "{"}, {}, (200, "GRAPHQL_PARSE_FAILED")),
        ({"query": "{"}, newer, (400, "GRAPHQL_PARSE_FAILED")),
        ({"query": "{ nothing }"}, {}, (200, "GRAPHQL_VALIDATION_FAILED")),
        ({"query": two}, {}, (200, "OPERATION_RESOLUTION_FAILURE")),
        ({"query": query}, {"content-type": "text/plain"}, (415, None)),
        ({"query": value, "variables": {"p": "WIKIPEDI"}}, {}, (400, None)),
        ({"query": "{ publicMetric { totalInvestigatedPosts } }"}, {}, (200, "GRAPHQL_VALIDATION_FAILED")),
    ):
        content = body if isinstance(body, str) else json.dumps(body)
        response = await http.post("/graphql", content=content, headers={"content-type": "application/json", **headers})
        error = response.json()["errors"][0]
        assert (response.status_code, error.get("extensions", {}).get("code")) == expected, (body, response.text)
        assert "data" not in response.json()
        assert "Did you mean" not in error["message"]


@pytest.mark.parametrize("first", [0, 101])
@pytest.mark.parametrize(
    "query",
    [
        "{ search(first: %d) { edges { cursor } } }",
        "{ authors(first: %d) { edges { cursor } } }",
        "{ authors { edges { node { investigations(first: %d) { edges { cursor } } } } } }",
        "{ integrityAnomalies(first: %d) { edges { cursor } } }",
    ],
)
async def test_no_page_is_larger_than_its_limit(client: Client, query: str, first: int) -> None:
    body = (await client.post(query % first)).json()
    assert {error["extensions"]["code"] for error in body["errors"]} == {"BAD_USER_INPUT"}


async def test_an_answer_can_be_kept(client: Client) -> None:
    question = {"query": "{ publicMetrics { totalInvestigatedPosts } }"}
    first = await client.http.get("/graphql", params=question)
    assert (first.status_code, first.json()["data"]["publicMetrics"]["totalInvestigatedPosts"]) == (200, 3)
    assert first.headers["cache-control"] == "no-cache"
    again = await client.http.get("/graphql", params=question, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert (await client.http.get("/graphql", params=question, headers={"if-none-match": '"other"'})).status_code == 200
    assert (await client.http.post("/graphql", json=question)).headers["etag"] == first.headers["etag"]
    changing = await client.http.get("/graphql", params={"query": "mutation { __typename }"})
    assert (changing.status_code, changing.headers["allow"]) == (405, "GET, POST")
    assert (await client.http.put("/graphql", json=question)).status_code == 405
    for nothing in ({}, {"query": ""}, {"variables": "{}"}):
        refused = await client.http.get("/graphql", params=nothing)
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET, POST")


async def test_introspection_is_on(client: Client) -> None:
    from graphql import get_introspection_query

    types = (await client.ask(get_introspection_query()))["__schema"]["types"]
    assert {"PublicInvestigationResult", "SearchInvestigationsResult"} <= {each["name"] for each in types}


async def run_audit(url: str) -> bytes:
    assert (AUDIT / "node_modules").is_dir(), "install what it needs first: make packages"
    process = await asyncio.create_subprocess_exec("node", "audit.mjs", url, cwd=AUDIT, stdout=-1, stderr=-1)
    async with asyncio.timeout(240):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out


async def test_the_public_audit_suite_finds_no_error(client: Client, database_url: str) -> None:
    database = Database(database_url, role="reader")
    server = HttpServer(endpoint(RecordGraph(PublicRecord(database))), bind("127.0.0.1", 0))
    await server.start()
    try:
        host, port = server.address
        results = json.loads(await run_audit(f"http://{host}:{port}/graphql"))
    finally:
        await server.stop()
        await database.close()
    assert (results["error"], results["warn"]) == ([], [])
    assert len(results["ok"]) >= 58, results["notice"]
