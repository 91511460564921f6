"""A held finding is seen nowhere, over real servers: every surface is walked before, at and after its release."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest
from prometheus_client import CollectorRegistry

from contracts.topology import ANALYST_SUBJECTS, CONCLUDE_MARK, CONCLUDED, ERRATA
from contracts.v1 import BreakerChanged, ClaimApproved, ClaimHeld, ClaimHoldEnded, ClaimRejected, Event, PostViewed
from kit.clock import SystemClock
from kit.concluding import Concluder
from kit.database import Database
from kit.errors import Retry
from kit.history import read_history
from kit.host import Host
from kit.pages import read_page
from lifecycle.display import DisplayRules, Fresh
from services.curator.adapters import CuratorMetrics, HeldClaims, SqlAudience, SqlLabelRecord
from services.curator.effects import Effects
from services.curator.holds import Holds
from services.curator.record.volumes import SqlVolumes
from services.curator.record.watched import SqlWatchRecord
from services.investigator.concluding import InvestigationRules
from services.investigator.waiting import OpenInvestigations
from services.projector.rebuild.rebuild import rebuild
from services.projector.rebuild.shadow import shadow
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything
from tests.support.fakes import StillClock
from tests.support.gateway import BATCH, LOOK, VIEW, believing, migrated, serving
from tests.support.public_record import MOON
from tests.support.published_finding import ARTICLE, CLAIM, QUOTE, SUMMARY, WINDOW, Published, author_of, run_of
from tests.support.servers import Prepare
from tests.support.site_client import page_of
from tests.support.system import until
from tests.unit.gateway.fakes import data

pytest_plugins = ["tests.support.servers"]

APPROVAL: Final = ARTICLE.approved(0)
RULES: Final = DisplayRules(few_views=1)


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


async def concluding(host: Host) -> None:
    """What ends investigations."""
    await believing(host)
    rules = InvestigationRules(host.bus, host.user_keys)
    waiting = OpenInvestigations(CollectorRegistry(), host.clock.now)
    fold = Concluder(host.bus, ERRATA, CONCLUDED, CONCLUDE_MARK, rules, waiting)
    host.keep_running("investigator-conclude", fold.run)


class NoPages:
    """These findings are not looked at twice."""

    async def look(self, approval: ClaimApproved) -> Fresh:
        raise AssertionError(approval)


class Held(Published):
    """An instance that holds a finding, and its curator, whose clock is moved by hand."""

    def __init__(self, published: Published, rules: DisplayRules) -> None:
        super().__init__(published.running, published.url)
        self.clock = StillClock(SystemClock().now())
        self.event = ClaimHeld(
            investigation_id=ARTICLE.investigation_id, claim_id=CLAIM, approval=APPROVAL, held_at=self.clock.time
        )
        host = self.running.host
        metrics = CuratorMetrics(CollectorRegistry())
        audience = SqlAudience(host.database("curator"), self.clock)
        database = host.database("curator")
        effects = Effects(SqlWatchRecord(host.bus, database), SqlVolumes(database), self.clock, announces=False)
        self.holds = Holds(
            HeldClaims(host.bus), audience, metrics, self.clock, rules, effects.of_approval, second_look=NoPages()
        )

    async def view(self, viewer: int) -> None:
        """Somebody sees the post."""
        await self.running.tell(
            PostViewed(
                view_id=uuid4(),
                post_id=ARTICLE.post_id,
                version_id=ARTICLE.version_id,
                viewer_key=f"{viewer:064}",
                ip_range_key=f"{viewer:064}",
            )
        )

        query = f"SELECT 1 FROM post WHERE id = '{ARTICLE.post_id}' AND unique_view_score >= {viewer}"

        async def counted() -> bool:
            async with self.running.host.database("reader").connect() as connection:
                return (await connection.exec_driver_sql(query)).scalar() is not None

        await until(counted, "the view counts")

    async def curate(self) -> list[Event]:
        """One delivery to the curator, whose facts are stored."""
        facts = [fact async for fact in self.holds.on_claim_held(self.event, 1)]
        await self.tell(*facts)
        return facts

    async def exported_rows(self, folder: Path) -> str:
        """Whatever an export says."""
        return json.dumps(await self.exported(folder), default=str)


@pytest.fixture
async def held(nats_url: str, database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Held]:
    monkeypatch.setenv("OPENERRATA_DISPLAY_HOLD", "true")
    async with serving(nats_url, database_url, concluding) as running:
        found = Held(Published(running, database_url), RULES)
        await found.tell(*run_of(MOON), ARTICLE.registered(), ARTICLE.requested(), ARTICLE.started())
        await found.tell(ARTICLE.proposed(0), found.event, ARTICLE.drafted(1))
        yield found


def review_expenses(tables: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """What reviews of the article have cost."""
    return [
        row
        for row in tables["expense"]
        if str(row["investigation_id"]) == str(ARTICLE.investigation_id) and row["stage"] == "VALIDATION"
    ]


async def assert_unseen(held: Held, folder: Path) -> None:
    """No surface says anything of it: not its words, not its id."""
    said = {}
    http = held.running.http
    author = await author_of(held)
    about = page_of(ARTICLE)
    for path in (
        *("/", "/corrections", "/corrections?q=honey", "/corrections?q=glass", "/retractions", "/authors", "/figures"),
        *(f"/authors/{author}", f"/posts/wikipedia/{ARTICLE.post.external_id}", "/accuracy", "/accuracy.json"),
        *(about, f"{about}.json", f"{about}/text", f"{about}/audit", f"{about}/card.png", f"{about}/prompt.txt"),
        *(f"/feeds/{name}.{kind}" for name in ("all", "wikipedia") for kind in ("atom", "json")),
        *(f"/feeds/authors/{author}.atom", "/sitemap.xml", "/sitemaps/2026-01-01.xml"),
    ):
        answer = await http.get(path, headers={"accept": "text/html"})
        assert answer.status_code in (200, 404), path
        said[path] = answer.text
        if path.startswith(about):
            assert answer.status_code == 404, path
    graphql = await held.ask()
    assert graphql["publicInvestigation"] is None
    said["graphql"] = json.dumps([graphql, await held.ask(WINDOW)])
    said["export"] = await held.exported_rows(folder)
    for subject in ANALYST_SUBJECTS:
        page = await read_page(held.running.host.bus, ERRATA.name, (subject,), after=0, limit=1_000)
        said[subject] = b"\n".join(each.data for each in page.messages).decode()
    curator = Database(held.url, role="curator")
    try:
        records = await SqlLabelRecord(held.running.host.bus, curator).read(0)
        said["labels"] = repr(records)
    finally:
        await curator.close()
    version = {"postVersionId": str(ARTICLE.version_id)}
    viewed = data(VIEW, await held.running.mutate(VIEW, version))
    plain = data(LOOK, await held.running.query(LOOK, {"investigationId": str(ARTICLE.investigation_id)}))
    assert (plain["investigationState"], plain["status"]) == ("INVESTIGATING", "PROCESSING")
    assert (len(plain["pendingClaims"]), plain["confirmedClaims"]) == (1, [])
    key = {
        "platform": "WIKIPEDIA",
        "externalId": ARTICLE.post.external_id,
        "versionHash": ARTICLE.registered().version_hash,
    }
    (listed,) = data(BATCH, await held.running.query(BATCH, {"posts": [key]}))["statuses"]
    assert listed["investigationState"] == "NOT_INVESTIGATED"
    said["procedures"] = json.dumps([viewed, plain, listed])
    for place, text in said.items():
        for word in (SUMMARY, QUOTE, str(CLAIM)):
            assert word not in text.replace('value="honey"', ""), (place, word)


@pytest.mark.requirement("TR-31")
async def test_nothing_is_seen_before_the_release_and_everything_behind_it(held: Held, tmp_path: Path) -> None:
    """TR-31: Nothing of a held finding is seen before its release"""
    await held.view(1)
    paid = review_expenses(await everything(held.url))
    assert len(paid) == 1
    await assert_unseen(held, tmp_path / "held")
    with pytest.raises(Retry):
        await held.curate()
    held.clock.time += timedelta(minutes=14, seconds=59)
    with pytest.raises(Retry) as caught:
        await held.curate()
    assert caught.value.after_s == 1
    await assert_unseen(held, tmp_path / "still-held")
    held.clock.time += timedelta(seconds=1)
    await held.curate()
    about = page_of(ARTICLE)

    async def shown() -> bool:
        return (await held.running.http.get(about, headers={"accept": "text/html"})).status_code == 200

    await until(shown, "it is published")
    assert SUMMARY in await held.page(about)
    for path in ("/corrections", "/feeds/all.atom"):

        async def follows(path: str = path) -> bool:
            return SUMMARY in (await held.running.http.get(path, headers={"accept": "text/html"})).text

        await until(follows, path)
    answer = await held.ask()
    assert answer["publicInvestigation"]["claims"] == [{"id": str(CLAIM)}]
    rows = await held.exported(tmp_path / "released")
    assert str(CLAIM) in {each["id"] for each in rows["claims"]}
    tables = await everything(held.url)
    assert review_expenses(tables) == paid, "the review was paid for when it was held, and once"
    assert await shadow(held.url, NoTexts(), analyses=ANALYSES) == []
    await rebuild(held.url, NoTexts(), analyses=ANALYSES)
    again = await everything(held.url)
    for table in ("claim", "claim_candidate", "claim_review", "investigation", "investigation_doc"):
        assert again[table] == tables[table], table


async def test_what_is_withheld_is_never_seen_and_its_run_ends_without_it(held: Held, tmp_path: Path) -> None:
    for viewer in (1, 2, 3):
        await held.view(viewer)
    strict = Held(held, replace(RULES, many_views=2, second_look=True))
    strict.event = held.event
    strict.clock.time += timedelta(minutes=60)
    ended, verdict = await strict.curate()
    assert isinstance(verdict, ClaimRejected)
    assert verdict.gate == "hold"
    assert ended.model_dump()["views_a_day"] == 3

    async def over() -> bool:
        facts = await read_history(held.running.host.bus, str(ARTICLE.investigation_id))
        return facts[-1].event.SUBJECT.endswith("completed")

    await until(over, "it has its end")
    await held.tell()
    page = await held.page(page_of(ARTICLE))
    audit = await held.page(f"{page_of(ARTICLE)}/audit")
    assert "withheld after its hold" in audit
    for text in (page, audit, json.dumps(await held.ask()), await held.exported_rows(tmp_path / "withheld")):
        for word in (SUMMARY, str(CLAIM)):
            assert word not in text


async def test_what_a_breaker_stops_stays_held_and_is_withheld_after_a_day(held: Held) -> None:
    opened = BreakerChanged(
        scope="NEW", state="OPEN", trigger="NO_NOTE", numbers="no note for 15 minutes", by="curator"
    )
    await held.tell(opened)
    held.clock.time += timedelta(hours=2)
    with pytest.raises(Retry):
        await held.curate()
    held.clock.time += timedelta(hours=23)
    ended, verdict = await held.curate()
    assert isinstance(ended, ClaimHoldEnded)
    assert (ended.state, ended.code) == ("WITHHELD", "STOPPED")
    assert isinstance(verdict, ClaimRejected)
