"""Analyses with quotes from an address, or of a claim, are withdrawn, over a real broker."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from contracts.topology import CURATOR_FLAG_RAISED, CURATOR_FLAG_RESOLVED, JOBS
from contracts.v1 import AssertionInvalidated
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
from tests.support.concluding_jobs import Texts
from tests.support.consumers import have_handled_all
from tests.support.job_api import assertion, run
from tests.support.objections import cites, decision, objection, requests
from tests.support.system import until

pytest_plugins = ["tests.support.delivering"]

THEIRS, OTHER = "https://news.example/a", "https://other.example/b"


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
@pytest.mark.parametrize("by", ["address", "claim"])
async def test_every_analysis_that_is_objected_to_is_withdrawn(
    bus: Bus, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """FH-28: Quotes are withdrawn at once when their owner asks."""
    monkeypatch.setattr("services.curator.adapters.PAGE", 2)
    objected, consumer = {1, 3, 4}, CURATOR_FLAG_RAISED if by == "address" else CURATOR_FLAG_RESOLVED
    stored = {n: cites(n, *((OTHER, THEIRS) if n in objected else (OTHER,))) for n in range(1, 7)}
    for number, event in stored.items():
        await bus.publish(requests(number, "theirs" if number in objected else "other"), correlation=uuid4())
        await bus.publish(event, correlation=uuid4())
    flag = objection(1, THEIRS) if by == "address" else objection(1, claim="theirs")
    others = objection(2, OTHER, issue="SPAM"), objection(3, "https://nowhere.example/"), objection(4, claim="other")
    for each in (*others, flag):
        await bus.publish(each, correlation=uuid4())
    if by == "claim":
        await bus.publish(decision(others[2], accepted=False), correlation=uuid4())
        await bus.publish(decision(flag), correlation=uuid4())
    texts, log = Texts(), AuditorsLog(bus)
    withdrawals = Withdrawals(EventLog(bus), texts, SystemClock())
    delivery = Delivery(bus, Telemetry())
    if by == "address":
        delivery.subscribe(CURATOR_FLAG_RAISED, withdrawals.on_flag_raised, slots=1)
    else:
        delivery.subscribe(CURATOR_FLAG_RESOLVED, withdrawals.on_flag_resolved, slots=1)
    await delivery.start()

    await until(lambda: have_handled_all(bus, consumer), "all flags are handled")
    assert await invalidated(bus) == {run(n) for n in objected}
    assert {each.sha256 for each in texts.texts} == {stored[n].body.sha256 for n in objected}
    for number in stored:
        asked = Asked(
            assertion(number), UUID(int=0xA), 0, shape_of(AuditOptions()), "TIMELESS", "CACHE_ONLY", may_buy=False
        )
        outcome = look(SystemClock().now(), asked, await log.cached(assertion(number)))
        assert isinstance(outcome, Miss) == (number in objected)
        assert (await log.analysis(assertion(number), run(number)) is None) == (number in objected)
