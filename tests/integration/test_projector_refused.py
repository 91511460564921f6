"""What the projector cannot take, or not whole: one bad fact costs itself, and nothing that came with it or after."""

from __future__ import annotations

import random
from string import ascii_letters

import pytest

from contracts.readmodel.versions import content_blob
from contracts.v1.parts import Author, TextRef
from tests.integration.readmodel_tables import NoTexts, everything, fill, owner, prepare, store_at, total
from tests.support.servers import Prepare
from tests.unit.projector.histories import Page, Tape, digest

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


async def test_what_cannot_be_read_stops_nothing(database_url: str) -> None:
    page, tape = Page("a"), Tape()
    tape.raw("errata.v1.version.registered.x", b"{")
    tape.raw("errata.v1.unheard.of.x", b"{}")
    tape.add(page.registered(), page.seen("b"), page.seen("b"))
    store = store_at(database_url)
    (applied,) = await fill(store, tape.records)
    assert await store.position("ERRATA") == applied.position == 5
    await store.close()
    assert applied.outcomes == {"undecodable": 2, "applied": 2, "duplicate": 1}
    async with await owner(database_url) as db:
        ids = await (await db.execute("SELECT event_id FROM ledger.fact ORDER BY sequence")).fetchall()
    assert [id_ is None for (id_,) in ids] == [True, True, False, False, False]


async def test_a_row_the_database_refuses_costs_only_its_own_fact(database_url: str) -> None:
    good, bad, tape = Page("a"), Page("b", "many words"), Tape()
    unlinked = bad.registered().model_copy(update={"word_count": 2**40})
    tape.add(good.registered(), unlinked, *good.investigated())
    store = store_at(database_url)
    outcomes = total(await fill(store, tape.records))
    await store.close()
    assert outcomes == {"applied": 11, "refused": 1}
    found = await everything(database_url)
    assert found["investigation"][0]["status"] == "COMPLETE"
    assert len(found["post_version"]) == 1


async def test_what_is_refused_only_at_the_end_costs_only_its_own_fact(database_url: str) -> None:
    """The end of a transaction travels with its last rows, and it is there that deferred checks are made."""
    good, bad, tape = Page("a"), Page("b", "many words"), Tape()
    tape.add(good.registered(), bad.registered().model_copy(update={"word_count": 4_711}), *good.investigated())
    async with await owner(database_url) as admin:
        await admin.execute(
            """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE check_violation USING MESSAGE = 'refused at the end'; END $$"""
        )
        await admin.execute(
            """CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON content_blob DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW WHEN (new.word_count = 4711) EXECUTE FUNCTION refuse()"""
        )
    store = store_at(database_url)
    assert total(await fill(store, tape.records)) == {"applied": 11, "refused": 1}
    await store.close()
    assert len((await everything(database_url))["post_version"]) == 1


async def test_a_row_too_large_for_an_index_costs_only_its_own_fact(database_url: str) -> None:
    good, page, tape = Page("a"), Page("b", platform="X", provenance="CLIENT_FALLBACK"), Tape()
    endless = page.registered()
    handle = "".join(random.Random(7).choices(ascii_letters, k=6_000))  # PostgreSQL would compress a simpler one
    author = Author(platform_user_id=handle, display_name="Ada")
    tape.add(
        good.registered(),
        endless.model_copy(update={"sighting": endless.sighting.model_copy(update={"author": author})}),
        *good.investigated(),
    )
    store = store_at(database_url)
    outcomes = total(await fill(store, tape.records))
    await store.close()
    assert outcomes == {"applied": 11, "refused": 1}
    assert (await everything(database_url))["investigation"][0]["status"] == "COMPLETE"


async def test_long_texts_come_from_the_blob_store(database_url: str) -> None:
    page, gone, tape = Page("a", "long"), Page("b", "gone"), Tape()
    here = TextRef(sha256=digest("long"), size_bytes=4)
    lost = TextRef(sha256=digest("gone"), size_bytes=4)
    tape.add(page.registered(content=here), gone.registered(content=lost))
    store = store_at(database_url, texts=NoTexts(**{digest("long"): "long"}))
    outcomes = total(await fill(store, tape.records))
    await store.close()
    assert outcomes == {"applied": 1, "textless": 1}
    assert [row["content_text"] for row in (await everything(database_url))[content_blob.name]] == ["long"]


async def test_a_nul_in_a_page_is_replaced(database_url: str) -> None:
    tape = Tape()
    tape.add(Page("a", html="<p>a\0b \\u0000 \\\\\0</p>").registered())
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    (page,) = (await everything(database_url))["html_blob"]
    assert page["html_content"] == "<p>a\ufffdb \\u0000 \\\\\ufffd</p>"


async def test_metadata_that_does_not_fit_loses_nothing_else(database_url: str) -> None:
    page, tape = Page("a", platform="X", provenance="CLIENT_FALLBACK"), Tape()
    odd = {**page.metadata, "like_count": 10**30, "posted_at": "yesterday", "author_display_name": 7}
    fact_ = page.registered()
    tape.add(fact_.model_copy(update={"sighting": fact_.sighting.model_copy(update={"metadata": odd})}))
    store = store_at(database_url)
    assert total(await fill(store, tape.records)) == {"applied": 1}
    await store.close()
    (meta,) = (await everything(database_url))["version_metadata"]
    assert meta["document"]["like_count"] == 2**31 - 1
    assert not {"posted_at", "author_display_name"} & meta["document"].keys()


async def test_a_verification_without_its_page_is_only_a_sighting(database_url: str) -> None:
    page, tape = Page("a", platform="SUBSTACK", provenance="CLIENT_FALLBACK"), Tape()
    bare = page.verified()
    tape.add(
        page.registered(), bare.model_copy(update={"sighting": page.sighting("x").model_copy(update={"url": "u"})})
    )
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    (version,) = (await everything(database_url))["post_version"]
    assert (version["seen_count"], version["server_verified_at"]) == (2, None)
