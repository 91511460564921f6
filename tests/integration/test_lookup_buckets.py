"""Buckets of private look-ups over a real database: they hold what stands, and follow what changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import sha256
from uuid import UUID, uuid4

import pytest

from contracts.lookup.buckets import clear_mark, post_key
from contracts.v1 import BreakerChanged, ErasureOrdered, Event, FindingChanged
from contracts.v1.finding import FindingState
from services.notary.lookup.layouts import ANSWERS_FOR
from services.projector.rebuild.rebuild import rebuild
from tests.integration.readmodel_tables import ANALYSES, NoTexts, owner, prepare
from tests.support.built_lookups import Lookups
from tests.support.notaries import POLICY, Killed
from tests.support.public_record import Article, Finding
from tests.support.published_finding import run_of
from tests.support.servers import Prepare
from tests.unit.projector.histories import START
from tlog.decision import prove_decision

pytest_plugins = ["tests.support.servers"]

GLASS, HONEY = "Glass flows slowly, like honey.", "Honey spoils within a year."
PANES = Article(
    "en:777", f"Old panes. {GLASS} {HONEY} So they say.", Finding(GLASS, "No."), Finding(HONEY, "It keeps.")
)
CLEAN = Article("en:778", "Water boils at 100 degrees at sea level.")
UNLISTED = Article("en:779", f"I know: {GLASS}", Finding(GLASS, "No."), verified=False)


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.fixture
async def lookups(database_url: str) -> AsyncIterator[Lookups]:
    found = Lookups(database_url)
    yield found
    await found.notary.close()


def change(claim: UUID, state: FindingState, follows: int = 0, article: Article = PANES) -> FindingChanged:
    return FindingChanged(
        follows=follows,
        claim_id=claim,
        investigation_id=article.investigation_id,
        state=state,
        cause="OPERATOR",
        note="Another year was meant.",
    )


def many(count: int, text: str = GLASS) -> list[Article]:
    return [Article(f"en:{n}", f"{n}: {text}", Finding(text, "No.")) for n in range(1_000, 1_000 + count)]


def runs(articles: list[Article]) -> list[Event]:
    return [event for article in articles for event in run_of(article)]


async def test_a_bucket_holds_findings_with_their_proofs_and_marks_of_what_is_clear(lookups: Lookups) -> None:
    await lookups.publish(*run_of(PANES), *run_of(CLEAN), *run_of(UNLISTED))
    assert (lookups.layout.layout, lookups.layout.bits, lookups.layout.paused) == ("b0", 0, False)
    bucket = lookups.bucket(PANES)
    (post,) = bucket.posts
    (version,) = post.versions
    assert post.key == post_key("WIKIPEDIA", "en:777").hex()
    assert version.content_hash == sha256(PANES.text.encode()).hexdigest()
    assert version.investigation == PANES.investigation_id
    assert lookups.findings(PANES) == [GLASS, HONEY]
    assert bucket.checkpoint in version.proof
    assert bucket.clear == (clear_mark(post_key("WIKIPEDIA", "en:778"), sha256(CLEAN.text.encode()).hexdigest()),)
    assert (lookups.metrics.bits, lookups.metrics.posts) == (0, 1)


async def test_of_many_clear_posts_the_newest_are_marked(lookups: Lookups, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.notary.lookup.bodies.CLEAR_MOST", 2)
    clear = [Article(f"en:{n}", f"{n} is a number.") for n in range(5)]
    await lookups.publish(*run_of(PANES), *runs(clear))
    marks = {
        clear_mark(post_key("WIKIPEDIA", each.post.external_id), sha256(each.text.encode()).hexdigest())
        for each in clear[3:]
    }
    assert set(lookups.bucket(PANES).clear) == marks
    assert lookups.findings(PANES) == [GLASS, HONEY]


async def test_nothing_is_built_before_there_is_a_note(lookups: Lookups) -> None:
    await lookups.project(*run_of(PANES))
    await lookups.notary.enter()
    await lookups.build()
    assert lookups.objects.objects == {}


async def test_what_is_under_no_note_yet_comes_with_the_next(lookups: Lookups) -> None:
    await lookups.publish(*run_of(CLEAN))
    await lookups.project(*run_of(PANES))
    await lookups.build()
    assert lookups.post(PANES) is None
    await lookups.notary.enter()
    await lookups.build()
    assert lookups.post(PANES) is None
    await lookups.publish()
    assert lookups.findings(PANES) == [GLASS, HONEY]
    await lookups.publish()
    assert lookups.objects.put_names == []


@pytest.mark.requirement("TR-26")
async def test_what_is_taken_back_leaves_with_the_next_publication(lookups: Lookups) -> None:
    """What is released is in its bucket in 30 seconds; what is taken back or erased leaves it in two minutes."""
    await lookups.publish(*run_of(PANES))
    glass, honey = PANES.claim(0)[0], PANES.claim(1)[0]
    await lookups.publish(change(glass, "SUSPENDED"))
    assert lookups.findings(PANES) == [HONEY]
    assert lookups.holds(GLASS) == []
    await lookups.publish(change(honey, "RETRACTED"))
    assert (lookups.post(PANES), lookups.bucket(PANES).clear) == (None, ())
    day = lookups.tape.now.date()
    told = {each.id: (each.state, each.cause) for each in lookups.retractions(day).claims}
    assert told == {glass: ("SUSPENDED", "OPERATOR"), honey: ("RETRACTED", "OPERATOR")}
    suspended_at = len(lookups.tape.records) - 1
    await lookups.publish(change(glass, "RELEASED", suspended_at))
    assert lookups.findings(PANES) == [GLASS]
    assert [each.state for each in lookups.retractions(day).claims if each.id == glass] == ["RELEASED"]


@pytest.mark.requirement("TR-26")
async def test_an_erased_post_leaves_every_layout_and_day(lookups: Lookups) -> None:
    """What is released is in its bucket in 30 seconds; what is taken back or erased leaves it in two minutes."""
    await lookups.publish(*run_of(PANES), *runs(many(15)))
    await lookups.publish(*run_of(Article("en:5", f"5: {HONEY}", Finding(HONEY, "No."))))
    assert (lookups.layout.bits, "lookup/b0/all" in lookups.objects.objects) == (1, True)
    claim, key = PANES.claim(0)[0], post_key("WIKIPEDIA", "en:777").hex()
    await lookups.publish(change(claim, "SUSPENDED"))
    assert lookups.holds(str(claim))
    assert {"lookup/b0/all", lookups.name(PANES)} <= set(lookups.holds(key))
    await lookups.publish(ErasureOrdered(erasure_id=uuid4(), post_id=PANES.post_id, reason="asked for"))
    assert lookups.holds(key) == lookups.holds(str(claim)) == []
    async with await owner(lookups.url) as db:
        for table in ("lookup_post", "lookup_change"):
            found = await db.execute(f"SELECT FROM log.{table} WHERE post_id = %s", (PANES.post_id,))
            assert await found.fetchone() is None


@pytest.mark.requirement("TR-26")
async def test_only_what_has_changed_is_built_again(lookups: Lookups) -> None:
    """What is released is in its bucket in 30 seconds; what is taken back or erased leaves it in two minutes."""
    articles = many(40)
    await lookups.publish(*runs(articles))
    await lookups.publish()
    assert lookups.layout.bits == 2
    await lookups.publish(change(articles[0].claim(0)[0], "SUSPENDED", article=articles[0]))
    day = f"lookup/retractions/{lookups.tape.now.date()}"
    assert sorted(lookups.objects.put_names) == sorted([lookups.name(articles[0]), day])
    async with await owner(lookups.url) as db:
        await db.execute("SELECT log.mark_lookups()")
    await lookups.publish()
    assert lookups.objects.put_names == []


@pytest.mark.requirement("TR-22")
async def test_the_layout_follows_the_posts_and_the_one_before_answers_for_two_days(lookups: Lookups) -> None:
    """The number of bits follows the number of posts with findings, and is the same for all readers."""
    articles = many(17)
    await lookups.publish(*runs(articles[:16]))
    await lookups.publish()
    assert lookups.layout.bits == 0
    await lookups.publish(*run_of(articles[16]))
    assert lookups.layout.bits == 1
    assert sum(len(lookups.bucket(each, 1).posts) > 0 for each in articles) == 17
    assert {name for name in lookups.objects.objects if "/b" in name} == {"lookup/b0/all", "lookup/b1/0", "lookup/b1/8"}
    first = articles[0].claim(0)[0]
    await lookups.publish(change(first, "SUSPENDED", article=articles[0]))
    assert lookups.layout.bits == 1, "one fewer does not change it back"
    assert lookups.holds(str(articles[0].investigation_id)) == [], "the layout before follows too"
    lookups.clock.jump(ANSWERS_FOR.total_seconds() - 1)
    await lookups.publish()
    assert "lookup/b0/all" in lookups.objects.objects
    lookups.clock.jump(1)
    await lookups.publish()
    assert "lookup/b0/all" not in lookups.objects.objects
    for article in articles[1:10]:
        await lookups.project(change(article.claim(0)[0], "RETRACTED", article=article))
    await lookups.publish()
    assert (lookups.layout.bits, lookups.layout.first_day) == (0, START.date())
    assert len(lookups.bucket(articles[16]).posts) == 7


@pytest.mark.parametrize("times", [4, 5])
async def test_every_bucket_is_built_again_within_a_day(lookups: Lookups, times: int) -> None:
    await lookups.publish(*runs(many(20)))
    await lookups.publish()
    await lookups.publish(*runs([Article("en:5", "Five is even.", Finding("Five is even.", "No."))]))
    built: list[str] = []
    for _ in range(times):
        lookups.clock.pass_by(24 * 3_600 / times)
        await lookups.publish()
        built += lookups.objects.put_names
    assert sorted(built) == ["lookup/b1/0", "lookup/b1/8"]
    notes = {lookups.bucket(each).checkpoint for each in many(20)}
    assert notes == {lookups.notary.objects.notes[-1].decode()}


async def test_a_breaker_for_everything_pauses(lookups: Lookups) -> None:
    await lookups.publish(*run_of(PANES))
    opened = BreakerChanged(scope="ALL", state="OPEN", trigger="EVIDENCE", numbers="3 of 50", by="curator")
    await lookups.publish(opened)
    assert lookups.layout.paused
    follows = len(lookups.tape.records)
    await lookups.publish(
        BreakerChanged(follows=follows, scope="ALL", state="HALF_OPEN", cause="A prompt.", by="operator")
    )
    assert not lookups.layout.paused


@pytest.mark.requirement("TR-26")
async def test_posts_of_an_author_who_asks_not_to_be_shown_leave(lookups: Lookups) -> None:
    """What is released is in its bucket in 30 seconds; what is taken back or erased leaves it in two minutes."""
    await lookups.publish(*run_of(PANES), *run_of(CLEAN))
    assert lookups.findings(PANES) == [GLASS, HONEY]
    async with await owner(lookups.url) as db:
        await db.execute("SET ROLE errata_projector")
        await db.execute("UPDATE readmodel.author SET hidden_at = now()")
    await lookups.publish()
    assert (lookups.bucket(PANES).posts, lookups.bucket(PANES).clear) == ((), ()), "both posts are of one author"
    assert lookups.metrics.posts == 0


async def test_a_rebuilt_read_model_changes_nothing_and_is_compared(lookups: Lookups) -> None:
    await lookups.publish(*run_of(PANES), *runs(many(3)))
    await rebuild(lookups.url, NoTexts(), analyses=ANALYSES)
    async with await owner(lookups.url) as db:
        row = await (await db.execute("SELECT count(*) FROM log.lookup_change")).fetchone()
        assert row == (4,)
    await lookups.publish()
    assert lookups.objects.put_names == []
    await lookups.publish(change(PANES.claim(0)[0], "SUSPENDED"))
    assert lookups.findings(PANES) == [HONEY]


async def test_after_the_loss_of_the_database_nothing_old_is_left(lookups: Lookups) -> None:
    lookups.objects.objects["lookup/b6/a8"] = lookups.objects.objects["lookup/retractions/2026-01-01"] = b"old"
    await lookups.publish(*run_of(PANES))
    assert sorted(lookups.objects.objects) == ["lookup/b0/all", "lookup/layout.json"]


async def test_a_process_that_is_killed_at_any_write_loses_nothing(lookups: Lookups) -> None:
    await lookups.project(*runs(many(20)))
    await lookups.record()
    for _ in range(30):
        lookups.objects.left = 1
        try:
            await lookups.build()
        except Killed:
            lookups.restart()
        else:
            break
    lookups.objects.left = 1_000_000
    await lookups.build()
    assert lookups.layout.bits == 1
    assert sorted(text for each in many(20) for text in lookups.findings(each)) == [GLASS] * 20
    assert lookups.metrics.posts == 20


async def test_an_edited_post_has_both_versions(lookups: Lookups) -> None:
    edited = Article("en:777", f"{PANES.text} Edited.", Finding(GLASS, "No."))
    await lookups.publish(*run_of(PANES), *run_of(edited))
    post = lookups.post(PANES)
    assert post is not None
    hashes = {each.content_hash for each in post.versions}
    assert hashes == {sha256(each.text.encode()).hexdigest() for each in (PANES, edited)}
    assert all(each.revisions for each in post.versions)
    assert {prove_decision(each.proof.encode(), POLICY).leaf.k for each in post.versions} == {"found"}
