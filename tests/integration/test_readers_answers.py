"""What the read model answers a reader: earlier results, provenance, counts, and each site's own fields.

Each test guards one behaviour that could once be broken without any test noticing; tests/mutants breaks them again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic import JsonValue

from contracts.v1 import Event
from contracts.v1.parts import Author, Provenance
from kit.database import Database
from services.gateway.graphql.reads import Record
from services.gateway.ports import Complete, Running
from services.gateway.reads import SqlReads
from tests.integration.readmodel_tables import everything, fill, prepare, store_at
from tests.support.servers import Prepare
from tests.unit.projector.histories import FACT_CHECK, Page, Tape

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


async def project(url: str, *facts: Event, views: tuple[Event, ...] = (), one_by_one: bool = False) -> None:
    """Write these facts into the read model, in one batch or each in its own."""
    errata, viewed = Tape(), Tape("VIEWS")
    errata.add(*facts)
    viewed.add(*views)
    store = store_at(url)
    await fill(store, errata.records, [1] * len(facts) if one_by_one else None)
    if views:
        await fill(store, viewed.records)
    await store.close()


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[SqlReads]:
    """The gateway's reads, in the reader's role."""
    database = Database(url, role="reader")
    try:
        yield SqlReads(database, analysis=FACT_CHECK)
    finally:
        await database.close()


@pytest.mark.requirement("2.6-09", "2.9-11", "3.5-02")
@pytest.mark.parametrize("provenance", ["SERVER_VERIFIED", "CLIENT_FALLBACK"])
async def test_only_a_verified_earlier_result_is_shown_in_the_interim(
    database_url: str, provenance: Provenance
) -> None:
    """2.6-09, 2.9-11: a result about words that only readers vouch for is no interim answer about an edited post.

    2.6-09: An earlier result that only readers vouch for is not returned.
    2.9-11: Only verified earlier results are shown meanwhile.
    3.5-02: The newest verified earlier result is chosen.
    """
    platform = "X" if provenance == "CLIENT_FALLBACK" else "WIKIPEDIA"
    old = Page("en:7", "An older text.", platform=platform, provenance=provenance)
    new = Page("en:7", "A newer text.", platform=platform, provenance=provenance)
    await project(database_url, old.registered("old"), *old.investigated(), new.registered("new"), new.requested())
    async with reading(database_url) as reads:
        view = await reads.view(new.version_id)
        running = await reads.investigation(new.investigation_id)
    assert view is not None
    assert isinstance(running, Running)
    expected = old.investigation_id if provenance == "SERVER_VERIFIED" else None
    assert (view.prior and view.prior.investigation_id) == expected
    assert (running.prior and running.prior.investigation_id) == expected


@pytest.mark.requirement("3.5-02")
@pytest.mark.parametrize("one_by_one", [True, False])
async def test_the_newest_verified_result_is_the_interim_one(database_url: str, one_by_one: bool) -> None:
    """3.5-02: of two verified versions with results, the one that was checked last counts, whatever came first.

    3.5-02: The newest verified earlier result is chosen.
    """
    first, second = Page("en:7", "First text."), Page("en:7", "Second text.")
    newest = Page("en:7", "Newest text.")
    await project(
        database_url,
        first.registered("1"),
        second.registered("2"),
        *second.investigated(),
        *first.investigated(),
        newest.registered("3"),
        one_by_one=one_by_one,
    )
    async with reading(database_url) as reads:
        view = await reads.view(newest.version_id)
    assert view is not None
    assert view.prior is not None
    assert view.prior.investigation_id == first.investigation_id


@pytest.mark.requirement("2.6-07")
@pytest.mark.parametrize("provenance", ["SERVER_VERIFIED", "CLIENT_FALLBACK"])
async def test_a_result_names_the_provenance_of_the_words_it_is_about(
    database_url: str, provenance: Provenance
) -> None:
    """2.6-07: a view, a look-up by id and a summary say alike who vouches for the text, and how many confirm it.

    2.6-07: A view of a finished version returns its claims.
    """
    page = Page("t1", platform="X", provenance=provenance)
    reporters = (page.viewed("a", reporter="key-1"), page.viewed("b", reporter="key-2"))
    await project(database_url, page.registered(), *page.investigated(), views=reporters)
    async with reading(database_url) as reads:
        view = await reads.view(page.version_id)
        result = await reads.investigation(page.investigation_id)
    assert view is not None
    assert view.complete is not None
    assert isinstance(result, Complete)
    assert view.complete.provenance == result.provenance == provenance
    corroborations = 2 if provenance == "CLIENT_FALLBACK" else 0
    assert view.corroborations == corroborations
    database = Database(database_url, role="reader")
    async with database.connect() as connection:
        record = Record(connection)
        (summary,) = await record.summaries([page.investigation_id])
        whole = await record.public(page.investigation_id)
        found = await record.post("X", "t1")
    await database.close()
    assert whole is not None
    assert found is not None
    for row in (summary, whole, found[1][0]):
        assert (row["provenance"], row["corroboration_count"]) == (provenance, corroborations)


@pytest.mark.requirement("2.5-04")
async def test_users_are_counted_and_not_their_views(database_url: str) -> None:
    """2.5-04: "viewed by N users" is the number of credited viewers; one who comes back is one.

    2.5-04: Popup: "viewed by N users".
    """
    page = Page("en:7")
    views = (
        *(page.viewed("ada", nth=n) for n in range(5)),
        page.viewed("bob"),
        page.viewed("eve", nth=0),
    )
    await project(database_url, page.registered(), views=views)
    ((post,),) = ((await everything(database_url))["post"],)
    assert post["view_count"] == 7
    async with reading(database_url) as reads:
        view = await reads.view(page.version_id)
    assert view is not None
    assert view.views == 3


@pytest.mark.requirement("2.7-04")
async def test_one_name_on_two_platforms_is_two_authors(database_url: str) -> None:
    """2.7-04: authors of two platforms are never merged, even under one id and one name.

    2.7-04: No cross-platform merging.
    """
    pages = [Page("t1", platform="X", provenance="CLIENT_FALLBACK"), Page("p1", platform="LESSWRONG")]
    for page in pages:
        page.author = Author(platform_user_id="ada", display_name="Ada")
    await project(database_url, *(fact for page in pages for fact in (page.registered(), *page.investigated())))
    tables = await everything(database_url)
    assert {(row["platform"], row["platform_user_id"]) for row in tables["author"]} == {
        ("X", "ada"),
        ("LESSWRONG", "ada"),
    }
    assert len({row["author_id"] for row in tables["post"]}) == 2


FIELDS: dict[str, tuple[dict[str, JsonValue], dict[str, JsonValue]]] = {
    "LESSWRONG": (
        {
            "slug": "on-bread",
            "title": "On bread",
            "karma": 41,
            "author_name": "Ada",
            "author_slug": "ada-l",
            "tags": ["one", "two"],
            "published_at": "2026-01-02T03:04:05+00:00",
        },
        {},
    ),
    "X": (
        {
            "text": "Words of a post.",
            "author_handle": "ada",
            "author_display_name": "Ada L",
            "media_urls": ["https://m.example/1"],
            "like_count": 5,
            "retweet_count": 6,
            "posted_at": "2026-01-02T03:04:05+00:00",
        },
        {"tweet_id": "7"},
    ),
    "SUBSTACK": (
        {
            "publication_subdomain": "letters",
            "slug": "on-bread",
            "title": "On bread",
            "subtitle": "A crust",
            "author_name": "Ada",
            "author_substack_handle": "adal",
            "published_at": "2026-01-02T03:04:05+00:00",
            "like_count": 5,
            "comment_count": 6,
        },
        {"substack_post_id": "7"},
    ),
    "WIKIPEDIA": (
        {
            "title": "Brot",
            "display_title": "Brot (Lebensmittel)",
            "revision_id": "70",
            "last_modified_at": "2026-01-02T03:04:05+00:00",
        },
        {"page_id": "7", "language": "de"},
    ),
}
"""By platform: metadata under the names of its columns, and the columns that derive from the post's own id."""


@pytest.mark.requirement("3.2-12", "3.2-13")
@pytest.mark.parametrize("platform", FIELDS)
async def test_each_site_s_fields_stand_in_the_columns_of_their_names(database_url: str, platform: str) -> None:
    """3.2-12, 3.2-13: metadata tables per platform, karma among them; no value stands in another's column.

    3.2-12: Metadata tables per platform.
    3.2-13: The votes of a LessWrong post are kept.
    """
    given, derived = FIELDS[platform]
    page = Page("de:7" if platform == "WIKIPEDIA" else "7", platform=platform)
    fact = page.registered()
    await project(
        database_url,
        fact.model_copy(update={"sighting": fact.sighting.model_copy(update={"metadata": given})}),
    )
    (row,) = (await everything(database_url))[f"{platform.lower()}_version_meta"]
    html = {"server_html_hash", "client_html_hash", "image_urls"} if platform != "X" else set()
    assert row.keys() - html - {"post_version_id", "created_at"} == (given | derived).keys()
    assert {name: row[name] for name in given | derived} == given | derived
