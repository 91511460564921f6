"""Breakers over real servers: what opens each, what it hides, who it tells, and what lets findings be shown again."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import click
import pytest

from accuracy.breaker import Effect
from accuracy.facts import GateTier, Verdict
from contracts.topology import ERRATA
from contracts.v1 import (
    BreakerChanged,
    ClaimApproved,
    ControlCommitted,
    Event,
    FindingChanged,
    ReviewDecided,
    ReviewSampled,
    VariantChanged,
    decode,
)
from contracts.v1.control import commit_to
from contracts.v1.finding import FindingCause
from contracts.v1.parts import BlobRef, CheckedSource, Source
from contracts.v1.variant import variant_sha256
from kit.blob_settings import BlobMissing
from kit.bus import Bus
from kit.database import Database
from kit.documents.reading import Reader
from kit.pages import read_page
from services.commands.breaker import close, half_open, limit_unknown
from services.commands.gate_tier import TierReport
from services.commands.reviews.samples import wait_for_projection
from services.commands.stopped import release_stopped
from services.commands.variant import admit
from services.curator.adapters import EventLog
from services.curator.effects import Effects
from services.curator.quotes import QuoteCheck
from services.curator.record.displays import LoggedDisplays
from services.curator.record.volumes import SqlVolumes
from services.curator.record.watched import SqlWatchRecord
from services.curator.volumes import Seen
from services.curator.watch import HELD, Volumes, Watch
from services.projector.rebuild.rebuild import rebuild
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, owner
from tests.support.fakes import StillClock
from tests.support.gateway import Running, migrated, serving
from tests.support.public_record import DEMO, ESSAY, MOON, REAL, Article, Finding
from tests.support.servers import Prepare
from tests.unit.projector.histories import PROMPT

pytest_plugins = ["tests.support.servers"]

OF_REAL: Final = variant_sha256(PROMPT.sha256, REAL.provider, REAL.model, None, None)
OF_DEMO: Final = variant_sha256(PROMPT.sha256, DEMO.provider, DEMO.model, None, None)
TABLES: Final = ("variant", "breaker", "control_batch", "control_run", "finding_state", "investigation_doc")
TRUE: Final = tuple(
    Article(f"en:9{n}", f"The number {n} is a number.", Finding(f"The number {n} is a number.", "It is not."))
    for n in range(2)
)
CLEAN: Final = TierReport(GateTier.CLEAN, REAL.provider, REAL.model)


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


class Told:
    """What no table says: the decision log, and stored pages."""

    def __init__(self) -> None:
        self.note, self.quorum = timedelta(0), timedelta(0)
        self.pages: dict[str, bytes] = {}
        self.read: list[str] = []

    def store(self, words: str) -> BlobRef:
        """A page of these words."""
        digest = hashlib.sha256(words.encode()).hexdigest()
        self.pages[digest] = words.encode()
        return BlobRef(sha256=digest, size_bytes=len(words.encode()), media_type="text/plain")

    async def get(self, sha256: str) -> bytes:
        self.read.append(sha256)
        if sha256 not in self.pages:
            raise BlobMissing(sha256)
        return self.pages[sha256]

    async def note_age(self) -> timedelta:
        return self.note

    async def quorum_age(self) -> timedelta:
        return self.quorum


class Instance:
    """Servers with published findings of two variants, and a curator."""

    def __init__(self, running: Running, database: Database, reader: Database, url: str) -> None:
        self.running, self.database, self.reader, self.url = running, database, reader, url
        self.bus = running.host.bus
        self.told = Told()
        self.open: list[int] = []
        self.clock = StillClock(datetime.now(UTC))
        self.record = SqlWatchRecord(self.bus, database)
        self.watch = self.curator()

    def curator(self) -> Watch:
        """Another one, which knows nothing."""
        return self.watch_with(EventLog(self.bus), high_views=1)

    def watch_with(self, log: EventLog, *, announces: bool = False, high_views: int = 10_000) -> Watch:
        volumes = Volumes(SqlVolumes(self.database), log, self.clock, announces=announces)
        return Watch(
            self.record,
            log,
            self.told,
            self.clock,
            volumes=volumes,
            show_open=self.open.append,
            high_views=high_views,
        )

    def quote_check(self, log: EventLog | None = None) -> QuoteCheck:
        """Another one, which knows nothing."""
        displays = LoggedDisplays(self.bus, self.database)
        return QuoteCheck(displays, self.record, log or EventLog(self.bus), self.told, Reader(), self.clock)

    async def effect(self, variant: str, *, announces: bool = False) -> Effect:
        effects = Effects(self.record, SqlVolumes(self.database), self.clock, announces=announces)
        return await effects.current_effect(variant)

    async def settle(self) -> None:
        await wait_for_projection(self.bus, self.reader)

    async def tell(self, *events: Any) -> None:
        await self.running.tell(*events)
        await self.settle()

    async def publish(self, *articles: Article) -> None:
        for article in articles:
            await self.tell(article.registered(), *article.run())

    async def look(self) -> None:
        """Let the curator work until nothing is left, as it does in its round."""
        await self.quote_check().run_once()
        await self.settle()
        await self.watch.run()
        await self.settle()

    async def standing(self) -> dict[str, int]:
        """How many findings are shown, by variant."""
        async with await owner(self.url) as db:
            found = await db.execute("SELECT variant, sum(claim_count) FROM readmodel.investigation_doc GROUP BY 1")
            return {variant: int(number) for variant, number in await found.fetchall()}

    async def execute(self, statement: str, *values: object) -> None:
        """Write rows of another time, which no event of today can make."""
        async with await owner(self.url) as db:
            await db.execute("SET session_replication_role = replica")
            await db.execute(statement.encode(), values)
            await db.commit()

    async def events(self, kind: type[Event]) -> list[Any]:
        """What the log holds of a kind, in its order."""
        page = await read_page(self.bus, ERRATA.name, (f"{kind.SUBJECT}.*",), after=0, limit=1_000)
        return [decode(message.subject, message.data).event for message in page.messages]


@pytest.fixture
async def instance(nats_url: str, database_url: str) -> AsyncIterator[Instance]:
    curator, reader = Database(database_url, role="curator"), Database(database_url, role="reader")
    async with serving(nats_url, database_url) as running:
        found = Instance(running, curator, reader, database_url)
        await found.publish(MOON, ESSAY)
        yield found
    await curator.close()
    await reader.close()


async def run_controls(instance: Instance, *flagged: Article) -> None:
    """Commit to posts in which nothing is wrong, and let each be flagged."""
    batch = ControlCommitted(
        commitment=commit_to((each.version_id, "0" * 64) for each in flagged),
        size=len(flagged),
        closes_at=datetime.now(UTC) + timedelta(days=30),
    )
    await instance.tell(batch)
    for each in flagged:
        control = each.checked_again("CONTROL", batch.batch_id)
        await instance.tell(each.registered(), *control.run())


async def flag_one(instance: Instance) -> None:
    await run_controls(instance, TRUE[0])


async def flag_two(instance: Instance) -> None:
    await run_controls(instance, *TRUE)


async def find_wrong(instance: Instance) -> None:
    """A reviewer says WRONG of a finding on a post that two people saw on one day."""
    claim, day = MOON.claim(0)[0], date(2026, 11, 1)
    sample = ReviewSampled(seed="s", first_day=day, last_day=day, size=1, drawn_from=1, claim_ids=(claim,))
    verdict = ReviewDecided(claim_id=claim, sample_id=sample.sample_id, verdict="WRONG", reviewer="A", decided_on=day)
    await instance.running.tell(*(MOON.viewed(viewer, network=viewer) for viewer in ("a", "b")))
    await instance.tell(sample, verdict)
    async with asyncio.timeout(60):
        while not any(each.is_high for each in await instance.record.wrong(1)):  # noqa: ASYNC110 (views have a stream)
            await asyncio.sleep(0.02)


async def retract_three(instance: Instance) -> None:
    many = Article(
        "en:3", "One. Two. Three. Four.", *(Finding(f"{word}.", "No.") for word in ("One", "Two", "Three", "Four"))
    )
    await instance.publish(many)
    causes: Final[tuple[FindingCause, ...]] = ("SOURCE_CHANGED", "OPERATOR", "OPERATOR", "OPERATOR")
    for number, cause in enumerate(causes):
        claim = many.claim(number)[0]
        await instance.tell(
            FindingChanged(
                claim_id=claim,
                investigation_id=many.investigation_id,
                state="RETRACTED",
                cause=cause,
                note="It was wrong.",
            )
        )
    since = instance.clock.now() - timedelta(days=1)
    assert len(await instance.record.retracted(since)) == 3, "a source that changed is no fault of ours"


async def approve_too_much(instance: Instance) -> None:
    """A month ago a fiftieth passed; this week everything does."""
    insert = (
        "INSERT INTO readmodel.claim_candidate (claim_id, investigation_id, attempt, ordinal, payload, state, "
        "proposed_at, decided_at) SELECT gen_random_uuid(), %s, 1, 1000 + n, '{{}}', {state}, now(), now() "
        "FROM generate_series(1, %s) n"
    )
    old = Article("en:4", "Long ago.", Finding("Long ago.", "No."))
    await instance.publish(old)
    rejected = "CASE WHEN n % 50 = 0 THEN 'APPROVED' ELSE 'REJECTED' END"
    await instance.execute(insert.format(state=rejected.replace("%", "%%")), old.investigation_id, 300)
    await instance.execute(insert.format(state="'APPROVED'"), MOON.investigation_id, 60)
    await instance.execute(
        "UPDATE readmodel.investigation SET checked_at = checked_at - interval '30 days' WHERE id = %s",
        old.investigation_id,
    )
    instance.clock.time += timedelta(days=7)


BIRDS: Final = Article(
    "en:5",
    "Ostriches bury their heads.",
    Finding(
        "Ostriches bury their heads.",
        "They do not.",
        sources=(Source(url="https://zoo.example/ostrich", title="Zoo", snippet="ostriches never bury their heads"),),
    ),
    model=DEMO,
)


async def show_quote(instance: Instance, *words: str, article: Article = BIRDS) -> BlobRef:
    """A finding is displayed for whose sources these words were stored; the page of the first."""
    pages, now = [instance.told.store(each) for each in words], datetime.now(UTC)
    checked = tuple(
        CheckedSource(
            url=each.url,
            status="found",
            final_url=each.url,
            page=page,
            fetched_at=now,
            content_type="text/plain; charset=utf-8",
        )
        for each, page in zip(article.findings[0].sources, pages, strict=True)
    )
    run = [
        event.model_copy(update={"sources": checked}) if isinstance(event, ClaimApproved) else event
        for event in article.run()
    ]
    await instance.tell(article.registered(), *run)
    return pages[0]


async def lose_a_quote(instance: Instance) -> None:
    await show_quote(instance, "Ostriches often bury their heads, says this page now.")


async def lose_notes(instance: Instance) -> None:
    instance.told.note = timedelta(minutes=16)


async def lose_quorum(instance: Instance) -> None:
    instance.told.quorum = timedelta(hours=25)


@dataclass(frozen=True)
class Case:
    """What happens, which breakers open for it, and which variants are hidden then."""

    happens: Callable[[Instance], Awaitable[None]]
    opens: dict[str, set[str]]
    hides: frozenset[str]


BOTH: Final = frozenset({OF_REAL, OF_DEMO})
CASES: Final = {
    "a flagged control": Case(flag_one, {OF_REAL: {"FALSE_FLAG"}}, frozenset({OF_REAL})),
    "the second flagged control": Case(
        flag_two, {OF_REAL: {"FALSE_FLAG"}, "ALL": {"SECOND_FALSE_FLAG", "EVIDENCE"}}, BOTH
    ),
    "WRONG where many read": Case(find_wrong, {OF_REAL: {"WRONG_AT_HIGH_EXPOSURE"}}, frozenset({OF_REAL})),
    "many retractions": Case(retract_three, {OF_REAL: {"MANY_RETRACTIONS"}}, frozenset({OF_REAL})),
    "another approve rate": Case(approve_too_much, {OF_REAL: {"UNUSUAL_APPROVE_RATE"}}, frozenset({OF_REAL})),
    "a quote not in its page": Case(lose_a_quote, {"ALL": {"QUOTE_NOT_IN_PAGE"}}, BOTH),
    "no note": Case(lose_notes, {"NEW": {"NO_NOTE"}}, frozenset()),
    "no quorum": Case(lose_quorum, {"NEW": {"NO_QUORUM"}}, frozenset()),
}


@pytest.mark.requirement("TR-45")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_a_trigger_opens_hides_is_logged_and_closes_only_by_its_conditions(
    instance: Instance, case: Case
) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    await instance.look()
    assert await instance.events(BreakerChanged) == []
    await case.happens(instance)
    await instance.look()

    opened: dict[str, set[str]] = {}
    for event in await instance.events(BreakerChanged):
        assert (event.state, event.by) == ("OPEN", "curator")
        assert event.numbers
        opened.setdefault(event.scope, set()).add(event.trigger)
    assert opened == case.opens
    assert (instance.open[0], instance.open[-1]) == (0, len(opened))
    standing = await instance.standing()
    assert {variant for variant, number in standing.items() if number == 0} == case.hides

    # What is found meanwhile is not shown either.
    await instance.publish(Article("en:8", "Bats are blind.", Finding("Bats are blind.", "Bats see.")))
    await instance.look()
    hidden = {OF_REAL} if "NEW" in case.opens else case.hides
    after = await instance.standing()
    assert after[OF_REAL] == (0 if OF_REAL in case.hides else standing[OF_REAL])
    assert await instance.effect(OF_REAL) == (Effect.HOLD if "NEW" in case.opens else Effect.SUSPEND)
    assert OF_REAL in hidden

    changes = len(await instance.events(FindingChanged))
    await asyncio.gather(instance.curator().run(), instance.curator().run())
    assert len(await instance.events(FindingChanged)) == changes, "nothing is published twice"

    for scope in case.opens:
        with pytest.raises(click.ClickException, match="only a breaker that is half open can close"):
            await close(instance.bus, instance.reader, instance.clock, scope, "c", "A", CLEAN)


CONTROLS: Final = """
    WITH one AS (
        SELECT i.*, ('00000000-0000-4000-8000-' || lpad((%s + n)::text, 12, '0'))::uuid AS new
        FROM readmodel.investigation i, generate_series(1, %s) n WHERE i.id = %s
    ), made AS (
        INSERT INTO readmodel.investigation SELECT (jsonb_populate_record(NULL::readmodel.investigation, to_jsonb(one)
            || jsonb_build_object('id', new, 'origin', 'CONTROL', 'origin_id', new, 'input_id', new, 'checked_at',
                %s::timestamptz))).* FROM one RETURNING id, post_version_id
    )
    INSERT INTO readmodel.control_run SELECT id, id, post_version_id, now(), NULL, NULL FROM made"""


@pytest.mark.requirement("TR-45")
async def test_a_breaker_closes_after_48_hours_150_clean_controls_and_a_clean_gate_tier(instance: Instance) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    bus, reader, clock = instance.bus, instance.reader, instance.clock
    await flag_one(instance)
    await instance.look()
    assert "48 hours" in await half_open(bus, reader, clock, OF_REAL[:12], "A page was empty.", "A. Operator")
    await instance.settle()
    await instance.look()
    (event,) = (await instance.events(BreakerChanged))[1:]
    assert (event.state, event.cause, event.by) == ("HALF_OPEN", "A page was empty.", "A. Operator")
    await instance.publish(Article("en:9", "Owls are deaf.", Finding("Owls are deaf.", "Owls hear.")))
    await instance.look()
    assert (await instance.standing())[OF_REAL] == 0, "the shadow shows nothing, nor what was under way"

    async def try_to_close(report: TierReport = CLEAN) -> str:
        try:
            return await close(bus, reader, clock, OF_REAL, "The trial was clean.", "A. Operator", report)
        finally:
            await instance.settle()

    async def controls(number: int, after: int) -> None:
        at = clock.now() + timedelta(minutes=1)
        await instance.execute(CONTROLS, after, number, MOON.investigation_id, at)

    pending = TierReport(GateTier.PENDING, CLEAN.provider, CLEAN.model)
    with pytest.raises(click.ClickException, match=r"48 hours.*0 of 150 controls.*gate tier"):
        await try_to_close(pending)
    await controls(149, 0)
    clock.time += timedelta(hours=49)
    with pytest.raises(click.ClickException, match=r"cannot close yet: 149 of 150 controls have run$"):
        await try_to_close()
    await controls(1, 149)
    with pytest.raises(click.ClickException, match=r"cannot close yet: the gate tier is not known to be clean$"):
        await try_to_close(pending)
    assert await try_to_close() == "closed; 10 findings a day at first"

    await instance.look()
    states = [each.state for each in await instance.events(BreakerChanged)]
    assert states == ["OPEN", "HALF_OPEN", "CLOSED"], "what opened it once does not open it again"
    assert instance.open[-1] == 0, "nor does a metric say that it is open"
    assert await instance.effect(OF_REAL) is Effect.NONE
    assert (await instance.standing())[OF_REAL] == 0, "suspended findings come back by their own rules only"
    await instance.publish(Article("en:8", "Bats are blind.", Finding("Bats are blind.", "Bats see.")))
    await instance.look()
    assert (await instance.standing())[OF_REAL] == 1
    (limited,) = await instance.events(VariantChanged)
    assert (limited.variant, limited.state, limited.quota) == (OF_REAL, "LIMITED", 10)


async def test_what_a_breaker_stopped_is_released_together_once_it_is_closed(instance: Instance) -> None:
    await show_quote(instance, "Keepers say that ostriches never bury their heads.")
    beyond_quota = {"cause": "CONTROL", "note": HELD}
    await instance.tell(BIRDS.changed(0, "SUSPENDED").model_copy(update=beyond_quota))
    await instance.tell(
        BreakerChanged(scope="ALL", state="OPEN", trigger="EVIDENCE", numbers="3 of 50 were flagged.", by="curator")
    )
    await instance.look()
    assert sum((await instance.standing()).values()) == 0
    day, sample = date(2026, 11, 1), MOON.claim(1)[0]
    drawn = ReviewSampled(seed="s", first_day=day, last_day=day, size=1, drawn_from=1, claim_ids=(sample,))
    wrong = ReviewDecided(claim_id=sample, sample_id=drawn.sample_id, verdict="WRONG", reviewer="A", decided_on=day)
    await instance.tell(drawn, wrong)

    async def release() -> str:
        breaker = (await instance.record.breakers())["ALL"]
        return await release_stopped(instance.bus, instance.reader, instance.clock, breaker, "None of it was wrong.")

    with pytest.raises(click.ClickException, match="ALL is OPEN"):
        await release()
    (opened,) = (await instance.record.breakers()).values()
    await instance.tell(
        BreakerChanged(follows=opened.sequence, scope="ALL", state="CLOSED", cause="An outage.", by="A", quota=10)
    )
    early = await release()
    assert early.startswith("0 released\n")
    assert "2 left: a suspension lasts 24 hours" in early or early.count("1 left: a suspension lasts 24 hours") == 2
    instance.clock.time += timedelta(hours=25)
    await instance.tell(
        BreakerChanged(scope=OF_REAL, state="OPEN", trigger="FALSE_FLAG", numbers="One was flagged.", by="curator")
    )
    assert await release() == "1 released", "another breaker stops the rest"
    other = (await instance.record.breakers())[OF_REAL].sequence
    await instance.tell(
        BreakerChanged(follows=other, scope=OF_REAL, state="CLOSED", cause="An outage.", by="A", quota=10)
    )
    assert await release() == "1 released"
    await instance.settle()
    assert await instance.standing() == {OF_REAL: 1, OF_DEMO: 1}, "neither what is wrong nor what is beyond a quota"
    assert await release() == "0 released"


@pytest.mark.requirement("TR-45")
@pytest.mark.parametrize("fails", ["control", "gate tier"])
async def test_a_trial_that_is_not_clean_opens_it_again(instance: Instance, fails: str) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    await flag_one(instance)
    await instance.look()
    await half_open(instance.bus, instance.reader, instance.clock, OF_REAL, "It was an outage.", "A")
    await instance.settle()
    if fails == "control":
        await run_controls(instance, TRUE[1])
        await instance.look()
    else:
        failed = TierReport(GateTier.FAILED, CLEAN.provider, CLEAN.model)
        said = await close(instance.bus, instance.reader, instance.clock, OF_REAL, "It is clean.", "A", failed)
        assert said == "open again: 0 of 0 controls flagged, gate tier FAILED"
    of_variant = [each.state for each in await instance.events(BreakerChanged) if each.scope == OF_REAL]
    assert of_variant == ["OPEN", "HALF_OPEN", "OPEN"]


async def test_a_wrong_review_suspends_its_finding_at_once_and_no_release_before_it_counts(instance: Instance) -> None:
    instance.watch = instance.watch_with(EventLog(instance.bus))
    await find_wrong(instance)
    await instance.look()
    assert await instance.events(BreakerChanged) == []
    (event,) = await instance.events(FindingChanged)
    assert (event.claim_id, event.state, event.cause) == (MOON.claim(0)[0], "SUSPENDED", "REVIEW")
    await instance.tell(
        FindingChanged(
            follows=(await instance.record.newest()),
            claim_id=event.claim_id,
            investigation_id=event.investigation_id,
            state="RELEASED",
            cause="OPERATOR",
            note="The reviewer erred.",
        )
    )
    await instance.look()
    assert len(await instance.events(FindingChanged)) == 2, "a release that knew the verdict stands"


async def test_a_curator_killed_between_two_findings_goes_on_where_it_was(instance: Instance) -> None:
    class Killed(EventLog):
        left = 1

        async def publish(self, event: Event, correlation: UUID) -> bool:
            if self.left == 0:
                raise asyncio.CancelledError
            self.left -= 1
            return await super().publish(event, correlation)

    await instance.tell(
        BreakerChanged(scope="ALL", state="OPEN", trigger="QUOTE_NOT_IN_PAGE", numbers="One is not.", by="curator")
    )
    dying = instance.watch_with(Killed(instance.bus))
    with pytest.raises(asyncio.CancelledError):
        await dying.run()
    assert len(await instance.events(FindingChanged)) == 1
    await instance.settle()
    await instance.look()
    changed = [each.claim_id for each in await instance.events(FindingChanged)]
    assert sorted(changed) == sorted({MOON.claim(0)[0], MOON.claim(1)[0], ESSAY.claim(0)[0]})


@pytest.mark.requirement("TR-45")
async def test_a_displayed_quote_is_compared_with_its_stored_page_once(instance: Instance) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    page = await show_quote(instance, "Keepers say that ostriches never bury their heads.")
    for _ in range(2):
        await instance.look()
        assert await instance.quote_check().run_once() == 0
    assert instance.told.read.count(page.sha256) == 1
    assert await instance.events(BreakerChanged) == []

    await instance.tell(BIRDS.changed(0, "SUSPENDED"))
    await instance.look()
    assert instance.told.read.count(page.sha256) == 1, "what is taken back is displayed to nobody"
    follows = await instance.record.newest()
    await instance.tell(BIRDS.changed(0, "RELEASED", follows))
    await instance.look()
    assert instance.told.read.count(page.sha256) == 2, "it is displayed again"

    instance.told.pages.clear()
    await instance.tell(BIRDS.changed(0, "SUSPENDED", await instance.record.newest()))
    await instance.tell(BIRDS.changed(0, "RELEASED", await instance.record.newest()))
    await instance.look()
    assert await instance.events(BreakerChanged) == [], "a page that is lost says nothing"


async def test_a_quote_is_looked_for_in_the_page_of_its_own_address(instance: Instance) -> None:
    zoo, farm = (
        Source(url=f"https://{name}.example/ostrich", title=name, snippet=f"the {name} never saw a buried head")
        for name in ("zoo", "farm")
    )
    cited = Article("en:6", "Ostriches hide.", Finding("Ostriches hide.", "They run.", sources=(zoo, farm)))
    await show_quote(instance, "Nothing of it.", f"{zoo.snippet}, and {farm.snippet}", article=cited)
    assert await instance.quote_check().run_once() == 1


async def test_a_killed_comparison_of_quotes_loses_none_and_opens_once(instance: Instance) -> None:
    class Killed(EventLog):
        def __init__(self, bus: Bus, *, is_published: bool) -> None:
            super().__init__(bus)
            self.is_published = is_published

        async def publish(self, event: Event, correlation: UUID) -> bool:
            if self.is_published:
                await super().publish(event, correlation)
            raise asyncio.CancelledError

    await lose_a_quote(instance)
    for is_published in (False, True):
        with pytest.raises(asyncio.CancelledError):
            await instance.quote_check(Killed(instance.bus, is_published=is_published)).run_once()
        await instance.settle()
    assert await instance.quote_check().run_once() == 1
    assert await instance.quote_check().run_once() == 0
    (opened,) = await instance.events(BreakerChanged)
    assert (opened.scope, opened.trigger) == ("ALL", "QUOTE_NOT_IN_PAGE")


async def test_a_comparison_of_quotes_that_came_second_does_not_pass_them(instance: Instance) -> None:
    class Slower(EventLog):
        async def publish(self, event: Event, correlation: UUID) -> bool:
            return False

    await lose_a_quote(instance)
    assert await instance.quote_check(Slower(instance.bus)).run_once() == 1
    assert await instance.quote_check().run_once() == 1


async def test_a_rebuild_ends_in_the_same_rows(instance: Instance) -> None:
    await flag_two(instance)
    await instance.look()
    await half_open(instance.bus, instance.reader, instance.clock, "ALL", "It was an outage.", "A")
    await instance.settle()
    before = await everything(instance.url)
    assert before["control_run"]
    await rebuild(instance.url, NoTexts(), analyses=ANALYSES)
    after = await everything(instance.url)
    assert {name: after[name] for name in TABLES} == {name: before[name] for name in TABLES}


NEW: Final = Article(
    "en:12",
    " ".join(f"Sentence {n}." for n in range(13)),
    *(Finding(f"Sentence {n}.", "No.") for n in range(13)),
)


@pytest.mark.requirement("TR-46")
async def test_a_new_variant_is_in_the_shadow_and_shows_nothing(instance: Instance) -> None:
    """TR-46: A variant starts in the shadow and earns its volume by reviews, and a WRONG takes some of it back."""
    instance.watch = instance.watch_with(EventLog(instance.bus), announces=True)
    effects = [await instance.effect(OF_REAL, announces=announces) for announces in (True, False)]
    assert effects == [Effect.HOLD, Effect.NONE], "what is not known yet is in the shadow too"
    instance.clock.time = datetime.now(UTC)
    await instance.look()
    announced = {each.variant: each for each in await instance.events(VariantChanged)}
    assert {each.state for each in announced.values()} == {"SHADOW"}
    assert announced.keys() == {OF_REAL, OF_DEMO}
    assert announced[OF_REAL].parts.sha256 == OF_REAL
    assert (await instance.standing()) == {OF_REAL: 2, OF_DEMO: 1}, "what was shown before it was switched on stays"
    instance.clock.time = datetime.now(UTC)
    await instance.publish(NEW)
    await instance.look()
    assert (await instance.standing())[OF_REAL] == 2
    assert len(await instance.events(VariantChanged)) == 2, "nothing is announced twice"

    for provider, model in ((REAL.provider, "another"), ("another", REAL.model)):
        other = TierReport(GateTier.CLEAN, provider, model)
        with pytest.raises(click.ClickException, match=f"the report is of {provider} {model}"):
            await admit(instance.bus, instance.reader, instance.clock, OF_REAL[:8], other, "A")
    said = await admit(instance.bus, instance.reader, instance.clock, OF_REAL[:8], CLEAN, "A")
    assert said == "the gate tier is clean"
    await instance.settle()
    assert "nothing changed" in await admit(instance.bus, instance.reader, instance.clock, OF_REAL, CLEAN, "A")
    (known,) = [each for each in await SqlVolumes(instance.database).known() if each.variant == OF_REAL]
    assert (known.state, known.gate_tier, known.since) == ("SHADOW", "CLEAN", announced[OF_REAL].since)


@pytest.mark.requirement("TR-46")
async def test_a_quota_shows_the_first_findings_of_a_day(instance: Instance) -> None:
    """TR-46: A variant starts in the shadow and earns its volume by reviews, and a WRONG takes some of it back."""
    volumes = SqlVolumes(instance.database)
    now = datetime.now(UTC)
    (unknown,) = [each for each in await volumes.unknown(now) if each.variant == OF_REAL]
    await instance.tell(limit_unknown(unknown, through=0, why="It is clean.", by="A", now=now))
    assert await instance.effect(OF_REAL) is Effect.NONE
    await instance.publish(NEW)
    await instance.look()
    assert (await instance.standing())[OF_REAL] == 2 + 10
    assert await instance.effect(OF_REAL) is Effect.HOLD
    shown = {each.claim_id for each in await instance.events(FindingChanged)}
    assert shown == {NEW.claim(number)[0] for number in (10, 11, 12)}
    await instance.look()
    assert (await instance.standing())[OF_REAL] == 2 + 10
    assert await volumes.shown_on(OF_REAL, now, now + timedelta(days=2)) == 0, "each day has its own findings"
    earlier = (
        "UPDATE readmodel.investigation_doc SET checked_at = checked_at - interval '2 days' WHERE post_version_id = %s"
    )
    await instance.execute(earlier, NEW.version_id)
    assert await volumes.beyond(OF_REAL, now - timedelta(days=9), 10) == []


@pytest.mark.requirement("TR-46")
async def test_what_a_variant_earns_is_counted_since_its_volume_changed(instance: Instance) -> None:
    """TR-46: A variant starts in the shadow and earns its volume by reviews, and a WRONG takes some of it back."""
    volumes, now = SqlVolumes(instance.database), datetime.now(UTC)
    (unknown,) = [each for each in await volumes.unknown(now) if each.variant == OF_REAL]
    await instance.tell(limit_unknown(unknown, through=0, why="It is clean.", by="A", now=now))
    (known,) = await volumes.known()
    assert await volumes.seen(known) == Seen(reviews=[]), "what ran before counts for nothing"
    await instance.publish(NEW)
    await run_controls(instance, TRUE[0], Article("en:7", "Water is wet."))
    assert await volumes.seen(known) == Seen(runs=1, controls=1, flagged=1, reviews=[])

    claim, day = NEW.claim(0)[0], date(2026, 11, 1)
    sample = ReviewSampled(seed="s", first_day=day, last_day=day, size=1, drawn_from=1, claim_ids=(claim,))
    await instance.tell(sample)
    counted, follows = [], 0
    for reviewer, verdict in (("A", "RIGHT"), ("B", "RIGHT"), ("C", "WRONG"), ("D", "WRONG")):
        event = ReviewDecided.model_validate(
            {
                "claim_id": claim,
                "sample_id": sample.sample_id,
                "verdict": verdict,
                "reviewer": reviewer,
                "decided_on": day,
                "follows": follows,
            }
        )
        await instance.tell(event)
        follows = await instance.record.newest()
        reviews = (await volumes.seen(known)).reviews
        counted.append([each.verdict for each in reviews])
        known = replace(known, through=max([known.through, *(each.sequence for each in reviews)]))
    assert counted == [[Verdict.RIGHT], [], [Verdict.WRONG], []], "a finding counts once, and once more if it is wrong"
