"""What the selector reads is what the specification's own query finds, by index; what a day has cost; what is lost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import ClauseElement, Executable, RowMapping

from contracts.topology import ERRATA, INVESTIGATOR_INVESTIGATION_REQUESTED
from contracts.v1 import Event, InvestigationFailed, InvestigationRequested
from contracts.v1.parts import Usage
from kit import topology
from kit.bus import connect
from kit.database import Database
from kit.history import read_history
from lifecycle.rescue import Watermarks
from platforms import PLATFORMS
from services.selector.adapters import BusLog, Spending, SqlReads
from services.selector.domain import Budget, Candidate, Overdue, Reason, Spent
from services.selector.handlers import Selector
from tests.integration.readmodel_tables import fill, owner, prepare, store_at
from tests.support.fakes import StillClock
from tests.support.servers import Prepare
from tests.unit.projector.histories import FACT_CHECK, Page, Tape, mixed, uid

pytest_plugins = ["tests.support.servers"]

START = datetime(2026, 1, 5, tzinfo=UTC)
FAR_ON = datetime(2027, 1, 1, tzinfo=UTC)
EVERYTHING = Watermarks(10**9, 10**9, 10**9)

# Requirements 3.6, with the names of our tables; what failed on readers' accounts alone counts as not investigated.
ORDER = [site.name for site in PLATFORMS]
AS_SPECIFIED = """
    WITH latest AS (
        SELECT DISTINCT ON (post_id) id, post_id, content_hash, server_verified_at, corroborated_at FROM post_version
        ORDER BY post_id, server_verified_at IS NULL, last_seen_at DESC, id DESC
    )
    SELECT latest.id, i.id, p.unique_view_score
    FROM latest JOIN post p ON p.id = latest.post_id JOIN content_blob b USING (content_hash)
    LEFT JOIN investigation i ON i.post_version_id = latest.id
    WHERE b.word_count <= 10000
        AND num_nonnulls(latest.server_verified_at, latest.corroborated_at) > 0
        AND (i.id IS NULL OR i.status IN ('PENDING', 'PROCESSING') OR (i.status = 'FAILED' AND NOT EXISTS (
            SELECT FROM investigation_round r
            WHERE r.investigation_id = i.id AND r.fault <> 'USER_KEY' AND r.key_source <> 'USER')))
    ORDER BY array_position(%s, p.platform), latest.server_verified_at IS NULL, p.unique_view_score DESC, p.id
"""
OPEN = "SELECT post_version_id FROM investigation WHERE status IN ('PENDING', 'PROCESSING')"


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[SqlReads]:
    database = Database(url, role="reader")
    yield SqlReads(database)
    await database.close()


async def told(url: str, events: Sequence[Event], views: Sequence[Event] = ()) -> None:
    """Bring facts into the tables."""
    tape, seen = Tape(), Tape("VIEWS")
    tape.add(*events)
    seen.add(*views)
    store = store_at(url)
    await fill(store, tape.records)
    await fill(store, seen.records)
    await store.close()


def of_a_key(page: Page, number: int = 1) -> Event:
    return page.failed(number).model_copy(update={"fault": "USER_KEY"})


@pytest.mark.requirement("2.10-01", "2.10-07", "3.6-01", "3.6-02", "3.6-05")
@pytest.mark.parametrize("seed", range(3))
async def test_the_list_is_what_the_specifications_query_finds(database_url: str, seed: int) -> None:
    """2.10-01: Order by capped unique score.
    2.10-07: Edited posts re-enter the pool.
    3.6-01: Latest seen version per post.
    3.6-02: Word filter.
    3.6-05: Failed and finished posts are left alone.
    """
    errata, views = mixed(60, seed)
    waiting, broken = Page("waiting"), Page("broken")
    errata.add(waiting.registered(), waiting.requested(), broken.registered(), broken.requested(), of_a_key(broken))
    views.add(waiting.viewed("a"), broken.viewed("a"), broken.viewed("b"))
    draw = random.Random(seed)
    for number in range(30):
        page = Page(f"more-{number}", words=draw.choice((9, 10_000, 10_001)))
        errata.add(page.registered(), *draw.choice(((), (), (page.requested(),), (page.requested(), page.started()))))
        views.add(*(page.viewed(f"v{viewer}") for viewer in range(draw.randrange(4))))
    store = store_at(database_url)
    await fill(store, errata.records)
    await fill(store, views.records)
    await store.close()
    async with await owner(database_url) as db:
        wanted = await (await db.execute(AS_SPECIFIED, (ORDER,))).fetchall()
        open_versions = {version for (version,) in await (await db.execute(OPEN)).fetchall()}
    async with reading(database_url) as reads:
        fresh = await reads.candidates(FACT_CHECK, 1_000)
        open_ = await reads.overdue(FACT_CHECK, FAR_ON, EVERYTHING, 1_000)
    under_way = [(each.candidate.version_id, each.candidate.score) for each in open_]
    listed = [(each.version_id, each.score) for each in fresh]
    assert len(listed) > 5
    assert waiting.version_id in dict(under_way)
    assert broken.version_id in dict(listed)
    assert [row for row in [(version, score) for version, _, score in wanted] if row not in under_way] == listed
    assert {(version, score) for version, _, score in wanted if (version, score) not in listed} <= set(under_way)
    assert {version for version, _ in under_way} == open_versions


@pytest.mark.requirement("2.10-01")
async def test_made_up_posts_take_no_place_from_honest_ones(database_url: str) -> None:
    """120 posts that one address range made up are no candidates; once three ranges saw one, it comes behind others.

    2.10-01: Order by capped unique score.
    """
    made_up = [
        Page(f"m{number}", f"Lie {number}.", platform="X", provenance="CLIENT_FALLBACK") for number in range(120)
    ]
    honest = [Page(f"en:{number}", f"Text {number}.") for number in range(20)]
    seen = [page.viewed("stranger", network="one") for page in made_up]
    seen += [page.viewed(f"reader-{page.post.external_id}", network="home") for page in honest[:5]]
    await told(database_url, [page.registered() for page in (*made_up, *honest)], seen)
    async with reading(database_url) as reads:
        wanted = await reads.candidates(FACT_CHECK, 20)
        survey = await reads.survey(FACT_CHECK)
    assert {each.version_id for each in wanted} == {page.version_id for page in honest}
    assert survey == {"unconfirmed": 120, "waiting": 20}
    store, views = store_at(database_url), Tape("VIEWS")
    views.add(*seen, *(made_up[7].viewed(f"v{number}", network=f"range-{number}") for number in range(3)))
    await fill(store, views.records)
    await store.close()
    async with reading(database_url) as reads:
        found = [each for each in await reads.candidates(FACT_CHECK, 20) if each.platform == "X"]
    assert [(each.version_id, each.confirmed) for each in found] == [(made_up[7].version_id, False)]


async def test_a_post_is_wanted_as_soon_as_it_is_corroborated(database_url: str) -> None:
    """Also by a view that earns no credit, because its viewer was credited that day for an earlier version."""
    old, new = (Page("t1", text, platform="X", provenance="CLIENT_FALLBACK") for text in ("As it was.", "As it is."))
    errata, views = Tape(), Tape("VIEWS")
    errata.add(old.registered(), new.registered())
    views.add(old.viewed("a"), new.viewed("a", reporter="key"))
    store = store_at(database_url)
    for records in (errata.records, views.records[:1], views.records[1:]):
        await fill(store, records)
    await store.close()
    async with reading(database_url) as reads:
        assert [each.version_id for each in await reads.candidates(FACT_CHECK, 9)] == [new.version_id]


@pytest.mark.requirement("2.10-01")
async def test_confirmed_posts_come_before_corroborated_ones(database_url: str) -> None:
    """2.10-01: Order by capped unique score."""
    confirmed = Page("en:1", "Text one.")
    corroborated = Page("en:2", "Text two.", provenance="CLIENT_FALLBACK")
    views = [corroborated.viewed(f"v{number}", network=f"n{number}") for number in range(5)]
    await told(database_url, [confirmed.registered(), corroborated.registered()], views)
    async with reading(database_url) as reads:
        found = await reads.candidates(FACT_CHECK, 9)
    assert [(each.version_id, each.score) for each in found] == [
        (confirmed.version_id, 0),
        (corroborated.version_id, 5),
    ]


async def test_both_lists_are_read_in_the_order_of_their_index(database_url: str) -> None:
    errata, views = mixed(40, 1)
    store = store_at(database_url)
    await fill(store, errata.records)
    await fill(store, views.records)
    await store.close()
    plans: list[str] = []
    indexes = {"candidate": "candidate_next_idx", "investigation": "investigation_open_idx"}

    class Explained(SqlReads):
        async def _read_rows(self, query: Executable, **values: object) -> Sequence[RowMapping]:
            assert isinstance(query, ClauseElement)
            compiled = query.compile(compile_kwargs={"literal_binds": True})
            async with await owner(database_url) as db:
                await db.execute("ANALYZE")
                await db.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off")
                found = await db.execute(f"EXPLAIN {compiled}".encode())
                plans.append("\n".join(line for (line,) in await found.fetchall()))
            return []

    database = Database(database_url, role="reader")
    await Explained(database).candidates(FACT_CHECK, 20)
    await Explained(database).overdue(FACT_CHECK, FAR_ON, EVERYTHING, 20)
    await database.close()
    expected = ["candidate"] * len(ORDER) + ["investigation"]
    for plan, (table, index) in zip(plans, [(table, indexes[table]) for table in expected], strict=True):
        assert f"using {index} on {table}" in plan
        assert "Sort" not in plan
        assert "Seq Scan" not in plan


async def test_a_version_that_only_a_reader_saw_does_not_replace_a_confirmed_one(database_url: str) -> None:
    confirmed, claimed, edited, edit = (
        Page("a", "It was."),
        Page("a", "Said."),
        Page("b", "It was."),
        Page("b", "It is."),
    )
    trusted, heard = {"provenance": "SERVER_VERIFIED"}, {"provenance": "CLIENT_FALLBACK"}
    events: list[Event] = [page.registered().model_copy(update=trusted) for page in (confirmed, edited, edit)]
    events.append(claimed.registered().model_copy(update=heard))
    await told(database_url, events)
    async with reading(database_url) as reads:
        found = {each.post_id: each.version_id for each in await reads.candidates(FACT_CHECK, 10)}
    assert found == {confirmed.post_id: confirmed.version_id, edit.post_id: edit.version_id}


@pytest.mark.requirement("3.6-05", "3.7-07")
async def test_what_failed_on_readers_accounts_alone_leaves_a_post_to_the_instance(database_url: str) -> None:
    """3.6-05: Failed and finished posts are left alone.
    3.7-07: A reader's key that is gone fails the run.
    """
    keys, theirs, ours, both = Page("keys"), Page("theirs"), Page("ours"), Page("both")
    events: list[Event] = [page.registered() for page in (keys, theirs, ours, both)]
    events += [theirs.requested().model_copy(update={"key_source": "USER"}), theirs.failed()]
    events.append(
        theirs.checked_again("APPEAL", uid("appeal")).requested()
    )  # another investigation of the same version
    events += [keys.requested(), of_a_key(keys), keys.requested(2), of_a_key(keys, 2)]
    events += [ours.requested(), ours.failed()]
    events += [both.requested(), both.failed(), both.requested(2), of_a_key(both, 2)]
    views = [
        page.viewed(viewer) for page, viewer in ((keys, "a"), (keys, "b"), (theirs, "a"), (ours, "a"), (both, "a"))
    ]
    await told(database_url, events, views)
    async with reading(database_url) as reads:
        found = await reads.candidates(FACT_CHECK, 10)
    assert [(each.version_id, each.round) for each in found] == [(keys.version_id, 3), (theirs.version_id, 2)]
    assert [events[each.follows - 1].subject() for each in found] == [
        keys.requested(2).subject(),
        theirs.requested().subject(),
    ]


def cost(event: Event, tokens: int, micro_usd: int | None) -> Event:
    return event.model_copy(update={"usage": Usage(total_tokens=tokens, cost_micro_usd=micro_usd)})


@pytest.mark.requirement("2.10-02", "2.12-04")
@pytest.mark.parametrize("size", [1, 100])
async def test_what_a_day_has_cost_and_whom(database_url: str, size: int) -> None:
    """2.10-02: Budget configurable.
    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    ours, theirs, mine, unpriced = Page("ours"), Page("theirs"), Page("mine"), Page("unpriced")
    chosen = ours.requested().model_copy(update={"requested_by": "SELECTOR"})
    tape = Tape(start=START - timedelta(seconds=4))
    tape.add(ours.registered(), chosen, ours.started(), cost(ours.retry(), 50, 1_000))  # the last at midnight
    tape.add(ours.started(2), ours.proposed(0), ours.proposed(1), cost(ours.drafted(2, 2), 100, 30_000))
    tape.add(cost(ours.approved(0), 10, 2_000), cost(ours.rejected(1), 0, None), ours.completed((0,), 2))
    tape.add(theirs.registered(), theirs.requested(), theirs.started(), theirs.failed())
    asked_again = theirs.requested(2).model_copy(update={"key_source": "USER"})
    tape.add(asked_again, cost(theirs.drafted(0, 1), 9, 9), theirs.started(2), cost(theirs.drafted(0, 2), 70, None))
    tape.add(mine.registered(), mine.requested().model_copy(update={"requested_by": "SELECTOR"}))
    tape.add(unpriced.registered(), unpriced.requested(), unpriced.started(), unpriced.proposed(0))
    tape.add(cost(unpriced.drafted(1), 5, 1_000), cost(unpriced.approved(0), 7, None), unpriced.completed((0,)))
    store = store_at(database_url)
    await fill(store, tape.records, [size] * len(tape.records))
    await store.close()
    async with reading(database_url) as reads:
        assert await reads.spending(START, FACT_CHECK) == [
            Spending("SELECTOR", "INSTANCE", 1, 1, 160, 33_000, 0),
            Spending("READER", "INSTANCE", 2, 0, 9 + 5 + 7, 9 + 1_000, 1),
            Spending("READER", "USER", 1, 1, 70, 0, 1),
        ]
        assert await reads.spent(START, FACT_CHECK) == Spent(1, 1, 33_000, 0, 33_000, {"WIKIPEDIA": 1})
        assert (await reads.spent(START + timedelta(hours=12), FACT_CHECK)).under_way == 1, "the next day pays for it"
        assert await reads.spent(FAR_ON, FACT_CHECK) == Spent()
        assert await reads.spent(START, "OTHER_KIND") == Spent(), "each kind of analysis has a budget of its own"
    async with await owner(database_url) as db:
        found = await db.execute("SELECT sum(cost_micro_usd)::int FROM investigation_attempt_usage")
        assert await found.fetchall() == [(1_000 + 30_000 + 9 + 1_000,)]


@pytest.mark.requirement("3.6-03", "3.6-04")
async def test_a_run_may_be_lost_whatever_became_of_its_post(database_url: str) -> None:
    """3.6-03: A run whose worker died is taken up again.
    3.6-04: A request that was lost is made again.
    """
    older, newer, long = Page("post", "As it was."), Page("post", "As it is."), Page("long", words=10_001)
    put_off, at_work = Page("put off"), Page("at work")
    runs = [older, long, put_off, at_work]
    events: list[Event] = [*(page.registered() for page in runs), newer.registered()]
    events += [page.requested() for page in runs]
    events += [put_off.started(), put_off.retry(), at_work.started()]
    await told(database_url, events)
    seen = {}
    async with reading(database_url) as reads:
        for minutes in (-60, 3, 15, 61):
            overdue = await reads.overdue(FACT_CHECK, START.replace(hour=9) + timedelta(minutes=minutes), EVERYTHING, 9)
            seen[minutes] = [each.candidate.version_id for each in overdue]
    waiting = [older.version_id, long.version_id]
    assert seen == {
        -60: [],
        3: waiting,
        15: [*waiting, at_work.version_id],
        61: [*waiting, put_off.version_id, at_work.version_id],
    }


def chosen(page: Page, number: int = 1) -> Event:
    return page.requested(number).model_copy(update={"requested_by": "SELECTOR"})


@pytest.mark.requirement("2.10-01", "3.6-03")
async def test_what_was_chosen_last_is_known_of_the_selectors_requests_alone(database_url: str) -> None:
    """2.10-01: Order by capped unique score.
    3.6-03: A run whose worker died is taken up again.
    """
    ours, theirs, keys = Page("ours"), Page("theirs"), Page("keys")
    tape = Tape(start=START)
    lately, store = START - timedelta(days=1), store_at(database_url)
    told: list[Reason | None] = []
    async with reading(database_url) as reads:
        for step in (
            [ours.registered(), theirs.registered(), theirs.requested()],
            [chosen(ours)],
            [theirs.requested(2)],
            [chosen(ours, 2)],
            [keys.registered(), keys.requested(), of_a_key(keys), chosen(keys, 2)],
        ):
            applied = len(tape.records)
            tape.add(*step)
            await fill(store, tape.records[applied:])
            told.append(await reads.last_reason(lately, FACT_CHECK))
        assert await reads.last_reason(FAR_ON, FACT_CHECK) is None
    await store.close()
    assert told == [None, "most viewed", "most viewed", "lost", "most viewed"]


class Leader:
    """Leads always."""

    is_leader = True


class OneOverdue:
    """A read model in which one investigation is overdue and nothing else is to be done."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def spent(self, since: datetime, analysis: str) -> Spent:
        return Spent()

    async def last_reason(self, since: datetime, analysis: str) -> None:
        return None

    async def candidates(self, analysis: str, limit: int) -> Sequence[Candidate]:
        return ()

    async def overdue(self, analysis: str, before: datetime, settled: Watermarks, limit: int) -> Sequence[Overdue]:
        candidate = Candidate(self.page.post_id, self.page.version_id, 1, uid("c"))
        return [Overdue(self.page.investigation_id, candidate)]


def selecting(page: Page, log: BusLog) -> Selector:
    """A selector to which this page's run is overdue, and nothing else there."""
    return Selector(
        OneOverdue(page), log, Leader(), StillClock(), analysis=FACT_CHECK, budget=Budget(9), batch=4, patience_s=0
    )


@pytest.mark.requirement("3.6-03", "3.6-04")
async def test_a_request_whose_message_is_gone_is_made_again_and_one_in_hand_is_not(nats_url: str) -> None:
    """3.6-03: A run whose worker died is taken up again.
    3.6-04: A request that was lost is made again.
    """
    page = Page("a")
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        await bus.publish(page.requested(), correlation=uid("c"))
        log = BusLog(bus)
        selector = selecting(page, log)
        assert await selector.select() == 0, "it waits to be taken"
        pull = await bus.jetstream.pull_subscribe(
            INVESTIGATOR_INVESTIGATION_REQUESTED.filter,
            durable=INVESTIGATOR_INVESTIGATION_REQUESTED.name,
            stream=ERRATA.name,
        )
        (message,) = await pull.fetch(1, timeout=5)
        assert await selector.select() == 0, "somebody has it in hand"
        await message.ack_sync()
        assert await log.settled() == Watermarks(1, 0, 0)
        assert await selector.select() == 1
        facts = await read_history(bus, str(page.investigation_id))
        again = facts[-1].event
        assert isinstance(again, InvestigationRequested)
        assert (len(facts), again.round, again.follows, again.requested_by) == (2, 2, 1, "SELECTOR")
        assert await selector.select() == 0, "the new request waits to be taken"


@pytest.mark.requirement("3.6-04")
async def test_a_run_that_is_lost_every_time_ends_as_failed(nats_url: str, database_url: str) -> None:
    """Each of its requests is taken and settled, and nothing comes of it; readers are not shown a run for ever.

    3.6-04: A request that was lost is made again.
    """
    page = Page("a")
    tape = Tape()
    tape.add(page.registered(), page.requested(), page.started())
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        await bus.publish(page.requested(), correlation=uid("c"))
        log = BusLog(bus)
        selector = selecting(page, log)
        pull = await bus.jetstream.pull_subscribe_bind(INVESTIGATOR_INVESTIGATION_REQUESTED.name, ERRATA.name)
        for requested in (1, 1, 1, 0):
            (message,) = await pull.fetch(1, timeout=60)
            await message.ack_sync()
            assert await selector.select() == requested
        assert await selector.select() == 0, "it has ended"
        *requests, end = [entry.event for entry in await read_history(bus, str(page.investigation_id))]
    assert [type(event) for event in requests] == [InvestigationRequested] * 4
    assert isinstance(end, InvestigationFailed)
    tape.add(*requests[1:], end)
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    async with await owner(database_url) as db:
        found = await db.execute("SELECT status, round FROM investigation")
        assert await found.fetchall() == [("FAILED", 4)]


@pytest.mark.requirement("2.6-12", "2.8-01")
async def test_many_who_ask_at_once_are_one(nats_url: str) -> None:
    """2.6-12: Requests at once make one investigation.
    2.8-01: One investigation for a post's version.
    """
    page = Page("a")
    by_selector = page.requested().model_copy(update={"requested_by": "SELECTOR"})
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        log = BusLog(bus)
        made = await asyncio.gather(
            *(log.publish(make_request, uid("c")) for make_request in [by_selector, page.requested()] * 20)
        )
        assert made.count(True) == 1
        assert len(await read_history(bus, str(page.investigation_id))) == 1
