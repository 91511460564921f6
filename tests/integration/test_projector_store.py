"""What the projector writes: the same rows however the log is cut into batches, and everything or nothing."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from string import ascii_letters

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from contracts.readmodel import content_blob, integrity_anomaly, investigation, position, post_version, prompt
from contracts.v1.parts import Author, Prompt, TextRef
from services.projector.chain import GENESIS, Altered, Hole, LedgerBroken, link
from services.projector.lookups import Connection
from services.projector.reading import read
from services.projector.store import LOCK, Applied, Outcome
from tests.integration.readmodel_tables import NoTexts, everything, fill, owner, prepare, rows, store_at
from tests.support.servers import Prepare, Servers
from tests.unit.projector.histories import Page, Tape, digest, mixed

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


def total(results: Sequence[Applied]) -> Counter[Outcome]:
    return sum((result.outcomes for result in results), Counter[Outcome]())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.requirement("2.8-01", "3.2-01", "3.2-02", "3.2-12")
async def test_batches_do_not_matter(database_url: str, stack: Servers, seed: int) -> None:
    errata, views = mixed(60, seed)
    whole = store_at(database_url, cap=2)
    outcomes = total(await fill(whole, errata.records) + await fill(whole, views.records))
    await whole.close()
    assert set(outcomes) <= {"applied", "duplicate", "parked", "released", "unknown"}
    expected = await everything(database_url)
    empty = {name for name, found in expected.items() if not found}
    assert empty <= {"parked", "investigation_lease", "forgotten"}
    draw = random.Random(seed)
    with stack.database(prepare) as other:
        cut = store_at(other, cap=2)
        await fill(cut, errata.records, [draw.choice((1, 2, 3, 50)) for _ in errata.records])
        await fill(cut, views.records, [1] * len(views.records))
        await cut.close()
        assert await everything(other) == expected


@pytest.mark.requirement("3.2-06")
@pytest.mark.parametrize("platform", ["LESSWRONG", "SUBSTACK", "WIKIPEDIA"])
@pytest.mark.parametrize("together", [True, False])
async def test_no_reader_changes_what_a_site_has_said(database_url: str, platform: str, together: bool) -> None:
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
    (meta,) = tables[f"{platform.lower()}_version_meta"]
    assert (post["url"], post["confirmed"]) == (f"{page.url}?1", True)
    assert (author["display_name"], author["confirmed"], post["author_id"]) == ("Ada", True, author["id"])
    assert meta["title"] == "T"
    assert None not in (meta["server_html_hash"], meta["client_html_hash"])


@pytest.mark.requirement("3.2-06")
@pytest.mark.parametrize("together", [True, False])
async def test_a_forged_heading_gives_way_to_the_sites_also_where_search_finds_it(
    database_url: str, together: bool
) -> None:
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
    assert {row["scope"] for row in tables["tally"]} == {"all", "platform:LESSWRONG", f"author:{heading['author_id']}"}
    assert all(row["posts"] == 1 for row in tables["tally"])


@pytest.mark.requirement("2.9-08")
async def test_streams_may_interleave(database_url: str, stack: Servers) -> None:
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
    reader = Page("r", platform="SUBSTACK", provenance="CLIENT_FALLBACK", html="<p>1</p>")
    site = Page("s", platform="LESSWRONG", html="<p>1</p>")
    tape = Tape()
    tape.add(reader.registered(), reader.seen("b", html="<p>2</p>"), reader.verified())
    tape.add(site.registered(), site.seen("b", html="<p>2</p>"))
    store = store_at(database_url)
    await fill(store, tape.records, [1] * 9)
    await store.close()
    found = await everything(database_url)
    (substack,), (lesswrong,) = found["substack_version_meta"], found["lesswrong_version_meta"]
    assert (substack["client_html_hash"], substack["server_html_hash"]) == (digest("<p>1</p>"), digest("<p>1</p>"))
    assert lesswrong["server_html_hash"] == digest("<p>2</p>")
    counts = {row["id"]: (row["seen_count"], row["server_verified_at"]) for row in found["post_version"]}
    assert counts[str(reader.version_id)] == (3, "2026-01-05T09:00:03+00:00")
    assert counts[str(site.version_id)][0] == 2


@pytest.mark.requirement("3.2-03", "3.2-04")
async def test_equal_content_is_stored_once(database_url: str) -> None:
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


@pytest.mark.requirement("3.6-01", "3.6-02", "3.6-05", "3.6-06", "2.10-01", "2.10-07")
async def test_candidates(database_url: str) -> None:
    old, new = Page("a", "old text"), Page("a", "new text")
    fresh, long, done, waiting = Page("b"), Page("c", "long", words=10_001), Page("d"), Page("e")
    tape, views = Tape(), Tape("VIEWS")
    tape.add(old.registered(), *old.investigated(), new.registered(), fresh.registered(), long.registered())
    tape.add(done.registered(), *done.investigated(), waiting.registered(), waiting.requested(), waiting.started())
    tape.add(waiting.retry())
    views.add(fresh.viewed("x"), fresh.viewed("y"), new.viewed("x"))
    store = store_at(database_url)
    await fill(store, tape.records)
    await fill(store, views.records)
    await store.close()
    async with await owner(database_url) as db:
        query = """SELECT post_version_id, score FROM candidate WHERE analysis = 'FACT_CHECK' AND word_ok
            AND eligible_at IS NOT NULL AND eligible_at <= '2026-01-05T09:30Z' ORDER BY score DESC, post_id"""
        found = await (await db.execute(query)).fetchall()
    assert found == [(fresh.version_id, 2), (new.version_id, 1)]
    held = {row["post_version_id"]: row for row in (await everything(database_url))["candidate"]}
    under_way = held[str(waiting.version_id)]
    assert (under_way["status"], under_way["eligible_at"]) == ("PENDING", None)


@pytest.mark.requirement("2.10-03", "2.10-04", "2.10-05", "2.10-06")
@pytest.mark.parametrize("size", [1, 100])
async def test_view_credits(database_url: str, size: int) -> None:
    page = Page("a")
    tape, views = Tape(), Tape("VIEWS")
    tape.add(page.registered())
    views.add(*(page.viewed(f"v{n}", network="same") for n in range(5)))
    views.add(page.viewed("v0", nth=1, network="same"), page.viewed("v4", network="other"))
    views.add(page.viewed("v0", nth=2, network="same"), at=views.records[0].time.replace(day=6))
    views.add(views_again := page.viewed("v9", network="third"), views_again)
    store = store_at(database_url, cap=3)
    await fill(store, tape.records)
    outcomes = total(await fill(store, views.records, [size] * 10))
    await store.close()
    assert outcomes == {"applied": 9, "duplicate": 1}
    (post,) = (await everything(database_url))["post"]
    assert (post["view_count"], post["unique_view_score"]) == (9, 3 + 1 + 1 + 1)


@pytest.mark.requirement("3.5-03")
async def test_facts_in_the_wrong_order(database_url: str, stack: Servers) -> None:
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
    (meta,) = (await everything(database_url))["x_version_meta"]
    assert (meta["like_count"], meta["posted_at"], meta["author_display_name"]) == (2**31 - 1, None, None)


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


async def test_the_ledger_is_a_chain(database_url: str) -> None:
    tape = mixed(5, 1)[0]
    store = store_at(database_url)
    await fill(store, tape.records, [3] * 100)
    await store.close()
    async with await owner(database_url) as db:
        query = "SELECT sequence, subject, envelope, previous_hash, hash FROM ledger.fact ORDER BY sequence"
        facts = await (await db.execute(query)).fetchall()
    previous = GENESIS
    for record, (sequence, subject, envelope, before, after) in zip(tape.records, facts, strict=True):
        assert (sequence, subject, envelope, before) == (record.sequence, record.subject, record.data, previous)
        previous = link(previous, "ERRATA", sequence, subject, envelope)
        assert after == previous


async def test_a_hole_stops_the_projector(database_url: str) -> None:
    tape = mixed(2, 1)[0]
    store = store_at(database_url)
    await fill(store, tape.records[:3])
    before = await everything(database_url)
    with pytest.raises(Hole, match="ERRATA: expected sequence 4, found 5; 1 missing"):
        await fill(store, tape.records[4:])
    with pytest.raises(Hole):
        await fill(store, [*tape.records[3:5], *tape.records[6:]])
    assert (await store.connection()).info.transaction_status is TransactionStatus.IDLE, "nothing is left open"
    await store.close()
    assert await everything(database_url) == before


async def test_facts_that_come_again_must_be_those_of_the_ledger(database_url: str) -> None:
    tape, forged = Tape(), Tape()
    tape.add(Page("a").registered(), Page("b").registered(), Page("c").registered())
    forged.add(Page("a").registered(), Page("x").registered())
    store = store_at(database_url)
    await fill(store, tape.records[:2])
    async with await owner(database_url) as db:
        tables = "position, post, author, post_version, wikipedia_version_meta, content_blob, html_blob, candidate"
        await db.execute(f"TRUNCATE {tables}, image_occurrence_set CASCADE")
    with pytest.raises(Altered, match="ERRATA: the fact 2"):
        await fill(store, forged.records)
    await fill(store, tape.records)
    await store.close()
    found = await everything(database_url)
    assert len(found["post"]) == 3
    assert found[position.name] == [{"stream": "ERRATA", "sequence": 3}]


async def test_a_ledger_that_lost_its_end_is_noticed(database_url: str) -> None:
    tape = mixed(2, 1)[0]
    store = store_at(database_url)
    await fill(store, tape.records[:3])
    async with await owner(database_url) as db:
        await db.execute("ALTER TABLE ledger.fact DISABLE TRIGGER append_only")
        await db.execute("DELETE FROM ledger.fact WHERE sequence = 3")
    with pytest.raises(LedgerBroken, match="does not hold the fact 3"):
        await fill(store, tape.records[3:])
    await store.close()


async def test_replicas_apply_each_fact_once(database_url: str, stack: Servers) -> None:
    errata, _ = mixed(25, 5)
    alone = store_at(database_url)
    await fill(alone, errata.records)
    await alone.close()
    with stack.database(prepare) as other:
        replicas = [store_at(other) for _ in range(3)]
        draws = [random.Random(n) for n in range(3)]

        async def follow(number: int) -> None:
            while (at := await replicas[number].position("ERRATA")) < len(errata.records):
                await fill(replicas[number], errata.records[at : at + draws[number].randrange(1, 40)])

        await asyncio.gather(*map(follow, range(3)))
        for replica in replicas:
            await replica.close()
        assert await everything(other) == await everything(database_url)


async def test_nothing_stays_of_a_transaction_that_failed(database_url: str) -> None:
    tape = mixed(3, 2)[0]
    store = store_at(database_url)
    await fill(store, tape.records[:5])
    before = await everything(database_url)
    db = await store.connection()
    async with await owner(database_url) as admin:
        await admin.execute(
            """CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
            $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN new; END $$"""
        )
        await admin.execute("CREATE TRIGGER die BEFORE UPDATE ON position FOR EACH ROW EXECUTE FUNCTION die()")
        with pytest.raises(psycopg.OperationalError):
            await fill(store, tape.records[5:])
        assert db.closed
        await admin.execute("DROP TRIGGER die ON position")
    assert await everything(database_url) == before
    await fill(store, tape.records[5:])
    async with await owner(database_url) as admin:
        assert len(await rows(admin, "ledger.fact")) == len(tape.records)
    await store.close()


async def test_who_is_stopped_in_the_middle_leaves_no_transaction_open(database_url: str) -> None:
    tape = mixed(3, 2)[0]
    store = store_at(database_url)
    db = await store.connection()
    async with await owner(database_url) as admin:
        await admin.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        applying = asyncio.create_task(store.apply(read(tape.records)))
        waiting = "SELECT count(*) FROM pg_locks WHERE pid = %s AND locktype = 'advisory' AND NOT granted"
        while not applying.done() and (await rows_of(admin, waiting, db.info.backend_pid)) == [(0,)]:
            pass
        applying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await applying
        assert db.info.transaction_status is TransactionStatus.IDLE
        await admin.execute("SELECT pg_advisory_unlock(%s)", (LOCK,))
    assert (await store.apply(read(tape.records))).position == len(tape.records)
    await store.close()


async def rows_of(db: Connection, query: str, *values: object) -> list[tuple[object, ...]]:
    return await (await db.execute(query, values)).fetchall()
