"""The same record for programs: feeds, maps, documents in pages."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import httpx
import pytest

from services.gateway.public.described_reads import describe_reads
from tests.integration.readmodel_tables import prepare
from tests.support.public_record import (
    CLEAN,
    EDITED,
    ESSAY,
    HOSTILE,
    MOON,
    OLD,
    TWEET,
)
from tests.support.servers import Prepare
from tests.support.site_client import (
    BASE,
    LD,
    author_of,
    every_page,
    page_of,
)

pytest_plugins = ["tests.support.servers", "tests.support.site_client"]

ATOM = "{http://www.w3.org/2005/Atom}"
MAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


async def test_programs_that_know_the_root_get_what_they_know(http: httpx.AsyncClient) -> None:
    response = await http.get("/", headers={"accept": "*/*"})
    assert list(response.json()) == ["message"]
    assert "accept" in response.headers["vary"]


async def test_machines_read_the_same_as_people(http: httpx.AsyncClient) -> None:
    page = (await http.get(page_of(MOON))).text
    reviews, notes = (json.loads(found) for found in LD.findall(page))
    assert [review["claimReviewed"] for review in reviews] == [finding.quote for finding in MOON.findings]
    assert [note["target"]["selector"][0]["exact"] for note in notes] == [finding.quote for finding in MOON.findings]
    assert reviews[0]["url"] == f"{BASE}{page_of(MOON)}#finding-1"
    assert f'<link rel="canonical" href="{BASE}{page_of(MOON)}">' in page
    assert f'<meta property="og:image" content="{BASE}{page_of(MOON)}/card.png">' in page
    assert LD.findall((await http.get(page_of(CLEAN))).text) == []


@pytest.mark.parametrize("path", ["/feeds/all.atom", "/feeds/all.json", "/feeds/wikipedia.atom"])
async def test_a_feed_is_sent_once(http: httpx.AsyncClient, path: str) -> None:
    first = await http.get(path)
    again = await http.get(path, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert (await http.get(path, headers={"if-none-match": '"x"'})).status_code == 200


async def test_a_feed_is_sent_again_whatever_date_a_reader_names(http: httpx.AsyncClient) -> None:
    """What was erased has left the feed, and no entry has a newer date for it."""
    first = await http.get("/feeds/all.atom", headers={"if-modified-since": "Sat, 01 Jan 2050 00:00:00 GMT"})
    assert first.status_code == 200
    assert "last-modified" not in first.headers


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
    abouts = [str(item.get("external_url")).partition(":")[0] for item in items]
    assert abouts == [*["https"] * 4, "None"], "some readers would run `javascript:`"
    author = await author_of(http, "Wikipedia contributors")
    assert [item["id"] for item in (await http.get(f"/feeds{author}.json")).json()["items"]] == [ids[0], ids[3]]
    for missing in ("/feeds/nowhere.atom", "/feeds/all.rss", "/feeds/authors/x.atom"):
        assert (await http.get(missing)).status_code == 404


async def test_the_map_names_every_investigation_once(http: httpx.AsyncClient) -> None:
    index = ET.fromstring((await http.get("/sitemap.xml")).content)
    parts = [loc.text or "" for loc in index.iter(f"{MAP}loc")]
    assert parts[0] == f"{BASE}/sitemaps/pages.xml"
    everything: list[str] = []
    for part in reversed(parts[1:]):
        found = ET.fromstring((await http.get(part)).content)
        everything += [(loc.text or "").removeprefix(BASE) for loc in found.iter(f"{MAP}loc")]
    of_posts = {"/posts/x/666", "/posts/x/1790000000000000001", "/posts/wikipedia/en:555", "/posts/wikipedia/en:9316"}
    assert [path for path in everything if path.startswith("/inv")] == [
        page_of(each) for each in (MOON, TWEET, EDITED, OLD, CLEAN, HOSTILE)
    ], "the demonstration is not for search engines"
    assert {path for path in everything if path.startswith("/posts")} == {*of_posts, "/posts/lesswrong/lw-5"}
    assert await author_of(http, "Emmy Reader") in everything
    assert await author_of(http, "Grace Writer") not in everything
    once = [path for path in everything if path.startswith("/inv")]
    assert len(once) == len(set(once))
    for missing in ("/sitemaps/2019-01-01.xml", "/sitemaps/x.xml", "/sitemaps/2026-02-30.xml"):
        assert (await http.get(missing)).status_code == 404
    assert f"Sitemap: {BASE}/sitemap.xml" in (await http.get("/robots.txt")).text


@pytest.mark.parametrize("path", [path for path, _ in describe_reads() if path.startswith(("/feeds", "/acc", "/inv"))])
async def test_what_is_read_is_of_a_type_that_its_description_lists(http: httpx.AsyncClient, path: str) -> None:
    content = dict(describe_reads())[path]["get"]["responses"]["200"]["content"]
    author = (await author_of(http, "Emmy Reader")).rpartition("/")[2]
    for kind in ("atom", "json"):
        id_ = author if path.startswith("/feeds") else MOON.investigation_id
        response = await http.get(path.format(id=id_, name="all", kind=kind))
        if path.endswith("proof.cbor"):  # no post of this record is signed
            assert response.status_code == 404
        else:
            assert response.status_code == 200
            assert response.headers["content-type"].partition(";")[0] in content


async def test_what_links_to_ours_is_there(http: httpx.AsyncClient) -> None:
    elsewhere = {"/openapi.json", "/graphql", "/events", "/asyncapi.json"}
    known: set[str] = set()
    for path in await every_page(http):
        response = await http.get(path)
        if response.headers["content-type"].startswith("text/html"):
            visited = re.sub(r'<form[^>]*method="post"[^>]*>', "", response.text)
            known |= {found.replace("&amp;", "&") for found in re.findall(r'(?:href|action)="(/[^"]*)"', visited)}
    for path in known - elsewhere:
        if not path.endswith(".json") or path.startswith("/feeds"):
            assert (await http.get(path)).status_code == 200, path
