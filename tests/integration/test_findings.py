"""A finding that is taken back leaves every surface, over real servers: suspended, released, retracted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from contracts.v1 import ErasureOrdered, IntegrityAnomalyDetected
from contracts.v1.finding import FindingState
from contracts.v1.ids import author_id
from kit.database import Database
from kit.publisher import PublishConflict
from platforms.base import HIDDEN_BY_AUTHOR
from services.gateway.public.site.links import post_path
from services.gateway.record import repository
from services.investigator.reads import SqlReads
from services.projector.rebuild.rebuild import rebuild
from services.projector.rebuild.shadow import shadow
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything
from tests.integration.test_appeal_feed import DID, SKEET
from tests.support.gateway import VIEW, migrated, serving
from tests.support.public_record import MOON, Article, Finding
from tests.support.published_finding import (
    ARTICLE,
    CLAIM,
    NEXT,
    NOTE,
    QUOTE,
    SUMMARY,
    WINDOW,
    Published,
    author_of,
    changed,
    run_of,
    seen_by_readers,
)
from tests.support.servers import Prepare
from tests.support.site_client import LD, page_of
from tests.unit.gateway.fakes import data

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.fixture
async def published(nats_url: str, database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Published]:
    monkeypatch.setattr(repository, "COUNTS_S", 0)  # counts follow within half a minute, which nobody waits for here
    async with serving(nats_url, database_url) as running:
        found = Published(running, database_url)
        await found.tell(*run_of(MOON), *run_of(ARTICLE))
        yield found


def metrics(*, flagged: int) -> dict[str, int]:
    """Those of an author of one post."""
    return {"investigatedPosts": 1, "flaggedPosts": flagged, "claimCount": flagged}


async def assert_stands(published: Published, folder: Path) -> None:
    """It is shown as a correction wherever corrections are."""
    author = await author_of(published)
    assert await seen_by_readers(published) == (1, 1, 1)
    for path in ("/", "/corrections", "/corrections?q=honey", f"/authors/{author}", page_of(ARTICLE)):
        assert SUMMARY in await published.page(path), path
    for path in ("/feeds/all.atom", "/feeds/wikipedia.json", f"/feeds/authors/{author}.atom"):
        assert SUMMARY in await published.page(path), path
    assert "1 error" in await published.page(f"/posts/wikipedia/{ARTICLE.post.external_id}")
    page = await published.page(page_of(ARTICLE))
    assert "1 error in “Old windows”" in page
    assert any("ClaimReview" in each for each in LD.findall(page))
    document = json.loads(await published.page(f"{page_of(ARTICLE)}.json"))
    assert [each["id"] for each in document["claims"]] == [str(CLAIM)]
    assert document["withdrawnClaims"] == []
    answer = await published.ask()
    assert answer["publicInvestigation"] == {"claims": [{"id": str(CLAIM)}], "withdrawnClaims": []}
    assert [each["claimCount"] for each in answer["postInvestigations"]["investigations"]] == [1]
    assert len(answer["searchInvestigations"]["investigations"]) == len(answer["search"]["edges"]) == 1
    assert answer["publicMetrics"]["investigatedPostsWithFlags"] == 2
    assert answer["authors"]["edges"] == [{"node": {"metrics": metrics(flagged=1)}}]
    assert (await published.ask(WINDOW))["publicMetrics"]["investigatedPostsWithFlags"] == 2
    rows = await published.exported(folder)
    assert str(CLAIM) in {each["id"] for each in rows["claims"]}
    assert str(CLAIM) in {each["claim_id"] for each in rows["sources"]}
    assert rows["withdrawn_claims"] == []


async def assert_gone(published: Published, state: FindingState, folder: Path) -> None:
    """It is shown as a correction nowhere, and where it was, its withdrawal is."""
    author, is_final = await author_of(published), state == "RETRACTED"
    said = "Retracted on" if is_final else "Withdrawn for now since"
    assert await seen_by_readers(published) == (0, 0, 0)
    for path in ("/", "/corrections", "/corrections?q=honey", f"/authors/{author}"):
        page = await published.page(path)
        assert SUMMARY not in page, path
        assert QUOTE not in page.replace('value="honey"', ""), path
    assert "What was found has been withdrawn." in await published.page(f"/authors/{author}")
    for path in ("/feeds/all.atom", "/feeds/wikipedia.json", f"/feeds/authors/{author}.atom"):
        feed = await published.page(path)
        assert SUMMARY not in feed, path
        assert said in feed, path
        assert NOTE in feed, path
    assert MOON.author is not None
    other = author_id(MOON.post.platform, MOON.author.platform_user_id)
    for path in ("/feeds/lesswrong.atom", f"/feeds/authors/{other}.atom"):
        assert NOTE not in await published.page(path), path
    items = {each["id"]: each for each in json.loads(await published.page("/feeds/all.json"))["items"]}
    entry = items[f"urn:uuid:{ARTICLE.investigation_id}"]
    assert entry["title"] == f"{'Retracted' if is_final else 'Withdrawn for now'}: 1 error in “Old windows”"
    assert entry["date_modified"] > entry["date_published"]
    assert ">withdrawn</a>" in await published.page(f"/posts/wikipedia/{ARTICLE.post.external_id}")
    page = await published.page(page_of(ARTICLE))
    assert "Nothing shown as wrong in “Old windows”" in page
    assert said in page
    assert NOTE in page
    assert "finding-1" not in page
    assert "<mark" not in page
    assert (SUMMARY in page) == is_final
    assert LD.findall(page) == []
    for path in ("/retractions", "/feeds/retractions.atom", "/feeds/retractions.json"):
        assert (NOTE in await published.page(path)) == is_final, path
    assert ("retracted by the operator" in await published.page("/retractions")) == is_final
    assert 'href="/retractions">All retractions' in page
    audit = await published.page(f"{page_of(ARTICLE)}/audit")
    assert "is published" not in audit
    assert f"has been {'retracted' if is_final else 'withdrawn for now'} since" in audit
    picture = await published.running.http.get(f"{page_of(ARTICLE)}/card.png")
    assert picture.headers["cache-control"] == "public, max-age=60"
    document = json.loads(await published.page(f"{page_of(ARTICLE)}.json"))
    assert document["claims"] == []
    (withdrawn,) = document["withdrawnClaims"]
    assert (withdrawn["id"], withdrawn["state"], withdrawn["cause"], withdrawn["note"]) == (
        str(CLAIM),
        state,
        "OPERATOR",
        NOTE,
    )
    answer = await published.ask()
    assert answer["publicInvestigation"] == {"claims": [], "withdrawnClaims": [withdrawn]}
    assert withdrawn["summary"] == (SUMMARY if is_final else None)
    assert answer["postInvestigations"]["investigations"] == [{"claimCount": 0, "claimSummaries": []}]
    assert answer["searchInvestigations"]["investigations"] == answer["search"]["edges"] == []
    assert answer["publicMetrics"] == {"totalInvestigatedPosts": 2, "investigatedPostsWithFlags": 1}
    assert answer["authors"]["edges"] == [{"node": {"metrics": metrics(flagged=0)}}]
    assert (await published.ask(WINDOW))["publicMetrics"] == answer["publicMetrics"]
    rows = await published.exported(folder)
    assert str(CLAIM) not in {each["id"] for each in rows["claims"]}
    assert str(CLAIM) not in {each["claim_id"] for each in rows["sources"]}
    assert [(each["claim_id"], each["state"]) for each in rows["withdrawn_claims"]] == [(str(CLAIM), state)]


@pytest.mark.requirement("TR-33", "TR-34")
async def test_every_surface_follows_a_suspension_a_release_and_a_retraction(
    published: Published, tmp_path: Path
) -> None:
    """TR-33: A suspended finding leaves every surface within 60 seconds
    TR-34: Who saw a finding that is taken back gets one notice
    """
    await assert_stands(published, tmp_path / "published")
    await published.change("SUSPENDED")
    await assert_gone(published, "SUSPENDED", tmp_path / "suspended")
    await published.change("RELEASED")
    await assert_stands(published, tmp_path / "released")
    await published.change("RETRACTED")
    await assert_gone(published, "RETRACTED", tmp_path / "retracted")
    assert MOON.findings[0].summary in await published.page("/corrections"), "others are left alone"
    tables = await everything(published.url)
    assert await shadow(published.url, NoTexts(), analyses=ANALYSES) == []
    await rebuild(published.url, NoTexts(), analyses=ANALYSES)
    again = await everything(published.url)
    for table in ("finding_state", "investigation_doc", "search_document"):
        assert again[table] == tables[table], table


async def test_one_finding_of_several_leaves_alone(published: Published) -> None:
    claim, (first, second) = MOON.claim(0)[0], MOON.findings
    event = changed("RETRACTED", 0).model_copy(update={"claim_id": claim, "investigation_id": MOON.investigation_id})
    await published.tell(event)
    page = await published.page(page_of(MOON))
    assert "1 error in “Great Wall of China”" in page
    assert page.count('class="finding"') == 1
    assert page.index(second.summary) < page.index("Retracted on") < page.index(first.summary)
    (entry,) = [
        each
        for each in json.loads(await published.page("/feeds/all.json"))["items"]
        if each["id"] == f"urn:uuid:{MOON.investigation_id}"
    ]
    assert entry["title"] == "1 error in “Great Wall of China”"
    assert NOTE in entry["content_text"]


@pytest.mark.requirement("TR-30")
async def test_of_two_who_change_a_finding_at_once_one_is_refused(published: Published) -> None:
    """TR-30: The states of a finding are ordered by the stream, and a retraction is final"""
    await published.change("SUSPENDED")
    bus = published.running.host.bus
    await bus.publish(changed("RETRACTED", published.sequence), correlation=uuid4())
    with pytest.raises(PublishConflict):
        await bus.publish(changed("RELEASED", published.sequence), correlation=uuid4())
    await published.tell()
    assert [row["state"] for row in (await everything(published.url))["finding_state"]] == ["RETRACTED"]


async def test_an_update_run_and_later_readers_are_not_given_what_was_taken_back(published: Published) -> None:
    database = Database(published.url, role="reader")
    reads = SqlReads(database)
    try:
        await published.tell(NEXT.registered())
        prior = await reads.prior(NEXT.post_id, NEXT.version_id, "FACT_CHECK")
        assert prior is not None
        assert [claim.claim_id for claim in prior.claims] == [CLAIM]
        version = {"postVersionId": str(NEXT.version_id)}
        shown = data(VIEW, await published.running.mutate(VIEW, version))["priorInvestigationResult"]
        assert len(shown["oldClaims"]) == 1
        await published.change("RETRACTED")
        prior = await reads.prior(NEXT.post_id, NEXT.version_id, "FACT_CHECK")
        assert prior is not None
        assert prior.claims == ()
        shown = data(VIEW, await published.running.mutate(VIEW, version))["priorInvestigationResult"]
        assert shown["oldClaims"] == []
    finally:
        await reads.close()
        await database.close()


async def test_the_note_is_erased_with_the_post_and_a_late_change_is_refused(published: Published) -> None:
    await published.change("SUSPENDED", "A note about Wanda.")
    await published.tell(ErasureOrdered(erasure_id=uuid4(), post_id=ARTICLE.post_id, reason="asked for"))
    await published.tell(changed("RETRACTED", published.sequence))
    tables = await everything(published.url)
    assert tables["finding_state"] == []
    assert [row["outcome"] for row in tables["refused_fact"]] == ["refused"]


async def test_what_was_retracted_of_an_author_who_asks_not_to_be_shown_is_left_out(published: Published) -> None:
    claim_id, claim = SKEET.claim(0)
    author = author_id("BLUESKY", DID)
    dispute = IntegrityAnomalyDetected(
        post_id=SKEET.post_id,
        post=SKEET.post,
        observation_id=uuid4(),
        kind="author",
        observed="Bea",
        canonical="Ada",
    )
    await published.tell(*run_of(SKEET), dispute)
    await published.tell(
        changed("RETRACTED", 0).model_copy(update={"claim_id": claim_id, "investigation_id": SKEET.investigation_id})
    )
    shown = {
        "/retractions": claim.text,
        f"/investigations/{SKEET.investigation_id}": claim.text,
        post_path("BLUESKY", SKEET.post.external_id): SKEET.url,
        f"/sitemaps/{datetime.now(UTC):%Y-%m-%d}.xml": str(SKEET.investigation_id),
        "/graphql?query={integrityAnomalies{edges{node{externalId}}}}": SKEET.post.external_id,
        "/authors": str(author),
        f"/authors/{author}": DID,
        f"/feeds/authors/{author}.json": str(author),
        f'/graphql?query={{author(id:"{author}"){{platformUserId}}}}': DID,
        "/graphql?query={authors{edges{node{platformUserId}}}}": DID,
    }
    for path, words in shown.items():
        assert words in (await published.running.http.get(path)).text, path
    await published.tell(SKEET.unavailable("later", HIDDEN_BY_AUTHOR))
    for path, words in shown.items():
        assert words not in (await published.running.http.get(path)).text, path


async def test_retractions_are_paged(published: Published) -> None:
    articles = [
        Article(
            f"en:{n}", f"Sentence {n} is wrong here.", Finding(f"Sentence {n} is wrong", f"Not {n}."), title=f"T{n}"
        )
        for n in range(1_000, 1_023)
    ]
    await published.tell(*(event for article in articles for event in run_of(article)))
    assert "Nothing has been taken back yet." in await published.page("/retractions")
    await published.tell(
        *(
            changed("RETRACTED", 0, f"Note {n}.").model_copy(
                update={"claim_id": article.claim(0)[0], "investigation_id": article.investigation_id}
            )
            for n, article in enumerate(reversed(articles))
        )
    )
    for feed in ("all", "retractions"):
        items = json.loads(await published.page(f"/feeds/{feed}.json"))["items"]
        newest = [f"urn:uuid:{article.investigation_id}" for article in articles]
        assert [each["id"] for each in items if each["id"] in newest] == newest, "what was taken back last is first"
    first = await published.page("/retractions")
    older = first.partition('rel="next"')[0].rpartition('href="')[2].rstrip('" ')
    second = await published.page(older)
    notes = [f"Note {n}." for n in reversed(range(23))]
    assert [note for note in notes if note in first] == notes[:20]
    assert [note for note in notes if note in second] == notes[20:]
    assert (await published.running.http.get("/retractions?after=x")).status_code == 400
