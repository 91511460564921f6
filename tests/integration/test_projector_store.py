"""What the projector writes: the same rows however the log is cut into batches and whatever comes twice or early."""

from __future__ import annotations

import random

import pytest

from contracts.readmodel.investigations import investigation, prompt
from contracts.readmodel.posts import integrity_anomaly
from contracts.readmodel.versions import post_version
from contracts.v1 import Event
from contracts.v1.parts import Author, Prompt
from platforms.base import HIDDEN_BY_AUTHOR
from tests.integration.readmodel_tables import (
    AUDITS,
    REVIEWED,
    WATCHED,
    everything,
    fill,
    owner,
    prepare,
    store_at,
    total,
)
from tests.support.servers import Prepare, Servers
from tests.unit.projector.histories import Page, Tape, digest, mixed

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.requirement("2.8-01", "3.2-01", "3.2-02", "3.2-12")
async def test_batches_do_not_matter(database_url: str, stack: Servers, seed: int) -> None:
    """2.8-01: One investigation for a post's version.
    3.2-01: A post is unique by platform and its id there.
    3.2-02: One investigation per version.
    3.2-12: Metadata tables per platform.
    """
    errata, views = mixed(60, seed)
    whole = store_at(database_url, cap=2)
    outcomes = total(await fill(whole, errata.records) + await fill(whole, views.records))
    await whole.close()
    assert set(outcomes) <= {"applied", "duplicate", "parked", "released", "unknown"}
    expected = await everything(database_url)
    empty = {name for name, found in expected.items() if not found}
    assert empty <= {"parked", "investigation_lease", "forgotten", "refused_fact", *REVIEWED, *WATCHED, *AUDITS}
    draw = random.Random(seed)
    with stack.database(prepare) as other:
        cut = store_at(other, cap=2)
        await fill(cut, errata.records, [draw.choice((1, 2, 3, 50)) for _ in errata.records])
        await fill(cut, views.records, [1] * len(views.records))
        await cut.close()
        assert await everything(other) == expected


@pytest.mark.requirement("FS-52")
async def test_an_authors_wish_stands_until_a_post_of_theirs_is_proved_without_it(database_url: str) -> None:
    """FS-52: An author's wish not to be shown without an account means not public."""
    first, second = (Page(f"did:plc:ewvi7nxzyoun6zhxrhs64oiz/{key}", platform="BLUESKY") for key in "ab")
    first.author = second.author = Author(platform_user_id="did:plc:ewvi7nxzyoun6zhxrhs64oiz", display_name="Ann")
    errata, store = Tape(), store_at(database_url)

    async def hidden_after(event: Event) -> bool:
        errata.add(event)
        await fill(store, errata.records[-1:])
        (author,) = (await everything(database_url))["author"]
        return author["hidden_at"] is not None

    assert not await hidden_after(first.registered("1"))
    assert not await hidden_after(first.unavailable("2", "not_public"))
    assert await hidden_after(first.unavailable("3", HIDDEN_BY_AUTHOR))
    assert await hidden_after(first.forged("4"))
    assert not await hidden_after(second.registered("5"))
    await store.close()


@pytest.mark.requirement("3.2-06")
@pytest.mark.parametrize("platform", ["LESSWRONG", "SUBSTACK", "WIKIPEDIA"])
@pytest.mark.parametrize("together", [True, False])
async def test_no_reader_changes_what_a_site_has_said(database_url: str, platform: str, together: bool) -> None:
    """3.2-06: The site's HTML is the newest, a reader's the first."""
    page = Page("en:7", platform=platform)
    page.author = Author(platform_user_id="ada", display_name="Ada")
    errata = Tape()
    errata.add(page.forged("0").model_copy(update={"version_id": page.version_id}))
    errata.add(page.registered("1"), page.forged("2"), page.forged("3"))
    store = store_at(database_url)
    await fill(store, errata.records, None if together else [1] * len(errata.records))
    await store.close()
    tables = await everything(database_url)
    ((post,), (author,)) = tables["post"], tables["author"]
    (meta,) = tables["version_metadata"]
    assert (post["url"], post["confirmed"]) == (f"{page.url}?1", True)
    assert (author["display_name"], author["confirmed"], post["author_id"]) == ("Ada", True, author["id"])
    assert meta["document"]["title"] == "T"
    assert None not in (meta["server_html_hash"], meta["client_html_hash"])


@pytest.mark.parametrize("platform", ["LESSWRONG", "SUBSTACK", "WIKIPEDIA"])
@pytest.mark.parametrize("together", [True, False])
async def test_no_reader_changes_what_another_has_said(database_url: str, platform: str, together: bool) -> None:
    page = Page("en:7", platform=platform, provenance="CLIENT_FALLBACK")
    errata = Tape()
    errata.add(page.registered("1"), page.forged("2"), page.forged("3"))
    store = store_at(database_url)
    await fill(store, errata.records, None if together else [1] * len(errata.records))
    await store.close()
    tables = await everything(database_url)
    (meta,), (heading,) = tables["version_metadata"], tables["version_heading"]
    assert (meta["document"]["title"], heading["title"]) == ("T", "T")


@pytest.mark.requirement("3.2-06")
@pytest.mark.parametrize("together", [True, False])
async def test_a_forged_heading_gives_way_to_the_sites_also_where_search_finds_it(
    database_url: str, together: bool
) -> None:
    """3.2-06: The site's HTML is the newest, a reader's the first."""
    page = Page("p1", platform="LESSWRONG", provenance="CLIENT_FALLBACK")
    page.author = Author(platform_user_id="eve", display_name="Eve")
    errata = Tape()
    errata.add(page.registered("forged"), page.requested(), page.started(), page.drafted(), page.completed())
    page.author = Author(platform_user_id="ada", display_name="Ada")
    errata.add(page.verified("served"))
    page.author = Author(platform_user_id="eve", display_name="Eve")
    errata.add(page.registered("again"), page.verified("later"))
    store = store_at(database_url)
    await fill(store, errata.records, None if together else [1] * len(errata.records))
    await store.close()
    tables = await everything(database_url)
    ((heading,), (document,)) = tables["version_heading"], tables["search_document"]
    assert (heading["author_name"], heading["url"], heading["confirmed"]) == ("Ada", f"{page.url}?served", True)
    assert document["author_id"] == heading["author_id"]
    assert document["body"].startswith(f"t\nada\n{page.url}?served\n".lower())
    assert "eve" not in document["words"]


@pytest.mark.requirement("2.9-08")
async def test_streams_may_interleave(database_url: str, stack: Servers) -> None:
    """2.9-08: One corroboration for each authenticated reader."""
    errata, views = mixed(30, 7)
    last_version = max(n for n, record in enumerate(errata.records) if ".version.registered." in record.subject)
    assert last_version < len(errata.records) - 1
    in_turn = store_at(database_url)
    await fill(in_turn, errata.records)
    await fill(in_turn, views.records)
    await in_turn.close()
    with stack.database(prepare) as other:
        mingled = store_at(other)
        half = len(views.records) // 2
        await fill(mingled, errata.records[: last_version + 1])
        await fill(mingled, views.records[:half])
        await fill(mingled, errata.records[last_version + 1 :])
        await fill(mingled, views.records[half:])
        await mingled.close()
        assert await everything(other) == await everything(database_url)


@pytest.mark.requirement("2.9-08")
@pytest.mark.parametrize("view_first", [True, False])
async def test_corroboration_does_not_depend_on_which_half_comes_first(database_url: str, view_first: bool) -> None:
    """2.9-08: One corroboration for each authenticated reader."""
    page = Page("t1", platform="X", provenance="CLIENT_FALLBACK")
    errata, views = Tape(), Tape("VIEWS")
    errata.add(page.registered(), page.requested(), page.started())
    views.add(page.viewed("a", reporter="key-1"), page.viewed("a", reporter="key-1", nth=1))
    views.add(page.viewed("b", reporter="key-2"), page.viewed("c"))
    store = store_at(database_url)
    if view_first:
        await fill(store, errata.records[:1])
        await fill(store, views.records)
        await fill(store, errata.records[1:])
    else:
        await fill(store, errata.records)
        await fill(store, views.records)
    await store.close()
    credits_ = (await everything(database_url))["corroboration_credit"]
    assert {row["reporter_key"] for row in credits_} == {digest("key-1"), digest("key-2")}
    assert {row["created_at"] for row in credits_} == {"2026-01-05T09:00:03+00:00"}


async def test_verified_text_needs_no_corroboration(database_url: str) -> None:
    page = Page("en:1")
    errata, views = Tape(), Tape("VIEWS")
    errata.add(page.registered(), page.requested(), page.started())
    views.add(page.viewed("a", reporter="key-1"))
    store = store_at(database_url)
    await fill(store, errata.records)
    await fill(store, views.records)
    await store.close()
    assert not (await everything(database_url))["corroboration_credit"]


@pytest.mark.requirement("2.6-07", "2.12-01", "2.12-02", "2.12-03")
async def test_a_finished_run(database_url: str) -> None:
    """2.6-07: A view of a finished version returns its claims.
    2.12-01: Input text and contentHash persisted.
    2.12-02: Prompt version/hash/text persisted.
    2.12-03: Provider/model/version metadata.
    """
    page = Page("en:1")
    tape = Tape()
    tape.add(page.registered(), *page.investigated())
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    found = await everything(database_url)
    (doc,) = found["investigation_doc"]
    assert doc["claim_count"] == 2
    assert [claim["text"] for claim in doc["claims"]] == ["Wrong sentence 0.", "Wrong sentence 2."]
    assert set(doc["claims"][0]) == {"id", "text", "context", "summary", "reasoning", "sources"}
    assert [row["state"] for row in sorted(found["claim_candidate"], key=lambda row: row["ordinal"])] == [
        "APPROVED",
        "REJECTED",
        "APPROVED",
    ]
    (row,) = found["investigation"]
    assert (row["status"], row["provider"], row["model_version"]) == ("COMPLETE", "DEMO", "1")
    assert found["investigation_input"][0]["content_hash"] == digest(page.text)
    assert found["post_prior"][0]["investigation_id"] == str(page.investigation_id)
    assert found["candidate"][0]["eligible_at"] is None
    assert found["investigation_attempt_usage"][0]["total_tokens"] == 15
    assert len(found["source"]) == 2


@pytest.mark.requirement("2.9-06", "2.12-01")
async def test_why_a_version_was_not_verified_is_kept(database_url: str) -> None:
    """2.9-06: Degraded path on fetch failure.
    2.12-01: Input text and contentHash persisted.
    """
    page = Page("t", platform="X", provenance="CLIENT_FALLBACK")
    tape = Tape()
    tape.add(page.unavailable("first", "NO_SOURCE"), page.registered("first"), page.anomaly("first"))
    store = store_at(database_url)
    await fill(store, tape.records, [1, 1, 1])
    await store.close()
    found = await everything(database_url)
    (failure,) = found["verification_failure"]
    assert (failure["post_version_id"], failure["reason"]) == (str(page.version_id), "NO_SOURCE")
    assert found[integrity_anomaly.name][0]["canonical"] == "b"


@pytest.mark.requirement("3.2-05", "3.2-06", "3.2-11", "2.9-09")
async def test_the_readers_first_page_stays_and_the_sites_last_one_counts(database_url: str) -> None:
    """3.2-05: HTML stored per source.
    3.2-06: The site's HTML is the newest, a reader's the first.
    3.2-11: seenCount / lastSeenAt maintained.
    2.9-09: Verification is recorded once and stays.
    """
    reader = Page("r", platform="SUBSTACK", provenance="CLIENT_FALLBACK", html="<p>1</p>")
    site = Page("s", platform="LESSWRONG", html="<p>1</p>")
    tape = Tape()
    tape.add(reader.registered(), reader.seen("b", html="<p>2</p>"), reader.verified())
    tape.add(site.registered(), site.seen("b", html="<p>2</p>"))
    store = store_at(database_url)
    await fill(store, tape.records, [1] * 9)
    await store.close()
    found = await everything(database_url)
    substack, lesswrong = (
        next(row for row in found["version_metadata"] if row["platform"] == site) for site in ("SUBSTACK", "LESSWRONG")
    )
    assert (substack["client_html_hash"], substack["server_html_hash"]) == (digest("<p>1</p>"), digest("<p>1</p>"))
    assert lesswrong["server_html_hash"] == digest("<p>2</p>")
    counts = {row["id"]: (row["seen_count"], row["server_verified_at"]) for row in found["post_version"]}
    assert counts[str(reader.version_id)] == (3, "2026-01-05T09:00:03+00:00")
    assert counts[str(site.version_id)][0] == 2


@pytest.mark.requirement("3.2-03", "3.2-04")
async def test_equal_content_is_stored_once(database_url: str) -> None:
    """3.2-03: Content blob dedup.
    3.2-04: Occurrence set dedup and order.
    """
    tape = Tape()
    tape.add(Page("a", pictures=2).registered(), Page("b", pictures=2).registered())
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    found = await everything(database_url)
    sizes = {name: len(found[name]) for name in ("post_version", "content_blob", "html_blob", "image_occurrence")}
    assert sizes == {"post_version": 2, "content_blob": 1, "html_blob": 1, "image_occurrence": 2}


@pytest.mark.parametrize("turned", [False, True])
async def test_a_text_may_be_one_versions_content_and_anothers_page(database_url: str, turned: bool) -> None:
    marked, bare = Page("a", "So it is."), Page("b", "Otherwise.", html="So it is.")
    tape = Tape()
    tape.add(*(page.registered() for page in ((bare, marked) if turned else (marked, bare))))
    store = store_at(database_url)
    assert total(await fill(store, tape.records, [1, 1])) == {"applied": 2}
    await store.close()
    found = await everything(database_url)
    assert digest("So it is.") in {row["content_hash"] for row in found["content_blob"]}
    assert digest("So it is.") in {row["html_hash"] for row in found["html_blob"]}


@pytest.mark.requirement("2.4.4-06", "3.6-01", "3.6-02", "3.6-05", "3.6-06", "2.10-01", "2.10-07")
async def test_candidates(database_url: str) -> None:
    """2.4.4-06: At most 10,000 words.
    3.6-01: Latest seen version per post.
    3.6-02: Word filter.
    3.6-05: Failed and finished posts are left alone.
    3.6-06: A run that waits to be tried again is left waiting.
    2.10-01: Order by capped unique score.
    2.10-07: Edited posts re-enter the pool.
    """
    old, new = Page("a", "old text"), Page("a", "new text")
    fresh, long, done, waiting = Page("b"), Page("c", "long", words=10_001), Page("d"), Page("e")
    tape, views = Tape(), Tape("VIEWS")
    tape.add(old.registered(), *old.investigated(), new.registered(), fresh.registered(), long.registered())
    tape.add(done.registered(), *done.investigated(), waiting.registered(), waiting.requested(), waiting.started())
    tape.add(waiting.retry())
    views.add(fresh.viewed("x"), fresh.viewed("y"), new.viewed("x"), fresh.hinted(), fresh.hinted("n", 1))
    store = store_at(database_url)
    await fill(store, tape.records)
    await fill(store, views.records)
    await store.close()
    async with await owner(database_url) as db:
        query = """SELECT post_version_id, score FROM candidate WHERE analysis = 'FACT_CHECK' AND word_ok
            AND eligible_at IS NOT NULL AND eligible_at <= '2026-01-05T09:30Z' ORDER BY score DESC, post_id"""
        found = await (await db.execute(query)).fetchall()
    assert found == [(fresh.version_id, 2 + 8), (new.version_id, 1)]
    held = {row["post_version_id"]: row for row in (await everything(database_url))["candidate"]}
    under_way = held[str(waiting.version_id)]
    assert (under_way["status"], under_way["eligible_at"]) == ("PENDING", None)


@pytest.mark.requirement("2.10-03", "2.10-04", "2.10-05", "2.10-06")
@pytest.mark.parametrize("size", [1, 100])
async def test_view_credits(database_url: str, size: int) -> None:
    """2.10-03: viewCount on every view.
    2.10-04: One credit per viewer per post per day.
    2.10-05: IP range cap.
    2.10-06: Cap configurable.
    """
    page = Page("a")
    tape, views = Tape(), Tape("VIEWS")
    tape.add(page.registered())
    views.add(*(page.viewed(f"v{n}", network="same") for n in range(5)))
    views.add(page.viewed("v0", nth=1, network="same"), page.viewed("v4", network="other"))
    views.add(page.viewed("v0", nth=2, network="same"), at=views.records[0].time.replace(day=6))
    views.add(views_again := page.viewed("v9", network="third"), views_again)
    views.add(hint := page.hinted("other"), hint, page.hinted("same"))
    store = store_at(database_url, cap=3)
    await fill(store, tape.records)
    outcomes = total(await fill(store, views.records, [size] * 13))
    await store.close()
    assert outcomes == {"applied": 11, "duplicate": 2}
    (post,) = (await everything(database_url))["post"]
    assert (post["view_count"], post["unique_view_score"], post["hint_score"]) == (9, 3 + 1 + 1 + 1, 2)


@pytest.mark.requirement("3.5-03")
async def test_facts_in_the_wrong_order(database_url: str, stack: Servers) -> None:
    """3.5-03: Registrations at once make one version."""
    page = Page("a")
    straight, shuffled = Tape(), Tape()
    straight.add(
        page.registered(), page.seen("b"), page.requested(), page.started(), page.proposed(0), page.approved(0)
    )
    shuffled.add(
        page.approved(0), page.proposed(0), page.started(), page.seen("b"), page.registered(), page.requested()
    )
    shapes = []
    for tape in (straight, shuffled):
        with stack.database(prepare) as url:
            store = store_at(url)
            await fill(store, tape.records, [1] * 6)
            await store.close()
            found = await everything(url)
            assert not found["parked"]
            shapes.append(
                (
                    found["post_version"][0]["seen_count"],
                    found["investigation"][0]["status"],
                    found["claim_candidate"][0]["state"],
                    len(found["investigation_lease"]),
                )
            )
    assert shapes == [(2, "PROCESSING", "APPROVED", 1)] * 2


async def test_two_who_register_first_are_one_version_seen_twice(database_url: str) -> None:
    page, tape = Page("a"), Tape()
    tape.add(page.registered("one"), page.registered("two"))
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    (version,) = (await everything(database_url))[post_version.name]
    assert version["seen_count"] == 2


async def test_the_first_ending_wins(database_url: str) -> None:
    page, tape = Page("a"), Tape()
    tape.add(page.registered(), page.requested(), page.started(), page.failed(), page.completed((0,)))
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    found = await everything(database_url)
    assert found[investigation.name][0]["status"] == "FAILED"
    assert not found["claim"]
    assert found["investigation_attempt_error"][0]["status_code"] == 401


async def test_a_failed_one_may_be_asked_for_again(database_url: str) -> None:
    page, tape = Page("a"), Tape()
    tape.add(page.registered(), page.requested(), page.started(), page.failed(), page.requested(2))
    store = store_at(database_url)
    await fill(store, tape.records[:4])
    failed = (await everything(database_url))[investigation.name][0]
    await fill(store, tape.records[4:])
    await store.close()
    (row,) = (await everything(database_url))[investigation.name]
    assert failed["failed_at"] is not None
    assert (row["status"], row["round"], row["failed_at"], row["requested_sequence"]) == ("PENDING", 2, None, 5)


async def test_two_texts_under_one_prompt_version_do_not_fight(database_url: str) -> None:
    tape = Tape()
    for number, text in enumerate(("look", "look twice")):
        page = Page(f"p{number}")
        asked = Prompt(version="v1", sha256=digest(text), text=text)
        tape.add(page.registered(), page.requested(), page.started(prompt=asked))
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    versions = {row["text"]: row["version"] for row in (await everything(database_url))[prompt.name]}
    assert versions == {"look": "v1", "look twice": f"v1+{digest('look twice')[:12]}"}
