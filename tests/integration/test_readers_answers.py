"""What the read model answers a reader: earlier results, provenance, counts, and each site's own fields.

Each test guards one behaviour that could once be broken without any test noticing; tests/mutants breaks them again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import pytest
from pydantic import JsonValue

from contracts.rpc.status import VersionKey
from contracts.v1 import Event
from contracts.v1.parts import Author, Provenance
from kit.database import Database
from services.gateway.ports import Complete, Running
from services.gateway.record.investigations import Investigations
from services.gateway.record.posts import Posts
from services.gateway.record.status import SqlReads
from tests.integration.readmodel_tables import everything, fill, owner, prepare, store_at
from tests.support.servers import Prepare
from tests.unit.projector.histories import FACT_CHECK, Page, Tape, uid

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


@pytest.mark.parametrize("one_by_one", [True, False])
async def test_what_an_earlier_round_approved_is_not_confirmed_in_a_new_one(
    database_url: str, one_by_one: bool
) -> None:
    """The new round judges each claim again, and may reject it."""
    page, second = Page("en:7"), {"round": 2}
    failed = (*page.investigated()[:-1], page.failed(), page.requested(2))
    proposed = (page.proposed(number, 2).model_copy(update=second) for number in range(2))
    judged = (each.model_copy(update=second) for each in (page.rejected(0), page.approved(1)))
    confirmed = []
    for facts in (failed, (*failed, page.started(2), *proposed, *judged)):
        await project(database_url, page.registered(), *facts, one_by_one=one_by_one)
        async with reading(database_url) as reads:
            running = await reads.investigation(page.investigation_id)
        assert isinstance(running, Running)
        confirmed.append([claim.text for claim in running.confirmed])
    assert confirmed == [[], [page.claim(1)[1].text]]


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
        record = Investigations(connection)
        (summary,) = await record.summaries([page.investigation_id])
        whole = await record.one(page.investigation_id)
        found = await record.of_post("X", "t1")
    await database.close()
    assert whole is not None
    for row in (summary, whole, found[0]):
        assert (row.provenance, row.corroboration_count) == (provenance, corroborations)


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
        page.hinted("elsewhere"),
    )
    await project(database_url, page.registered(), views=views)
    ((post,),) = ((await everything(database_url))["post"],)
    assert post["view_count"] == 7
    async with reading(database_url) as reads:
        view = await reads.view(page.version_id)
        assert await reads.knows_post(page.post_id)
        assert not await reads.knows_post(Page("en:8").post_id)
    assert view is not None
    assert view.views == 3, "and a hint is no view"
    assert post["hint_score"] == 8


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
            "published_at": "2026-01-02T03:04:05.000Z",
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
            "posted_at": "2026-01-02T03:04:05.000Z",
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
            "published_at": "2026-01-02T03:04:05.000Z",
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
            "last_modified_at": "2026-01-02T03:04:05.000Z",
        },
        {"page_id": "7", "language": "de"},
    ),
}
"""By platform: metadata under its names, and what derives from the post's own id."""


@pytest.mark.requirement("3.2-12", "3.2-13")
@pytest.mark.parametrize("platform", FIELDS)
async def test_each_site_s_fields_stand_under_their_names_in_its_own_table(database_url: str, platform: str) -> None:
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
    async with await owner(database_url) as db:
        found = await db.execute(f"SELECT document FROM version_metadata_{platform.lower()}")
        assert await found.fetchall() == [(given | derived,)]


UPDATED = {"post_prior"}  # of the post: its newest result
ORIGINAL = Page("en:1")
APPEALED = ORIGINAL.checked_again("APPEAL", uid("appeal"))
VERSION_KEY = VersionKey.model_validate(
    {"platform": "WIKIPEDIA", "externalId": "en:1", "versionHash": ORIGINAL.version_hash}
)


async def of_the_original(url: str) -> dict[str, list[dict[str, object]]]:
    """Every row that belongs to the original run."""
    mine = str(ORIGINAL.investigation_id)
    claims = {str(ORIGINAL.claim(number)[0]) for number in range(3)}
    return {
        table: found
        for table, rows in (await everything(url)).items()
        if (found := [row for row in rows if mine in row.values() or row.get("claim_id") in claims])
    }


@pytest.mark.parametrize("one_by_one", [False, True])
async def test_an_appeals_run_stands_beside_the_original_and_changes_nothing_of_it(
    database_url: str, one_by_one: bool
) -> None:
    """The newest concluded run of a version is the one displayed; until there is one, the original is what is known."""
    await project(database_url, ORIGINAL.registered(), *ORIGINAL.investigated(), one_by_one=one_by_one)
    before = await of_the_original(database_url)
    assert len(before["claim_candidate"]) == 3
    again = APPEALED.requested(), APPEALED.requested(), APPEALED.started()
    tape = Tape()
    tape.add(ORIGINAL.registered(), *ORIGINAL.investigated(), *again, APPEALED.drafted())
    store = store_at(database_url)
    await fill(store, tape.records, [1] * len(tape.records) if one_by_one else None)
    async with reading(database_url) as reads:
        shown = await displayed(reads)
        assert shown == (ORIGINAL.investigation_id, ORIGINAL.investigation_id, [2])
        running = await reads.investigation(APPEALED.investigation_id)
        assert isinstance(running, Running)
        tape.add(APPEALED.completed())
        await fill(store, tape.records)
        assert await displayed(reads) == (APPEALED.investigation_id, APPEALED.investigation_id, [0])
        unchanged = await reads.investigation(ORIGINAL.investigation_id)
        assert isinstance(unchanged, Complete)
        assert len(unchanged.claims) == 2
    await store.close()
    after = await of_the_original(database_url)
    assert {name: after[name] for name in before.keys() - UPDATED} == {
        name: before[name] for name in before.keys() - UPDATED
    }
    found = (await everything(database_url))["investigation"]
    assert sorted((row["origin"], row["origin_id"]) for row in found) == [
        ("APPEAL", str(uid("appeal"))),
        ("ORIGINAL", None),
    ]


async def displayed(reads: SqlReads) -> tuple[UUID | None, UUID | None, list[int | None]]:
    """What a view, a request and a list of versions answer with."""
    view, known = await reads.view(ORIGINAL.version_id), await reads.eligibility(ORIGINAL.version_id)
    assert view is not None
    assert known is not None
    assert isinstance(known.investigation, Complete)
    of_view = view.complete.investigation_id if view.complete else None
    return of_view, known.investigation.investigation_id, list(await reads.claim_counts([VERSION_KEY]))


async def test_a_version_with_an_appeal_is_one_version_and_no_candidate(database_url: str) -> None:
    """One row for its post among what the selector may take and among the post's versions, whatever became of it."""
    failed = ORIGINAL.checked_again("RETRACTION", uid("order"))
    await project(
        database_url,
        ORIGINAL.registered(),
        *ORIGINAL.investigated(),
        *(APPEALED.requested(), APPEALED.started(), APPEALED.drafted(), APPEALED.completed()),
        *(failed.requested(), failed.started(), failed.failed()),
    )
    (candidate,) = (await everything(database_url))["candidate"]
    assert (candidate["status"], candidate["eligible_at"]) == ("COMPLETE", None)
    database = Database(database_url, role="reader")
    async with database.connect() as connection:
        (version,) = await Posts(connection).versions(ORIGINAL.post_id)
    await database.close()
    assert (version.investigation_id, version.claim_count) == (APPEALED.investigation_id, 0)


async def test_a_start_without_its_request_tells_an_original_alone(database_url: str) -> None:
    """A request may have been refused; nothing else says what an investigation that is no original was made for."""
    await project(database_url, ORIGINAL.registered(), APPEALED.started(), APPEALED.drafted(), ORIGINAL.started())
    assert [row["id"] for row in (await everything(database_url))["investigation"]] == [str(ORIGINAL.investigation_id)]
