"""What only a reader vouches for is in no list, whoever lists; once enough vouch for it, it is in all, with provenance.

Every address, every field of GraphQL and every procedure is named here as a list or as an answer about one thing, so a
new one cannot be added without saying which it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from kit.database import Database
from platforms.base import HIDDEN_BY_AUTHOR
from services.commands.export.run import export
from services.gateway.public.graphql.schema import make_schema
from services.gateway.record.connection import open_transaction
from services.gateway.record.posts import VERSIONS
from services.gateway.record.question import Filters
from services.gateway.record.repository import PublicRecord
from services.gateway.record.search import Search
from tests.integration.readmodel_tables import everything, fill, prepare, store_at
from tests.support.bluesky_page import PinnedPage
from tests.support.graphql_client import Client, graphql_client
from tests.support.public_record import MOON, TWEET, Article, Finding
from tests.support.servers import Prepare, Servers
from tests.support.site_client import LD, client_of, page_of
from tests.support.site_server import pages_of
from tests.unit.gateway.fakes import Bench, KeptCopies
from tests.unit.projector.histories import Tape, uid

pytest_plugins = ["tests.support.servers"]

FORGED = Article(
    "1790000000000000009",
    "Everybody should know that zyzzyva beetles rule the world.",
    Finding("zyzzyva beetles rule the world.", "Zyzzyva is a genus of weevils; they rule nothing."),
    platform="X",
    author="Slandered Person",
    url="https://x.com/slandered/status/1790000000000000009",
    verified=False,
)
TRACES = ("zyzzyva", "Slandered", FORGED.post.external_id, str(FORGED.investigation_id))

LISTS = {
    "/": ["/"],
    "/corrections": ["/corrections", "/corrections?platform=x", "/corrections?q=beetles", "/corrections?q=person"],
    "/retractions": ["/retractions"],
    "/authors": ["/authors", "/authors?q=person", "/authors?q=pe"],
    "/figures": ["/figures"],
    "/accuracy": ["/accuracy"],
    "/accuracy.json": ["/accuracy.json"],
    "/log": ["/log"],
    "/feeds/{name}.{kind}": ["/feeds/all.atom", "/feeds/all.json", "/feeds/x.atom", "/feeds/x.json"],
    "/sitemap.xml": ["/sitemap.xml"],
    "/sitemaps/{name}.xml": ["/sitemaps/pages.xml", "/sitemaps/2026-01-05.xml"],
}
OF_AN_AUTHOR = {"/authors/{id}", "/feeds/authors/{name}.{kind}"}
OF_ONE = {
    "/investigations/{id}": page_of(FORGED),
    "/investigations/{id}/text": f"{page_of(FORGED)}/text",
    "/investigations/{id}/audit": f"{page_of(FORGED)}/audit",
    "/posts/{platform}/{external_id:path}": f"/posts/x/{FORGED.post.external_id}",
}
WITHOUT_FINDINGS = {
    "/corrections/{id}",
    "/appeals/{id}",
    "/publishers/{domain}",
    "/v1/publishers/{id}",
    "/investigations/{id}/prompt.txt",
    "/investigations/{id}/proof.cbor",
    "/investigations/{id}/card.png",
    "/sources/{sha256}",
    "/how-it-works",
    "/problems/{slug}",
    "/api",
    "/docs",
    "/robots.txt",
    "/static/icon.svg",
}
SUMMARY = "id origin { provenance serverVerifiedAt corroboratedAt } claimSummaries { summary } url"
GRAPHQL_LISTS = {
    "searchInvestigations": f"""{{ a: searchInvestigations {{ investigations {{ {SUMMARY} }} }}
        b: searchInvestigations(query: "beetles", platform: X, minClaimCount: 1)
        {{ investigations {{ {SUMMARY} }} }} }}""",
    "search": f"""{{ a: search {{ edges {{ node {{ {SUMMARY} }} title authorName authorConfirmed }} }}
        b: search(query: "beetles") {{ edges {{ node {{ {SUMMARY} }} highlights {{ parts {{ text }} }} }} }}
        c: search(query: "person", order: NEWEST) {{ edges {{ node {{ {SUMMARY} }} }} }} }}""",
}
GRAPHQL_OF_AUTHORS = """{ authors { edges { node { displayName investigations { edges { node { id } } } } } }
    publicMetrics(authorId: "%s") { totalInvestigatedPosts } }"""
GRAPHQL_COUNTS = "{ publicMetrics(platform: X) { totalInvestigatedPosts investigatedPostsWithFlags } }"
GRAPHQL_OF_ONE = {"publicInvestigation", "postInvestigations", "author"}
NO_FINDINGS = {"integrityAnomalies"}
"""What readers sent and sites contradicted: no investigation is in it."""


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


async def tell(url: str, *tapes: Tape) -> None:
    store = store_at(url)
    for tape in tapes:
        await fill(store, tape.records)
    await store.close()


def vouched_by(*networks: str, reporter: str | None = None) -> Tape:
    tape = Tape("VIEWS")
    for network in networks:
        tape.add(FORGED.viewed(f"viewer in {network}", network=network, reporter=reporter))
    return tape


def story() -> Tape:
    errata = Tape()
    errata.add(MOON.registered(), *MOON.run(), FORGED.registered(), *FORGED.run())
    return errata


@asynccontextmanager
async def pages(url: str) -> AsyncIterator[tuple[httpx.AsyncClient, set[str]]]:
    """A client, and every address there is."""
    async with pages_of(url, story().now, copies=KeptCopies()) as router, client_of(router) as client:
        yield client, {route.path for route in router.routes}  # type: ignore[attr-defined]  # all of them are Routes


async def listed(url: str) -> dict[str, str]:
    """Every list anybody can read, by what it is called."""
    found: dict[str, str] = {}
    async with pages(url) as (client, _):
        for path in (path for paths in LISTS.values() for path in paths):
            response = await client.get(path)
            assert response.status_code == 200, path
            found[path] = re.sub(r'name="q" value="[^"]*"', "", response.text)
    async with graphql_client(url) as client_:
        for name, query in GRAPHQL_LISTS.items():
            found[name] = json.dumps(await client_.ask(query))
    database = Database(url, role="reader")
    try:
        async with Bench(record=PublicRecord(database)).http as client:
            for question in ({"limit": 5, "offset": 0}, {"query": "beetles", "limit": 5, "offset": 0}):
                asked = {"input": json.dumps(question)}
                found[f"trpc {question}"] = (await client.get("/trpc/public.searchInvestigations", params=asked)).text
    finally:
        await database.close()
    return found


async def exported(url: str, folder: Path) -> str:
    database = Database(url, role="reader")
    try:
        await export(database, folder, "jsonl", full=True)
    finally:
        await database.close()
    return "\n".join(file.read_text() for file in sorted(folder.rglob("*.jsonl")))  # noqa: ASYNC240 (a few small files)


async def counted(client: Client) -> object:
    return (await client.ask(GRAPHQL_COUNTS))["publicMetrics"]


async def test_every_interface_is_a_list_or_an_answer_about_one_thing(database_url: str) -> None:
    async with pages(database_url) as (_, paths):
        css = {path for path in paths if path.endswith(".css")}
        assert paths == {*LISTS, *OF_AN_AUTHOR, *OF_ONE, *WITHOUT_FINDINGS, *css}
    query = make_schema().query_type
    assert query is not None
    named = {*GRAPHQL_LISTS, "authors", "publicMetrics", *GRAPHQL_OF_ONE, *NO_FINDINGS}
    assert set(query.fields) == named
    public = {path for path in Bench().app.shell.openapi()["paths"] if path.startswith("/trpc/public.")}
    assert public == {
        f"/trpc/public.{name}"
        for name in ("getInvestigation", "getPostInvestigations", "searchInvestigations", "getMetrics")
    }


@pytest.mark.requirement("2.9-10")
async def test_what_only_a_reader_vouches_for_is_in_no_list(database_url: str, tmp_path: Path) -> None:
    """2.9-10: Every finished result is public, whoever vouches for its text."""
    await tell(database_url, story(), vouched_by("one", "two"))
    for name, text in (await listed(database_url)).items():
        assert [trace for trace in TRACES if trace in text] == [], name
    text = await exported(database_url, tmp_path)
    assert [trace for trace in TRACES if trace in text] == []
    async with pages(database_url) as (client, _):
        for path in OF_ONE.values():
            page = (await client.get(path)).text
            assert '<meta name="robots" content="noindex">' in page, path
            content = page[page.index('<main class="wrap" id="content">') :]
            assert content.index("Only readers’ word.") < content.index("<h1"), path
            assert LD.findall(page) == [], path
            assert 'href="/authors/' not in page, path
        page = (await client.get(page_of(FORGED))).text
        assert "text reported by readers, not corroborated" in page
        assert re.search(r"<bdi>Slandered Person</bdi>, according to readers", page)
        assert "Slandered" not in page[: page.index("<body>")]
        (author,) = [row for row in (await everything(database_url))["author"] if "Slandered" in row["display_name"]]
        for path in (f"/authors/{author['id']}", f"/feeds/authors/{author['id']}.atom"):
            assert (await client.get(path)).status_code == 404
    async with graphql_client(database_url) as graphql:
        assert await counted(graphql) == {"totalInvestigatedPosts": 0, "investigatedPostsWithFlags": 0}
        of_authors = await graphql.ask(GRAPHQL_OF_AUTHORS % author["id"])
        assert "Slandered" not in json.dumps(of_authors)
        assert of_authors["publicMetrics"] == {"totalInvestigatedPosts": 0}
        query = """query ($id: ID!, $post: String!, $author: ID!) {
            publicInvestigation(investigationId: $id) { investigation { origin { provenance corroboratedAt } }
                post { author { id } } claims { summary } }
            postInvestigations(platform: X, externalId: $post) { investigations { origin { provenance } } }
            author(id: $author) { displayName } }"""
        names = {"id": str(FORGED.investigation_id), "post": FORGED.post.external_id, "author": author["id"]}
        one = await graphql.ask(query, **names)
    assert one["publicInvestigation"] == {
        "investigation": {"origin": {"provenance": "CLIENT_FALLBACK", "corroboratedAt": None}},
        "post": {"author": None},
        "claims": [{"summary": "Zyzzyva is a genus of weevils; they rule nothing."}],
    }, "who asks for it by its id is answered"
    assert one["postInvestigations"]["investigations"] == [{"origin": {"provenance": "CLIENT_FALLBACK"}}]
    assert one["author"] is None


@pytest.mark.requirement("2.9-08")
@pytest.mark.parametrize("views_first", [True, False])
@pytest.mark.parametrize(("networks", "reporter"), [(("one", "two", "three"), None), (("one",), "a key")])
async def test_what_enough_vouch_for_is_in_every_list_with_its_provenance(
    database_url: str,
    stack: Servers,
    tmp_path: Path,
    views_first: bool,
    networks: tuple[str, ...],
    reporter: str | None,
) -> None:
    """2.9-08: One corroboration for each authenticated reader."""
    errata, views = story(), vouched_by(*networks, reporter=reporter)
    store = store_at(database_url)
    known = next(
        n for n, record in enumerate(errata.records) if FORGED.version_id.hex in record.subject.replace("-", "")
    )
    if views_first:
        await fill(store, errata.records[: known + 1])
        await fill(store, views.records)
        await fill(store, errata.records[known + 1 :])
    else:
        await fill(store, errata.records)
        await fill(store, views.records)
    await store.close()
    found = await listed(database_url)
    about = {name: text for name, text in found.items() if str(FORGED.investigation_id) in text}
    lists = {"/retractions", "/authors", "/authors?q=person", "/authors?q=pe"}
    elsewhere = {*lists, "/figures", "/accuracy", "/accuracy.json", "/log", "/sitemap.xml", "/sitemaps/pages.xml"}
    assert found.keys() - about.keys() == elsewhere
    for name, text in about.items():
        if name.startswith("/sitemaps"):
            continue
        said = (
            "CLIENT_FALLBACK" if name in GRAPHQL_LISTS or "trpc" in name else "text reported by readers, corroborated"
        )
        assert said.casefold() in text.casefold(), name
    assert '"corroboratedAt": "2026-' in found["search"]
    assert '"authorConfirmed": false' in found["search"]
    assert TRACES[1] not in found["/feeds/x.atom"].replace("x.com/slandered", "")
    rows = [json.loads(line) for line in (await exported(database_url, tmp_path)).splitlines() if line]
    (row,) = [row for row in rows if row.get("id") == str(FORGED.investigation_id)]
    assert row["provenance"] == "CLIENT_FALLBACK"
    async with pages(database_url) as (client, _):
        page = (await client.get(page_of(FORGED))).text
        assert "Only readers" not in page
        review = json.loads(LD.findall(page)[0])[0]
        assert review["itemReviewed"] == {
            "@type": "Claim",
            "appearance": {
                "@type": "CreativeWork",
                "description": "Text reported by readers, corroborated",
                "url": f"{FORGED.url}?first",
            },
        }
    async with graphql_client(database_url) as graphql:
        assert await counted(graphql) == {"totalInvestigatedPosts": 1, "investigatedPostsWithFlags": 1}
        tables = await everything(database_url)
        (author,) = [row for row in tables["author"] if "Slandered" in row["display_name"]]
        of_author = await graphql.ask(GRAPHQL_OF_AUTHORS % author["id"])
        assert of_author["publicMetrics"] == {"totalInvestigatedPosts": 0}, "only readers say who wrote it"


async def test_the_site_may_confirm_later(database_url: str) -> None:
    late = Article("p7", MOON.text, *MOON.findings, platform="LESSWRONG", title="Late", verified=False)
    errata = Tape()
    errata.add(late.registered(), *late.run())
    await tell(database_url, errata)
    assert (await everything(database_url))["search_document"] == []
    errata.add(late.verified())
    await tell(database_url, errata)
    (document,) = (await everything(database_url))["search_document"]
    assert document["investigation_id"] == str(late.investigation_id)
    assert document["author_id"] is not None
    async with pages(database_url) as (client, _):
        assert "text confirmed by LessWrong" in (await client.get("/corrections")).text


async def test_who_asks_not_to_be_shown_is_in_no_list_and_no_count_of_a_search(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden, errata, day = PinnedPage("The moon is made of cheese."), story(), datetime(2026, 2, 3, 12, tzinfo=UTC)
    errata.add(hidden.registered(), *hidden.checked(), at=day)
    await tell(database_url, errata)
    before = await listed(database_url)
    assert "/sitemaps/2026-02-03.xml" in before["/sitemap.xml"]
    errata.add(hidden.unavailable("later", HIDDEN_BY_AUTHOR))
    await tell(database_url, errata)
    after = await listed(database_url)
    assert str(hidden.investigation_id) in before["/corrections"]
    assert [name for name, text in after.items() if str(hidden.investigation_id) in text] == []
    assert "/sitemaps/2026-02-03.xml" not in after["/sitemap.xml"]
    assert "/sitemaps/2026-01-05.xml" in after["/sitemap.xml"]
    async with pages(database_url) as (client, _):
        found = (await client.get("/corrections?q=moon")).text
    assert "<span>1 correction</span>" in found
    reader = Database(database_url, role="reader")
    async with open_transaction(reader) as connection:
        for words in (None, "moon", "made of cheese", "§"):
            for filters in (Filters(), Filters("BLUESKY"), Filters(min_claims=1)):
                hits = await Search(connection).newest(words, filters, None, 20)
                assert hidden.investigation_id not in [hit.investigation_id for hit in hits], (words, filters)
        monkeypatch.setattr("services.gateway.record.search.CHUNK", -1)  # far behind, it is asked in another way
        assert [hit.investigation_id for hit in await Search(connection).with_offset(None, Filters(), 0, 20)] == [
            MOON.investigation_id
        ]
    await reader.close()


async def test_a_strangers_version_stands_apart_on_the_page_of_a_real_post(database_url: str, tmp_path: Path) -> None:
    forged = Article(
        MOON.post.external_id,
        "Zyzzyva beetles built the wall.",
        Finding("Zyzzyva beetles built the wall.", "No."),
        verified=False,
    )
    errata = Tape()
    errata.add(MOON.registered(), *MOON.run(), forged.registered(), *forged.run())
    await tell(database_url, errata)
    assert "Zyzzyva" not in await exported(database_url, tmp_path)
    async with pages(database_url) as (client, _):
        page = (await client.get(f"/posts/wikipedia/{MOON.post.external_id}")).text
        assert "noindex" not in page
        assert "Zyzzyva" not in page
        assert page.index(page_of(MOON)) < page.index("Only readers’ word") < page.index(page_of(forged))


async def test_no_number_of_strangers_versions_hides_that_of_the_site(database_url: str) -> None:
    errata = Tape()
    errata.add(MOON.registered(), *MOON.run())
    for n in range(VERSIONS):
        errata.add(Article(MOON.post.external_id, f"Made up, for the {n}th time.", verified=False).registered())
    await tell(database_url, errata)
    async with pages(database_url) as (client, _):
        page = (await client.get(f"/posts/wikipedia/{MOON.post.external_id}")).text
    assert "noindex" not in page
    assert page_of(MOON) in page


async def test_a_control_stands_nowhere_and_leaves_the_result_on_the_page_of_its_post(database_url: str) -> None:
    control = MOON.checked_again("CONTROL", uid("a list of controls"))
    errata = Tape()
    errata.add(MOON.registered(), *MOON.run(), *control.run())
    await tell(database_url, errata)
    async with pages(database_url) as (client, _):
        page = (await client.get(f"/posts/wikipedia/{MOON.post.external_id}")).text
        assert page_of(MOON) in page
        assert (await client.get(page_of(control))).status_code == 404


async def test_a_tweet_is_in_the_record_as_before(database_url: str) -> None:
    errata, views = Tape(), Tape("VIEWS")
    errata.add(TWEET.registered(), *TWEET.run())
    views.add(TWEET.viewed("one", reporter="one"))
    await tell(database_url, errata, views)
    async with pages(database_url) as (client, _):
        assert page_of(TWEET) in (await client.get("/corrections")).text
