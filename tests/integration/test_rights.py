"""Quotes from an address are withdrawn from every analysis that has them, over a real broker."""

from __future__ import annotations

from hashlib import sha256
from uuid import UUID, uuid4

import pytest

from contracts.topology import CURATOR_FLAG_RAISED, JOBS
from contracts.v1 import AssertionAnalysed, AssertionInvalidated, FlagRaised
from contracts.v1.assertion import Citation
from contracts.v1.ids import publisher_id
from contracts.v1.job import AuditOptions
from kit.bus import Bus
from kit.clock import SystemClock
from kit.delivery import Delivery
from kit.history import read_history
from kit.telemetry import Telemetry
from lifecycle.audits.cache import Asked, Miss, look, shape_of
from services.auditor.adapters import EventLog as AuditorsLog
from services.curator.adapters import EventLog
from services.curator.rights import Withdrawals
from tests.support.audits import words
from tests.support.concluding_jobs import Texts
from tests.support.job_api import analysed, assertion, run
from tests.support.system import until

pytest_plugins = ["tests.support.delivering"]

THEIRS, OTHER = "https://news.example/a", "https://other.example/b"


def cites(number: int, *addresses: str) -> AssertionAnalysed:
    """An analysis of a claim of its own."""
    citations = tuple(
        Citation(
            publisher_id=publisher_id("news.example"),
            domain="news.example",
            url_sha256=hash_of(each),
            scenario=1,
            supports=True,
            relevance=0.9,
            outcome="FOUND",
            family=1,
        )
        for each in addresses
    )
    now = SystemClock().now()
    given = {"citations": citations, "body": words(f"body {number}"), "expires_at": now.replace(year=now.year + 1)}
    return analysed(assertion(number), run(number)).model_copy(update=given)


def hash_of(address: str) -> str:
    return sha256(address.encode()).hexdigest()


def flag(address: str | None, issue: str = "RIGHTS") -> FlagRaised:
    url_sha256 = None if address is None else hash_of(address)
    return FlagRaised(
        flag_id=uuid4(), entity_type="SOURCE", issue_type=issue, description=words("why"), url_sha256=url_sha256
    )


@pytest.mark.requirement("FH-28")
async def test_what_was_withdrawn_stays_so_when_an_older_withdrawal_comes_again(bus: Bus) -> None:
    """FH-28: Quotes are withdrawn at once when their owner asks."""
    claim, log = assertion(1), AuditorsLog(bus)
    older = cites(1, THEIRS)
    first = await bus.publish(older, correlation=uuid4())
    newer = cites(2, THEIRS).model_copy(update={"assertion_id": claim, "follows": first.sequence})
    await bus.publish(newer, correlation=uuid4())
    for event in (newer, older):
        withdrawal = AssertionInvalidated(assertion_id=claim, analysis_id=event.analysis_id, why="RIGHTS")
        await bus.publish(withdrawal, correlation=uuid4())
    asked = Asked(claim, UUID(int=1), 0, shape_of(AuditOptions()), "TIMELESS", "CACHE_ONLY", may_buy=False)
    assert isinstance(look(SystemClock().now(), asked, await log.cached(claim)), Miss)
    assert [await log.analysis(claim, each.analysis_id) for each in (newer, older)] == [None, None]


async def invalidated(bus: Bus) -> set[UUID | None]:
    found = [each.event for each in await read_history(bus, "*", stream=JOBS)]
    return {each.analysis_id for each in found if isinstance(each, AssertionInvalidated)}


@pytest.mark.requirement("FH-28")
async def test_every_analysis_that_quotes_the_address_is_withdrawn(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    """FH-28: Quotes are withdrawn at once when their owner asks."""
    monkeypatch.setattr("services.curator.adapters.PAGE", 2)
    quoting = {1, 3, 4}
    stored = {n: cites(n, *((OTHER, THEIRS) if n in quoting else (OTHER,))) for n in range(1, 7)}
    for event in stored.values():
        await bus.publish(event, correlation=uuid4())
    for other in (flag(OTHER, "SPAM"), flag(None), flag("https://nowhere.example/")):
        await bus.publish(other, correlation=uuid4())
    await bus.publish(flag(THEIRS), correlation=uuid4())
    texts, log = Texts(), AuditorsLog(bus)
    withdrawals = Withdrawals(EventLog(bus), texts, SystemClock())
    delivery = Delivery(bus, Telemetry())
    delivery.subscribe(CURATOR_FLAG_RAISED, withdrawals.on_flag_raised, slots=1)
    await delivery.start()

    async def settled() -> bool:
        info = await bus.jetstream.consumer_info(JOBS.name, CURATOR_FLAG_RAISED.name)
        return bool(info.num_pending == info.num_ack_pending == 0)

    await until(settled, "all flags are handled")
    assert await invalidated(bus) == {run(n) for n in quoting}
    assert {each.sha256 for each in texts.texts} == {stored[n].body.sha256 for n in quoting}
    for number in stored:
        asked = Asked(
            assertion(number), UUID(int=1), 0, shape_of(AuditOptions()), "TIMELESS", "CACHE_ONLY", may_buy=False
        )
        outcome = look(SystemClock().now(), asked, await log.cached(assertion(number)))
        assert isinstance(outcome, Miss) == (number in quoting)
        assert (await log.analysis(assertion(number), run(number)) is None) == (number in quoting)
