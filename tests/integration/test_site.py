"""The public pages over a real read model: what they say, what they refuse, and what they cost."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import threading
import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest
from markupsafe import escape
from starlette.routing import Router
from structlog.testing import capture_logs

from kit.database import Database
from services.gateway.reads import SqlReads
from services.gateway.site.answers import POLICY
from services.gateway.site.changes import Changes, changes
from services.gateway.site.pages import Pages
from services.gateway.site.posts import Posts
from services.gateway.site.reads import Shelf
from tests.integration.readmodel_tables import owner, prepare
from tests.support.explained import plans, statements
from tests.support.graphql_client import graphql_client
from tests.support.public_record import (
    CLEAN,
    EDITED,
    ESSAY,
    HOSTILE,
    MOON,
    OLD,
    REAL,
    TWEET,
    Article,
    Finding,
    public_record,
)
from tests.support.servers import Prepare
from tests.support.site_server import ClockAt, pages_of, tell
from tests.unit.gateway.fakes import KeptCopies
from tests.unit.projector.histories import PROMPT, Tape, digest

pytest_plugins = ["tests.support.servers"]

ATOM = "{http://www.w3.org/2005/Atom}"
MAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
LD = re.compile(r'<script type="application/ld\+json">(.*?)</script>', re.DOTALL)
TAG = re.compile(r"<[^>]+>")
BASE = "https://errata.example"
HTML = {"accept": "text/html"}
UNCITED = b"Nobody cites this."
COPY = "<html><script>alert(7)</script>d\u00e9j\u00e0</html>".encode()
STATEMENTS, BUFFERS = 20, 1_500
PAPER = b"%PDF-1.7 \xff\xfe"


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.fixture
async def http(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    errata, views = public_record()
    await tell(database_url, errata, views)
    later = errata.now + timedelta(hours=1)
    copies = KeptCopies(COPY, PAPER, UNCITED)
    async with pages_of(database_url, later, copies=copies, public_url=BASE) as router, client_of(router) as client:
        yield client


def client_of(router: Router) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=router), base_url="http://site", headers=HTML)


def page_of(article: Article) -> str:
    return f"/investigations/{article.investigation_id}"


async def author_of(http: httpx.AsyncClient, name: str) -> str:
    page = (await http.get("/authors", params={"q": name})).text
    (found,) = set(re.findall(r'href="(/authors/[0-9a-f-]{36})"', page))
    return str(found)


async def every_page(http: httpx.AsyncClient) -> list[str]:
    return [
        "/",
        "/corrections",
        "/corrections?q=moon",
        "/corrections?q=§",
        "/corrections?platform=wikipedia",
        "/corrections?q=the&platform=x",
        *(page_of(each) for each in (MOON, TWEET, ESSAY, CLEAN, OLD, EDITED, HOSTILE)),
        f"{page_of(HOSTILE)}/text",
        f"{page_of(MOON)}/audit",
        f"{page_of(HOSTILE)}/audit",
        f"{page_of(MOON)}/prompt.txt",
        f"{page_of(MOON)}/card.png",
        "/posts/wikipedia/en:555",
        "/posts/x/666",
        "/authors",
        "/authors?q=wonders",
        "/authors?q=d",
        await author_of(http, "Wikipedia contributors"),
        "/figures",
        "/how-it-works",
        "/api",
        "/docs",
        "/feeds/all.atom",
        "/feeds/all.json",
        "/feeds/wikipedia.atom",
        f"/feeds{await author_of(http, 'daily wonders')}.json",
        "/sitemap.xml",
        "/sitemaps/pages.xml",
        "/sitemaps/0.xml",
        "/robots.txt",
        "/static/icon.svg",
        "/nowhere",
    ]


async def test_every_page_is_small_and_guarded(http: httpx.AsyncClient) -> None:
    for path in await every_page(http):
        response = await http.get(path)
        assert response.status_code == (404 if path == "/nowhere" else 200), path
        assert len(response.content) < 100_000, path
        assert response.headers["content-security-policy"] == POLICY
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"]
        if response.headers["content-type"].startswith("text/html"):
            assert not re.search(r"<(?:style|iframe|object|embed|base)\b|\sstyle=|\son[a-z]+=\"", response.text), path
            assert set(re.findall(r"<script([^>]*)>", response.text)) <= {' type="application/ld+json"'}
            assert response.text.count("<h1") == 1
            assert "<title>" in response.text
    assert "script-src" not in POLICY
    assert "'unsafe" not in POLICY


async def test_a_page_is_a_few_small_questions_and_nothing_scans_a_table(
    http: httpx.AsyncClient, database_url: str
) -> None:
    """What a page costs, told by what no busy machine changes; how long it takes is measured by the benchmark."""
    costs: dict[str, tuple[int, int]] = {}
    database = Database(database_url, role="reader")
    paths = await every_page(http)
    async with await database.session() as explaining:
        for path in paths:
            async with statements() as taken:
                await http.get(path)
            found = await plans(explaining, taken)
            assert [(path, plan.scanned, plan.statement) for plan in found if plan.scanned] == []
            costs[path] = len(found), sum(plan.buffers for plan in found)
    assert {path: cost for path, cost in costs.items() if cost[0] > STATEMENTS or cost[1] > BUFFERS} == {}
    await database.close()


async def test_twenty_long_cards_of_any_script_are_a_small_page(http: httpx.AsyncClient, database_url: str) -> None:
    errata, _ = public_record()
    for n in range(21):
        said = f"第{n}号塔楼是用和平年代的石头在一年之内手工建造完成的" * 12
        findings = [Finding(f"{said}{k}", said, said) for k in range(3)]
        wide = Article(f"s-{n}", said * 3, *findings, platform="SUBSTACK", title=said, author=said)
        errata.add(wide.registered(), *wide.run())
    await tell(database_url, errata)
    for path in ("/", "/corrections", "/corrections?q=塔楼", "/corrections?platform=substack&order=newest", "/authors"):
        response = await http.get(path)
        assert response.status_code == 200
        assert response.text.count("和平") >= 20, path
        assert len(response.content) < 100_000, (path, len(response.content))
    for feed in ("/feeds/all.atom", "/feeds/all.json"):
        assert (await http.get(feed)).status_code == 200


async def test_programs_that_know_the_root_get_what_they_know(http: httpx.AsyncClient) -> None:
    response = await http.get("/", headers={"accept": "*/*"})
    assert list(response.json()) == ["message"]
    assert "accept" in response.headers["vary"]


@pytest.mark.requirement("2.7-02", "2.7-03", "2.7-04")
async def test_the_figures_at_home_and_of_an_author(http: httpx.AsyncClient) -> None:
    home = TAG.sub(" ", (await http.get("/")).text)
    assert re.search(r"posts checked\s+6\s", home)
    assert re.search(r"errors found\s+6\s", home)
    assert re.search(r"of posts had at least one\s+83 %", home)
    author = TAG.sub(" ", (await http.get(await author_of(http, "Wikipedia contributors"))).text)
    assert re.search(r"posts checked\s+2\s", author)
    assert re.search(r"with at least one error\s+2\s", author)
    assert re.search(r"errors found\s+3\s", author)


async def test_the_list_is_searched_filtered_and_paged(http: httpx.AsyncClient) -> None:
    def found(page: str) -> list[str]:
        return list(dict.fromkeys(re.findall(r'href="(/investigations/[0-9a-f-]{36})"', page)))

    everything = (await http.get("/corrections")).text
    assert found(everything) == [page_of(each) for each in (MOON, ESSAY, TWEET, OLD, HOSTILE)]
    assert found((await http.get("/corrections?q=GOLDFISH")).text) == [page_of(ESSAY)]
    assert found((await http.get("/corrections?platform=X")).text) == [page_of(TWEET), page_of(HOSTILE)]
    assert "<mark>fortifications</mark>" in (await http.get("/corrections?q=fortifications")).text
    assert "Nothing was found." in (await http.get("/corrections?q=nowhere-to-be-seen")).text
    for bad in ("/corrections?after=x", "/corrections?q=" + "a" * 501, "/authors?after=x"):
        response = await http.get(bad)
        assert (response.status_code, 'role="alert"' in response.text) == (400, True)
    moved = await http.get(f"/corrections/{MOON.investigation_id}")
    assert (moved.status_code, moved.headers["location"]) == (308, page_of(MOON))


async def test_words_bring_the_best_first_and_say_how_many(http: httpx.AsyncClient, database_url: str) -> None:
    def found(page: str) -> list[str]:
        return re.findall(r'<h2><a href="(/investigations/[0-9a-f-]{36})"', page)

    errata, _ = public_record()
    many = [
        Article(f"sun-{n}", f"A text of the day {n}. It is wrong. The sun was high.", OLD.findings[0])
        for n in range(30)
    ]
    about = Article(
        "sun", "Nothing but this. It is wrong.", OLD.findings[0], platform="SUBSTACK", title="The sun itself"
    )
    for article in (about, *many):
        errata.add(article.registered(), *article.run())
    await tell(database_url, errata)
    best = (await http.get("/corrections?q=sun")).text
    assert found(best)[0] == page_of(about)
    assert "31 corrections" in best
    second = (await http.get("/corrections?q=sun&page=2")).text
    assert found(best) + found(second) == [page_of(about), *map(page_of, many[::-1])]
    by_time = (await http.get("/corrections?q=sun&order=newest")).text
    assert found(by_time) == [page_of(each) for each in many[:9:-1]]
    older = re.search(r'href="([^"]+)" rel="next"', by_time)
    assert older is not None
    rest = (await http.get(older[1].replace("&amp;", "&"))).text
    assert found(rest) == [*map(page_of, many[9::-1]), page_of(about)]
    plain = [found((await http.get(f"/corrections?page={n}")).text) for n in (1, 2, 3)]
    assert list(map(len, plain)) == [20, 16, 0]
    assert [*plain[0], *plain[1]][:30] == [*map(page_of, many[::-1])]


async def test_a_passage_is_cut_between_words(http: httpx.AsyncClient) -> None:
    page = (await http.get("/corrections?q=restored+several")).text
    (hit,) = re.findall(r"<b>Text</b>(.*?)</li>", page)
    said = unescape(TAG.sub("", hit))
    assert said.startswith("… ")
    for word in said.strip("… ").split():
        assert word in MOON.text.split(), word


async def test_the_only_card_stands_once(database_url: str) -> None:
    errata = Tape()
    errata.add(MOON.registered(), *MOON.run())
    await tell(database_url, errata)
    async with pages_of(database_url, errata.now) as router, client_of(router) as client:
        home = (await client.get("/")).text
    assert home.count("<article") == 1
    assert home.count("<div") == home.count("</div>")


async def test_every_element_is_closed_where_it_was_opened(http: httpx.AsyncClient) -> None:
    for path in await every_page(http):
        response = await http.get(path)
        if response.headers["content-type"].startswith("text/html"):
            unclosed = Unclosed()
            unclosed.feed(response.text)
            assert (path, unclosed.wrong, unclosed.open) == (path, [], [])


class Unclosed(HTMLParser):
    """What is opened and not closed, or closed and not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[tuple[str, tuple[int, int]]] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("meta", "link", "br", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.wrong.append((tag, self.getpos()))


async def test_pages_follow_one_another_without_hole_or_repeat(http: httpx.AsyncClient, database_url: str) -> None:
    errata, _ = public_record()
    more = [Article(f"more-{n}", f"Post {n} is short. It is wrong.", OLD.findings[0]) for n in range(43)]
    for article in more:
        errata.add(article.registered(), *article.run())
    await tell(database_url, errata)
    seen: list[str] = []
    path: str | None = "/corrections?platform=wikipedia"
    while path:
        page = (await http.get(path)).text
        seen += dict.fromkeys(re.findall(r'<h2><a href="(/investigations/[0-9a-f-]{36})"', page))
        older = re.search(r'href="([^"]+)" rel="next"', page)
        path = older[1].replace("&amp;", "&") if older else None
    assert seen == [page_of(each) for each in (*more[::-1], MOON, OLD)]


@pytest.mark.requirement("2.12-01", "2.12-02", "2.12-03", "2.12-06", "2.12-07", "3.4-09")
async def test_an_investigation_shows_all_it_rests_on(http: httpx.AsyncClient) -> None:
    page = (await http.get(page_of(MOON))).text
    assert '<mark id="place-1">The Great Wall of China is visible from the Moon with the naked eye.' in page
    assert '<mark id="place-2">It is also the only man-made structure that has this distinction.' in page
    for finding in MOON.findings:
        assert finding.summary in page
    assert "far thinner</strong>" in page
    assert 'href="https://space.example/great-wall"' in page
    assert "#:~:text=It%20is%20also%20the%20only,structure%20that%20has%20this%20distinction." in page
    assert "#:~:text=The%20Great%20Wall%20of%20China%20is%20visible" in page
    assert digest(MOON.text) in page
    assert digest(MOON.findings[0].sources[0].snippet) in page
    text = re.sub(r"\s+", " ", TAG.sub(" ", page))
    assert "2 of 4 candidates" in text
    assert "2 rejected" in text
    assert "gpt-5.4 (gpt-5.4-2026-08-01), OpenAI" in text
    assert "Confirmed by Wikipedia itself" in text
    steps = ["first seen", "Attempt 1 began", "Attempt 1 failed", "Attempt 2 began", "2 of 4 passed", "Published: 2"]
    places = [text.index(step, text.index("From first sight")) for step in steps]
    assert places == sorted(places)
    assert f"/investigations/{MOON.investigation_id}.json" in page
    assert "5.0 s 9,960" in text


async def test_trust_signals_of_what_only_readers_vouch_for(http: httpx.AsyncClient) -> None:
    page = re.sub(r"\s+", " ", TAG.sub(" ", (await http.get(page_of(TWEET))).text))
    assert "Reported by readers; X has not confirmed it (timeout)" in page
    assert "By 3 trusted readers who saw the same text" in page


async def test_a_demonstration_says_so_everywhere(http: httpx.AsyncClient) -> None:
    page = (await http.get(page_of(ESSAY))).text
    assert "<title>Demo: " in page
    assert "This is a demonstration." in page
    assert '<meta name="robots" content="noindex">' in page
    assert 'property="og:title" content="Demo: ' in page
    for path in ("/", "/corrections", await author_of(http, "Grace Writer"), "/posts/substack/s-77", "/figures"):
        assert 'class="tag demo"' in (await http.get(path)).text, path
    assert "[Demo] 1 error" in (await http.get("/feeds/all.atom")).text
    (item,) = (await http.get("/feeds/substack.json")).json()["items"]
    assert (item["tags"], item["title"][:6]) == (["demo"], "[Demo]")
    assert 'class="tag demo"' not in (await http.get(page_of(MOON))).text


async def test_machines_read_the_same_as_people(http: httpx.AsyncClient) -> None:
    page = (await http.get(page_of(MOON))).text
    reviews, notes = (json.loads(found) for found in LD.findall(page))
    assert [review["claimReviewed"] for review in reviews] == [finding.quote for finding in MOON.findings]
    assert [note["target"]["selector"][0]["exact"] for note in notes] == [finding.quote for finding in MOON.findings]
    assert reviews[0]["url"] == f"{BASE}{page_of(MOON)}#finding-1"
    assert f'<link rel="canonical" href="{BASE}{page_of(MOON)}">' in page
    assert f'<meta property="og:image" content="{BASE}{page_of(MOON)}/card.png">' in page
    assert LD.findall((await http.get(page_of(CLEAN))).text) == []


async def test_hostile_texts_are_texts(http: httpx.AsyncClient) -> None:
    page = (await http.get(page_of(HOSTILE))).text
    assert "&lt;script&gt;alert(&#34;post&#34;)&lt;/script&gt;" in page
    assert 'id="place-1">The earth is \u202eflat\u202c &amp; &#34;round&#34;.' in page
    for path in (page_of(HOSTILE), f"{page_of(HOSTILE)}/text", "/", "/corrections", "/posts/x/666", "/authors"):
        shown = LD.sub("", (await http.get(path)).text)
        assert not re.search(r"<script|<img|<style|<b\b[^>]*onclick|href=\"javascript", shown), path
    for document in LD.findall(page):
        assert not set(document) & set("<>&")
    assert "words left out" in page
    assert len((await http.get(f"{page_of(HOSTILE)}/text")).text) > 40_000
    ET.fromstring((await http.get("/feeds/x.atom")).content)


async def test_what_changed_between_versions(http: httpx.AsyncClient) -> None:
    page = (await http.get("/posts/wikipedia/en:555")).text
    assert "<del>never strikes </del><ins>can strike </ins>" in page
    assert "<ins>very </ins>" in page
    assert page.index(page_of(EDITED)) < page.index(page_of(OLD))
    assert "The post has changed since" in (await http.get(page_of(OLD))).text
    assert "The post has changed since" not in (await http.get(page_of(EDITED))).text


@pytest.mark.parametrize("path", ["/feeds/all.atom", "/feeds/all.json", "/feeds/wikipedia.atom"])
async def test_a_feed_is_sent_once(http: httpx.AsyncClient, path: str) -> None:
    first = await http.get(path)
    assert first.headers["last-modified"] == "Thu, 05 Feb 2026 12:00:57 GMT"
    again = await http.get(path, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    since = await http.get(path, headers={"if-modified-since": first.headers["last-modified"]})
    assert since.status_code == 304
    earlier = await http.get(path, headers={"if-modified-since": "Wed, 04 Feb 2026 12:00:57 GMT"})
    assert earlier.status_code == 200
    other = {"if-none-match": '"x"', "if-modified-since": first.headers["last-modified"]}
    assert (await http.get(path, headers=other)).status_code == 200


async def test_feeds_hold_the_newest_corrections(http: httpx.AsyncClient) -> None:
    feed = ET.fromstring((await http.get("/feeds/all.atom")).content)
    entries = feed.findall(f"{ATOM}entry")
    ids = [f"urn:uuid:{each.investigation_id}" for each in (MOON, ESSAY, TWEET, OLD, HOSTILE)]
    assert [entry.findtext(f"{ATOM}id") for entry in entries] == ids
    assert entries[0].findtext(f"{ATOM}title") == "2 errors in “Great Wall of China”"
    links = {link.get("rel"): link.get("href") for link in feed.findall(f"{ATOM}link")}
    assert links == {"self": f"{BASE}/feeds/all.atom", "alternate": f"{BASE}/corrections"}
    items: list[dict[str, Any]] = (await http.get("/feeds/all.json")).json()["items"]
    assert [item["id"] for item in items] == ids
    author = await author_of(http, "daily wonders")
    assert [item["id"] for item in (await http.get(f"/feeds{author}.json")).json()["items"]] == [ids[2]]
    for missing in ("/feeds/nowhere.atom", "/feeds/all.rss", "/feeds/authors/x.atom"):
        assert (await http.get(missing)).status_code == 404


async def test_the_map_names_every_investigation_once(http: httpx.AsyncClient) -> None:
    index = ET.fromstring((await http.get("/sitemap.xml")).content)
    parts = [loc.text or "" for loc in index.iter(f"{MAP}loc")]
    assert parts == [f"{BASE}/sitemaps/pages.xml", f"{BASE}/sitemaps/0.xml"]
    found = ET.fromstring((await http.get("/sitemaps/0.xml")).content)
    everything = [(loc.text or "").removeprefix(BASE) for loc in found.iter(f"{MAP}loc")]
    of_posts = {"/posts/x/666", "/posts/x/1790000000000000001", "/posts/wikipedia/en:555", "/posts/wikipedia/en:9316"}
    assert [path for path in everything if path.startswith("/inv")] == [
        page_of(each) for each in (MOON, TWEET, EDITED, OLD, CLEAN, HOSTILE)
    ], "the demonstration is not for search engines"
    assert {path for path in everything if path.startswith("/posts")} == {*of_posts, "/posts/lesswrong/lw-5"}
    assert await author_of(http, "daily wonders") in everything
    assert await author_of(http, "Grace Writer") not in everything
    assert len(everything) == len(set(everything))
    for missing in ("/sitemaps/1.xml", "/sitemaps/x.xml", "/sitemaps/-1.xml"):
        assert (await http.get(missing)).status_code == 404
    assert f"Sitemap: {BASE}/sitemap.xml" in (await http.get("/robots.txt")).text


async def test_what_links_to_ours_is_there(http: httpx.AsyncClient) -> None:
    elsewhere = {"/openapi.json", "/graphql", "/events", "/asyncapi.json"}
    known: set[str] = set()
    for path in await every_page(http):
        response = await http.get(path)
        if response.headers["content-type"].startswith("text/html"):
            known |= {found.replace("&amp;", "&") for found in re.findall(r'(?:href|action)="(/[^"]*)"', response.text)}
    for path in known - elsewhere:
        if not path.endswith(".json") or path.startswith("/feeds"):
            assert (await http.get(path)).status_code == 200, path


async def test_what_is_not_there(http: httpx.AsyncClient) -> None:
    nothing = "00000000-0000-4000-8000-000000000000"
    for path in (
        f"/investigations/{nothing}",
        "/investigations/x",
        f"/investigations/{nothing}/text",
        f"/investigations/{nothing}/card.png",
        "/posts/wikipedia/en:404",
        "/posts/nowhere/1",
        "/posts/x/%00",
        f"/authors/{nothing}",
        "/authors/x",
        "/static/other.css",
    ):
        response = await http.get(path)
        assert (response.status_code, response.headers["cache-control"]) == (404, "no-store"), path
        assert "There is no such page" in response.text


async def test_what_is_under_way_is_not_shown(http: httpx.AsyncClient, database_url: str) -> None:
    errata, _ = public_record()
    waiting = Article("en:777", "Nobody has looked yet. It is so.")
    errata.add(waiting.registered(), waiting.requested(), waiting.started(), waiting.proposed(0))
    await tell(database_url, errata)
    assert (await http.get(page_of(waiting))).status_code == 404
    assert "under way" in (await http.get("/posts/wikipedia/en:777")).text


async def test_pages_are_packed_where_that_is_understood(http: httpx.AsyncClient) -> None:
    async with http.stream("GET", page_of(MOON), headers={"accept-encoding": "gzip"}) as response:
        raw = b"".join([chunk async for chunk in response.aiter_raw()])
    assert response.headers["content-encoding"] == "gzip"
    plain = await http.get(page_of(MOON), headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert gzip.decompress(raw) == plain.content
    assert plain.headers["etag"] == response.headers["etag"]
    assert len(raw) < len(plain.content) / 2


async def test_without_a_database_pages_say_so(database_url: str) -> None:
    errata, _ = public_record()
    nowhere = "postgresql+psycopg://nobody@127.0.0.1:9/none"
    async with pages_of(nowhere, errata.now) as router, client_of(router) as client:
        for path in ("/corrections", "/figures", page_of(MOON), "/feeds/all.atom"):
            response = await client.get(path)
            assert (response.status_code, "try again" in response.text) == (503, True)
        assert (await client.get("/how-it-works")).status_code == 200


async def test_a_page_that_breaks_is_a_page_without_internals(http: httpx.AsyncClient, database_url: str) -> None:
    async with await owner(database_url) as db:
        await db.execute("ALTER TABLE search_document RENAME TO search_elsewhere")
    with capture_logs() as logs:
        response = await http.get("/corrections")
    assert response.status_code == 500
    assert "<h1>Something broke</h1>" in response.text
    assert "search_" not in response.text
    assert response.headers["content-security-policy"] == POLICY
    assert [(line["event"], line["path"]) for line in logs] == [("page failed", "/corrections")]


async def test_the_host_names_itself_only_if_it_is_one(database_url: str) -> None:
    errata, _ = public_record()
    async with pages_of(database_url, errata.now) as router, client_of(router) as client:
        good = await client.get("/robots.txt", headers={"host": "errata.example:8080"})
        assert "Sitemap: http://errata.example:8080/sitemap.xml" in good.text
        bad = await client.get("/robots.txt", headers={"host": "evil.example/<x>"})
        assert "Sitemap: http://localhost/sitemap.xml" in bad.text


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
    assert f'href="{page_of(MOON)}#finding-2"' in page
    assert '<td>passed</td><td class="nowrap">found on 1 of 1 page</td><td>passed</td>' in page
    prompt = await http.get(f"{page_of(MOON)}/prompt.txt")
    assert (prompt.text, prompt.headers["content-type"]) == (PROMPT.text, "text/plain; charset=utf-8")
    assert f'href="{page_of(MOON)}/prompt.txt"' in page
    for number in (2, 3):
        assert MOON.claim(number)[1].text not in page, "what was rejected is not shown"


async def test_the_json_document_holds_the_audit_and_the_checks(
    http: httpx.AsyncClient, looked_up: Sequence[str], database_url: str
) -> None:
    database = Database(database_url, role="reader")
    result = await SqlReads(database, analysis="FACT_CHECK").public(MOON.investigation_id)
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


async def test_an_audit_of_any_size_is_a_small_page(http: httpx.AsyncClient, database_url: str) -> None:
    async with await owner(database_url) as db:
        await db.execute("""
            WITH a AS (SELECT id, n FROM investigation_attempt, generate_series(100, 500) n),
            item AS (INSERT INTO investigation_attempt_output_item
                SELECT gen_random_uuid(), id, n, NULL, 'x', NULL FROM a RETURNING id, attempt_id, output_index)
            INSERT INTO investigation_attempt_tool_call SELECT gen_random_uuid(), attempt_id, id, output_index, NULL,
                'web_search', 'completed', jsonb_build_object('query', repeat('日本 & ', 900)), now(), NULL, NULL
            FROM item""")
    page = await http.get(f"{page_of(MOON)}/audit")
    assert len(page.content) < 100_000
    assert "more calls" in page.text


async def test_texts_are_compared_beside_the_loop_and_without_a_connection(
    http: httpx.AsyncClient, database_url: str
) -> None:
    database, began, go_on = Database(database_url, role="reader"), threading.Event(), threading.Event()

    calls: list[str] = []

    def held(old: str, new: str) -> Changes:
        calls.append(old)
        began.set()
        assert go_on.wait(20), "the loop stands still meanwhile"
        return changes(old, new)

    posts = Posts(Shelf(database), ClockAt(datetime(2026, 3, 1, tzinfo=UTC)), held)
    asked = [asyncio.create_task(posts.post("wikipedia", "en:555")) for _ in range(3)]
    assert await asyncio.to_thread(began.wait, 20)
    async with asyncio.timeout(20):
        while await _in_transactions(database_url):
            pass
    go_on.set()
    for page in await asyncio.gather(*asked):
        assert page is not None
        assert page["compared"][0]["changes"].removed_words > 0
    assert len(calls) == 1, "the same is compared once for all who ask"
    await database.close()


async def _in_transactions(database_url: str) -> int:
    async with await owner(database_url) as db:
        found = await (
            await db.execute(
                """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                AND pid <> pg_backend_pid() AND state LIKE '%%transaction%%'"""
            )
        ).fetchone()
    assert found is not None
    return int(found[0])


async def test_a_picture_is_drawn_once(http: httpx.AsyncClient, database_url: str) -> None:
    database = Database(database_url, role="reader")
    pages = Pages(Shelf(database), ClockAt(datetime(2026, 3, 1, tzinfo=UTC)), dict)
    first = await pages.card(str(MOON.investigation_id))
    assert first is not None
    assert await pages.card(str(MOON.investigation_id)) is first
    await database.close()


SENTENCE = (
    "Statement {n} says that 日本 & the {n}th tower of the old town was built by hand in a single year of peace. "
)
LONG = "".join(SENTENCE.format(n=n) for n in range(4_600))[:499_990]
MANY = Article(
    "s-900",
    LONG,
    *(
        Finding(
            SENTENCE.format(n=n * 60).strip(),
            f"It is not so, since tower {n} is younger: " + "the records of the town tell of many years. " * 5,
            "The sources say so *plainly*: " + "they were kept by the town and can be read. " * 20,
        )
        for n in range(60)
    ),
    platform="SUBSTACK",
    title="A long history",
    url="https://grace.substack.com/p/long",
)


async def test_the_longest_post_with_many_findings_is_shown_in_small_pages(
    http: httpx.AsyncClient, database_url: str
) -> None:
    errata, _ = public_record()
    errata.add(MANY.registered(), *MANY.run())
    edited = Article("s-900", LONG.replace("peace", "quiet"), platform="SUBSTACK", title="A long history")
    errata.add(edited.registered(), *edited.run())
    await tell(database_url, errata)
    first = await http.get(page_of(MANY))
    parts = dict.fromkeys(re.findall(r"\?part=[0-9]+", first.text))
    pages = [first, *[await http.get(page_of(MANY) + part) for part in parts]]
    numbers = [int(n) for page in pages for n in re.findall(r'id="finding-(\d+)"', page.text)]
    assert numbers == list(range(1, 61))
    homes = set(re.findall(r'"url":"https://errata.example([^"]+#finding-\d+)"', "".join(page.text for page in pages)))
    for home in homes:
        path, _, place = home.partition("#")
        assert f'id="{place}"' in (await http.get(path)).text
    texts, at = [], f"{page_of(MANY)}/text"
    while at:
        texts.append(await http.get(at))
        found = re.search(r'href="([^"]+)" rel="next"', texts[-1].text)
        at = found[1] if found else ""
    shown = "".join(unescape(each) for page in texts for each in re.findall(r'<p dir="auto">(.*?)</p>', page.text))
    assert shown == LONG
    others = [await http.get(path) for path in ("/posts/substack/s-900", "/corrections", "/", f"{page_of(MANY)}/audit")]
    for response in (*pages, *texts, *others):
        assert response.status_code == 200
        assert len(response.content) < 100_000, response.url
    for beyond in ("?part=0", "?part=x", f"?part={len(pages) + 1}", "/text?page=0", f"/text?page={len(texts) + 1}"):
        assert (await http.get(page_of(MANY) + beyond)).status_code == 404, beyond
    assert set(re.findall(r'href="(?:[^"]*)#place-(\d+)"', pages[0].text)) <= set(
        re.findall(r'id="place-(\d+)"', first.text)
    )
