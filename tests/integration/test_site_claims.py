"""The pages of the catalogue over a real read model: off by default, apart from corrections, and honest."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import httpx
import pytest

from contracts.v1 import EntryPublished
from services.projector.store.store import Store
from tests.integration.readmodel_tables import everything, fill, prepare, store_at
from tests.support.public_claims import LAMPS, SECRET, SHIPS, TIDES, claims, tell_claims
from tests.support.public_record import public_record
from tests.support.servers import Prepare
from tests.support.site_client import BASE, TAG, client_of, every_page
from tests.support.site_server import pages_of, tell

pytest_plugins = ["tests.support.servers", "tests.support.site_client"]

CORRECTIONS_OWN = ("finding", "quote", "card", "wavy", "right", "note", "sources")
"""Classes that only corrections have, and their shapes."""


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.fixture
async def catalogue(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    errata, views = public_record()
    await tell(database_url, errata, views)
    await tell_claims(database_url)
    later = errata.now + timedelta(hours=1)
    async with (
        pages_of(database_url, later, catalogue=True, jobs=True, public_url=BASE) as router,
        client_of(router) as client,
    ):
        yield client


def words(page: str) -> str:
    return re.sub(r"\s+", " ", TAG.sub(" ", page))


@pytest.mark.requirement("FH-163")
async def test_the_pages_are_not_there_until_they_are_turned_on(http: httpx.AsyncClient, database_url: str) -> None:
    """FH-163: Catalogue pages are off until they are turned on"""
    await tell_claims(database_url)
    for path in ("/claims", f"/claims/{SHIPS}"):
        assert (await http.get(path)).status_code == 404
    assert "/claims" not in (await http.get("/")).text


async def test_claims_are_listed_and_searched(catalogue: httpx.AsyncClient) -> None:
    def found(page: str) -> list[str]:
        return re.findall(r'href="/claims/([0-9a-f-]{36})"', page)

    assert found((await catalogue.get("/claims")).text) == [str(SHIPS), str(LAMPS)]
    assert found((await catalogue.get("/claims?q=NOON")).text) == [str(SHIPS)]
    assert "No claim has these words." in (await catalogue.get("/claims?q=submarines")).text
    for bad in ("/claims?after=x", "/claims?q=" + "a" * 201):
        response = await catalogue.get(bad)
        assert (response.status_code, 'role="alert"' in response.text) == (400, True)
    assert '<a href="/claims">Claims</a>' in (await catalogue.get("/")).text


@pytest.mark.requirement("FH-164")
async def test_a_claim_shows_what_it_rests_on_and_that_it_is_no_correction(catalogue: httpx.AsyncClient) -> None:
    """FH-164: Catalogue pages look unlike corrections and show measured correctness"""
    page = (await catalogue.get(f"/claims/{SHIPS}")).text
    said = words(page)
    assert "An estimate by a model, not a correction." in said
    assert "How often such estimates are right is not measured ." in said
    assert "It was made by demo-1-2026 on" in said
    assert f'href="/desk/claims/{SHIPS}"' in page
    assert "Reading 1 of Ships sail." in said
    assert "Assumes: it is meant literally" in said
    assert "Likely , likelihood 0.50-0.90 (likely true), confidence 60 %" in said
    assert "Partly out of date. To be analysed again: confidence, verdict." in said
    assert "For it" in said
    assert "“quoted for word word" in said
    assert "as archived then, if it was · what the look-up found is not recorded · relevance 90 %" in said
    assert re.search(r'href="https://web\.archive\.org/web/\d{14}/https://for\.example/[^"]*" rel="nofollow', page)
    assert "Version 3: Clarified" in said
    assert "Why Ships of the harbour sail at noon." in said
    assert "<ins>&amp; &lt;b&gt;never&lt;/b&gt;" in page or "&lt;b&gt;never&lt;/b&gt;" in page
    assert "<del>" in page
    assert "<ins>" in page
    assert "Against it: It lists &lt;b&gt;no&lt;/b&gt; ship at noon." in said
    assert 'href="https://port.example/log"' in page
    assert "<script" not in page
    assert "<b>never" not in page
    classes = {name for found in re.findall(r'class="([^"]*)"', page) for name in found.split()}
    assert not classes & set(CORRECTIONS_OWN)
    assert 'content="noindex"' in page
    assert "application/atom+xml" not in page
    assert "Suggested by people" not in (await catalogue.get(f"/claims/{LAMPS}")).text
    assert "It was never changed." in (await catalogue.get(f"/claims/{LAMPS}")).text


@pytest.mark.requirement("FH-116")
async def test_a_hidden_claim_has_no_page(catalogue: httpx.AsyncClient) -> None:
    """FH-116: Readers flag, contributors edit, moderators decide and hide"""
    for id_ in (TIDES, UUID(int=7)):
        assert (await catalogue.get(f"/claims/{id_}")).status_code == 404
    assert (await catalogue.get("/claims/x")).status_code == 404
    assert "Tides" not in (await catalogue.get("/claims")).text
    assert "Tides" in SECRET


@pytest.mark.requirement("FH-164")
async def test_no_page_feed_map_or_figure_of_corrections_knows_of_claims(
    http: httpx.AsyncClient, catalogue: httpx.AsyncClient
) -> None:
    """FH-164: Catalogue pages look unlike corrections and show measured correctness"""
    link = b' \xc2\xb7 <a href="/claims">Claims</a>'
    for path in await every_page(http):
        with_claims = (await catalogue.get(path)).content
        assert b"harbour" not in with_claims
        assert b"Lamps" not in with_claims
        assert with_claims.replace(link, b"") == (await http.get(path)).content, path


async def test_what_changes_is_seen_at_the_next_look(catalogue: httpx.AsyncClient, database_url: str) -> None:
    """No cache keeps a page that a moderator hides."""
    response = await catalogue.get(f"/claims/{SHIPS}")
    assert response.headers["cache-control"] == "public, max-age=0"
    instance = claims()
    store: Store = store_at(database_url)
    position = len(instance.tape.records)
    hidden = instance.edited(SHIPS, "Gone.", hidden=True, kind="MODERATION_ACTION")
    instance.tape.add(hidden, at=instance.now)
    await fill(store, instance.tape.records[position:])
    await store.close()
    assert (await catalogue.get(f"/claims/{SHIPS}")).status_code == 404
    assert len((await everything(database_url))["entry"]) == len(
        [event for event, _ in instance.events if isinstance(event, EntryPublished)]
    )
