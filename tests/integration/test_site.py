"""The public pages over a real read model: what they say and what they refuse."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html import escape, unescape
from html.parser import HTMLParser

import httpx
import pytest
from structlog.testing import capture_logs

from services.gateway.cursors import write_key
from services.gateway.public.site.answers import POLICY
from tests.integration.readmodel_tables import owner, prepare
from tests.support.public_record import (
    EDITED,
    ESSAY,
    HOSTILE,
    MOON,
    OLD,
    TWEET,
    Article,
    public_record,
)
from tests.support.servers import Prepare
from tests.support.site_client import (
    LD,
    TAG,
    author_of,
    client_of,
    every_page,
    page_of,
)
from tests.support.site_server import pages_of, tell
from tests.unit.projector.histories import Tape, digest

pytest_plugins = ["tests.support.servers", "tests.support.site_client"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.mark.requirement("2.7-02", "2.7-03", "2.7-04")
async def test_the_figures_at_home_and_of_an_author(http: httpx.AsyncClient) -> None:
    """2.7-02: The share of investigated posts with findings is published.
    2.7-03: Per-author counts.
    2.7-04: No cross-platform merging.
    """
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


async def test_a_cursor_whose_time_has_no_zone_is_refused(http: httpx.AsyncClient) -> None:
    cursor = write_key("2026-01-01T00:00:00", str(MOON.investigation_id))
    assert (await http.get("/retractions", params={"after": cursor})).status_code == 400


async def test_a_shared_link_finds_its_post(http: httpx.AsyncClient) -> None:
    number = TWEET.url.rpartition("/")[2]
    for link in (TWEET.url, f"https://twitter.com/renamed/status/{number}?s=46&t=abc", f"x.com/i/status/{number}#m"):
        for order in ("", "newest"):
            page = (await http.get("/corrections", params={"q": link, "order": order})).text
            assert re.findall(r'<h2><a href="([^"]+)"', page) == [page_of(TWEET)], link
            assert escape(link) in page, "what was searched for is repeated as it was entered"


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


async def test_words_of_others_are_of_no_language_that_we_know_of(http: httpx.AsyncClient) -> None:
    """The page is in English; a screen reader would read them as English too."""
    for path in ("/corrections", page_of(MOON), f"{page_of(HOSTILE)}/text", "/posts/wikipedia/en:555"):
        page = (await http.get(path)).text
        unmarked = re.findall(
            r'<(?:p|div|blockquote)(?: class="(?:quote|post|change)")?(?: dir="auto")?>(?:<q>)?', page
        )
        assert [tag for tag in unmarked if "class" in tag or tag.startswith("<blockquote dir")] == [], path
        assert 'lang=""' in page, path
    search = (await http.get("/corrections?q=fortifications")).text
    assert re.search(r"<li><b>Text</b><bdi>[^<]*<mark>fortifications</mark>[^<]*</bdi></li>", search)


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
    """2.12-01: Input text and contentHash persisted.
    2.12-02: Prompt version/hash/text persisted.
    2.12-03: Provider/model/version metadata.
    2.12-06: Source snapshots with hash and retrieval time.
    2.12-07: Audit publicly reachable.
    3.4-09: Every public answer says how far it can be trusted.
    """
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
    assert "2 of 4 candidates; 2 rejected and not shown" in text
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
    assert (item["tags"], item["title"][:6]) == (["SERVER_VERIFIED", "demo"], "[Demo]")
    assert 'class="tag demo"' not in (await http.get(page_of(MOON))).text


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
        assert "Nothing is at this address." in response.text, "something may have been, which was erased"


async def test_what_is_under_way_is_not_shown(http: httpx.AsyncClient, database_url: str) -> None:
    errata, _ = public_record()
    waiting = Article("en:777", "Nobody has looked yet. It is so.")
    errata.add(waiting.registered(), waiting.requested(), waiting.started(), waiting.proposed(0))
    await tell(database_url, errata)
    assert (await http.get(page_of(waiting))).status_code == 404
    assert "under way" in (await http.get("/posts/wikipedia/en:777")).text


async def test_without_a_database_pages_say_so(database_url: str) -> None:
    errata, _ = public_record()
    nowhere = "postgresql+psycopg://reader@127.0.0.1:9/none"
    async with pages_of(nowhere, errata.now) as router, client_of(router) as client:
        for path in ("/corrections", "/figures", page_of(MOON), "/feeds/all.atom"):
            with capture_logs() as logs:
                response = await client.get(path)
            assert (response.status_code, "try again" in response.text) == (503, True)
            logged = [(line["event"], line["path"], line["reason"]) for line in logs]
            assert logged == [("unavailable", path, "database: OperationalError")]
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
