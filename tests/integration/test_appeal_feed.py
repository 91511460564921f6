"""The feed of appeals: what their pages say, the newest change first, and nothing of what was erased."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest

from contracts.v1 import ErasureOrdered
from contracts.v1.parts import Author
from kit.database import Database
from platforms.base import HIDDEN_BY_AUTHOR
from tests.integration.readmodel_tables import owner
from tests.integration.test_appeals import WORDS, appeal, decide
from tests.support.explained import plans, statements
from tests.support.gateway import migrated, serving
from tests.support.public_record import DEMO, MOON, Article, Finding
from tests.support.published_finding import ARTICLE, Published, run_of
from tests.support.servers import Prepare
from tests.support.site_client import page_of
from tests.unit.projector.histories import uid

pytest_plugins = ["tests.support.servers"]

ATOM: Final = "{http://www.w3.org/2005/Atom}"
FEEDS: Final = ("/feeds/appeals.atom", "/feeds/appeals.json")
DID: Final = "did:plc:abcdefghijklmnopqrstuvwx"
SKEET: Final = Article(
    f"{DID}/3kqk5yj2l2c2a", "Tin is a gas.", Finding("Tin is a gas.", "It is not."), platform="BLUESKY", author="Ada"
)
SKEET.author = Author(platform_user_id=DID, display_name="Ada")
TOY: Final = Article("en:778", "Honey is a metal.", Finding("Honey is a metal.", "It is not."), model=DEMO)
HEARSAY: Final = Article("en:79", "Tea is a metal.", Finding("Tea is a metal.", "It is not."), verified=False)


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.fixture
async def published(nats_url: str, database_url: str) -> AsyncIterator[Published]:
    async with serving(nats_url, database_url) as running:
        found = Published(running, database_url)
        await found.tell(*run_of(MOON), *run_of(ARTICLE), *run_of(TOY), *run_of(HEARSAY))
        yield found


async def object_to(published: Published, article: Article) -> str:
    """Appeal against the article's first finding; the appeal's id."""
    named = {"investigation_id": str(article.investigation_id), "claim_ids": [str(article.claim(0)[0])]}
    status, answer = await appeal(published, **named)
    assert status == 201, answer
    await published.tell()
    id_: str = answer["appeal_id"]
    return id_


async def items(published: Published) -> list[dict[str, Any]]:
    """The entries as JSON, which Atom has too."""
    response = await published.running.http.get(FEEDS[1])
    assert (response.status_code, response.headers["content-type"]) == (200, "application/feed+json")
    found: list[dict[str, Any]] = response.json()["items"]
    entries = ET.fromstring((await published.running.http.get(FEEDS[0])).content).findall(f"{ATOM}entry")
    assert [(entry.findtext(f"{ATOM}id"), entry.findtext(f"{ATOM}title")) for entry in entries] == [
        (item["id"], item["title"]) for item in found
    ]
    assert [[tag.get("term") for tag in entry.findall(f"{ATOM}category")] for entry in entries] == [
        item["tags"] for item in found
    ]
    assert [entry.findtext(f"{ATOM}content") for entry in entries] == [item["content_text"] for item in found]
    return found


async def test_an_appeal_is_one_entry_that_says_what_became_of_it(published: Published) -> None:
    assert await items(published) == []
    id_ = await object_to(published, ARTICLE)
    (entry,) = await items(published)
    opened, base = entry["date_published"], str(published.running.http.base_url).rstrip("/")
    assert entry == {
        "id": f"urn:uuid:{id_}",
        "url": f"{base}/appeals/{id_}",
        "external_url": f"{base}{page_of(ARTICLE)}",
        "title": "Appeal opened: something is shown as wrong that is right",
        "content_text": "An objection to a result: something is shown as wrong that is right. It names 1 finding.\n\n"
        "Open: it has not been decided yet.",
        "date_published": opened,
        "date_modified": opened,
        "tags": ["FALSE_POSITIVE", "OPEN"],
    }
    await decide(published, id_, "PARTLY")
    (entry,) = await items(published)
    assert entry["id"] == f"urn:uuid:{id_}"
    assert entry["title"].startswith("Appeal upheld in part: ")
    assert entry["content_text"].endswith(": The source says so.")
    assert entry["tags"] == ["FALSE_POSITIVE", "PARTLY"]
    assert entry["date_published"] == opened < entry["date_modified"]
    for path in FEEDS:
        feed = await published.page(path)
        assert [words for words in (WORDS, "Zora", "glass.example") if words in feed] == []


async def test_the_newest_change_comes_first_and_what_is_not_listed_is_left_out(published: Published) -> None:
    first, second = await object_to(published, ARTICLE), await object_to(published, TOY)
    assert [item["id"] for item in await items(published)] == [f"urn:uuid:{second}", f"urn:uuid:{first}"]
    demo = (await items(published))[0]
    assert demo["title"].startswith("[Demo] ")
    assert demo["tags"] == ["FALSE_POSITIVE", "OPEN", "demo"]
    await decide(published, first, "DISMISSED")
    assert [item["id"] for item in await items(published)] == [f"urn:uuid:{first}", f"urn:uuid:{second}"]
    await object_to(published, HEARSAY)
    assert len(await items(published)) == 2


async def test_an_author_who_asks_not_to_be_shown_is_left_out(published: Published) -> None:
    await published.tell(*run_of(SKEET))
    id_ = await object_to(published, SKEET)
    assert [item["id"] for item in await items(published)] == [f"urn:uuid:{id_}"]
    await published.tell(SKEET.unavailable("later", HIDDEN_BY_AUTHOR))
    assert await items(published) == []


async def test_a_feed_of_appeals_is_sent_once_and_is_gone_with_the_post(published: Published) -> None:
    id_ = await object_to(published, ARTICLE)
    http = published.running.http
    for path in FEEDS:
        first = await http.get(path)
        assert first.headers["cache-control"] == "public, max-age=60"
        again = await http.get(path, headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    tags = {path: (await http.get(path)).headers["etag"] for path in FEEDS}
    await published.tell(ErasureOrdered(erasure_id=uid("e"), post_id=ARTICLE.post_id, reason="asked for"))
    assert await items(published) == []
    for path in FEEDS:
        assert id_ not in (await http.get(path, headers={"if-none-match": tags[path]})).text
    for page in ("/corrections", "/api", "/accuracy"):
        assert "/feeds/appeals.atom" in await published.page(page)


async def test_pages_name_the_feed_of_appeals(published: Published) -> None:
    id_ = await object_to(published, ARTICLE)
    for page in (f"/appeals/{id_}", "/corrections"):
        head = (await published.page(page)).partition("</head>")[0]
        assert all(f'title="Appeals" href="{path}"' in head for path in FEEDS), page
    assert (await published.running.http.get("/feeds/appeals.rss")).status_code == 404


async def test_a_feed_of_appeals_reads_no_more_than_it_shows(published: Published, database_url: str) -> None:
    async with await owner(database_url) as db:
        await db.execute(
            """INSERT INTO appeal (id, investigation_id, kind, claims, words, links, range_key, opened_at, by_author,
                    sequence)
                SELECT gen_random_uuid(), %s, 'CONTEXT', '[]', 'x', '[]', 'x', now() - n * interval '1 hour', false, n
                FROM generate_series(1, 5000) n""",
            (ARTICLE.investigation_id,),
        )
        await db.execute("ANALYZE appeal")
    database = Database(database_url, role="reader")
    async with await database.session() as explaining, statements() as taken:
        assert len(await items(published)) == 50
        found = [plan for plan in await plans(explaining, taken) if "FROM appeal" in plan.statement]
    await database.close()
    assert found
    assert [(plan.nodes, plan.buffers) for plan in found if plan.scanned or "Sort" in plan.nodes] == []
