"""What a page weighs and costs, whatever it has to show."""

from __future__ import annotations

import asyncio
import gzip
import re
import threading
from datetime import UTC, datetime
from html import unescape

import httpx
import pytest

from kit.database import Database
from services.gateway.public.site.answers import POLICY
from services.gateway.public.site.changes import Changes, compare_texts
from services.gateway.public.site.pages import Pages
from services.gateway.public.site.posts import PostPages
from services.gateway.record.repository import PublicRecord
from tests.integration.readmodel_tables import owner, prepare
from tests.support.explained import plans, statements
from tests.support.public_record import (
    MOON,
    Article,
    Finding,
    public_record,
)
from tests.support.servers import Prepare
from tests.support.site_client import (
    every_page,
    page_of,
)
from tests.support.site_server import ClockAt, tell

pytest_plugins = ["tests.support.servers", "tests.support.site_client"]

STATEMENTS, BUFFERS = 20, 1_500


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


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


async def test_pages_are_packed_where_that_is_understood(http: httpx.AsyncClient) -> None:
    async with http.stream("GET", page_of(MOON), headers={"accept-encoding": "gzip"}) as response:
        raw = b"".join([chunk async for chunk in response.aiter_raw()])
    assert response.headers["content-encoding"] == "gzip"
    plain = await http.get(page_of(MOON), headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert gzip.decompress(raw) == plain.content
    assert plain.headers["etag"] == response.headers["etag"]
    assert len(raw) < len(plain.content) / 2
    for refusing in ("gzip;q=0", "identity, GZIP ; q=0.000", "br"):
        answer = await http.get(page_of(MOON), headers={"accept-encoding": refusing})
        assert "content-encoding" not in answer.headers, refusing
    for taking in ("br, gzip;q=0.10", "gzip;q=1.0"):
        answer = await http.get(page_of(MOON), headers={"accept-encoding": taking})
        assert answer.headers["content-encoding"] == "gzip", taking


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
        return compare_texts(old, new)

    posts = PostPages(PublicRecord(database), ClockAt(datetime(2026, 3, 1, tzinfo=UTC)), held)
    asked = [asyncio.create_task(posts.post("wikipedia", "en:555")) for _ in range(3)]
    assert await asyncio.to_thread(began.wait, 20)
    async with asyncio.timeout(60):
        while await _in_transactions(database_url):
            pass
    go_on.set()
    for page in await asyncio.gather(*asked):
        assert page is not None
        compared = page["compared"]
        assert isinstance(compared, list)
        assert compared[0].changes.removed_words > 0
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
    pages = Pages(PublicRecord(database), ClockAt(datetime(2026, 3, 1, tzinfo=UTC)), dict)
    first = await pages.card(MOON.investigation_id)
    assert first is not None
    assert await pages.card(MOON.investigation_id) is first
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
    audit = (await http.get(f"{page_of(MANY)}/audit")).text
    linked = re.findall(rf'href="({page_of(MANY)}\?finding=\d+)#(finding-\d+)"', audit)
    assert len(linked) == 60
    for path, place in linked:
        assert f'id="{place}"' in (await http.get(path)).text, path
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
