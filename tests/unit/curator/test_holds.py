"""The end of a hold: one decision, its verdict behind it, whoever comes first and wherever one crashes."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import pytest

from accuracy.breaker import Effect
from contracts.v1 import ClaimApproved, ClaimHeld, ClaimHoldEnded, ClaimRejected
from contracts.v1.gates import GateResult
from kit.errors import Retry
from kit.publisher import PublishConflict
from lifecycle.display import CHECK, LONGEST, REASONS, DisplayRules
from services.curator.ports import Readers
from tests.support.curating import HeldWorld
from tests.support.factories import NOW
from tests.support.public_record import MOON

APPROVAL: Final = MOON.approved(0).model_copy(update={"gates": (GateResult(gate="satire", outcome="PASS"),)})
HELD: Final = ClaimHeld(
    investigation_id=APPROVAL.investigation_id, claim_id=APPROVAL.claim_id, approval=APPROVAL, held_at=NOW
)


async def test_what_few_see_is_released_at_once_with_the_verdict_that_was_held() -> None:
    world = HeldWorld(HELD)
    await world.handle(HELD)
    ended, verdict = world.follows
    assert isinstance(ended, ClaimHoldEnded)
    assert (ended.state, ended.code, ended.views_a_day, ended.follows) == ("RELEASED", None, 0, 0)
    assert verdict == APPROVAL
    assert world.ended == ["RELEASED"]


async def test_the_message_comes_back_when_the_hold_is_over() -> None:
    world = HeldWorld(HELD, views=500)
    with pytest.raises(Retry) as caught:
        await world.handle(HELD)
    assert (caught.value.after_s, world.follows) == (900, [])
    world.clock.time += timedelta(minutes=15)
    await world.handle(HELD)
    assert world.follows[-1] == APPROVAL


async def test_what_an_open_breaker_stops_for_a_day_is_withheld_and_the_run_can_end() -> None:
    world = HeldWorld(HELD)
    world.effect = Effect.HOLD
    with pytest.raises(Retry):
        await world.handle(HELD)
    world.clock.time += LONGEST
    await world.handle(HELD)
    ended, verdict = world.follows
    assert isinstance(ended, ClaimHoldEnded)
    assert isinstance(verdict, ClaimRejected)
    assert (ended.state, ended.code) == ("WITHHELD", "STOPPED")
    assert (verdict.gate, verdict.reason) == ("hold", REASONS["STOPPED"])
    assert (verdict.usage, verdict.transcript, verdict.gates) == (APPROVAL.usage, APPROVAL.transcript, APPROVAL.gates)


@pytest.mark.requirement("TR-30")
async def test_of_two_curators_one_decides_and_both_say_the_same_verdict() -> None:
    """TR-30: The states of a finding are ordered by the stream, and a retraction is final"""
    world = HeldWorld(HELD)
    slow = world.curator().on_claim_held(HELD, 1)
    late = await anext(slow)
    world.effect, world.clock.time = Effect.SUSPEND, NOW + LONGEST
    await world.handle(HELD)
    with pytest.raises(PublishConflict):
        world.log.publish(late)
    await world.handle(HELD)
    ended, *verdicts = world.follows
    assert isinstance(ended, ClaimHoldEnded)
    assert ended.state == "WITHHELD"
    assert len(verdicts) == 2
    assert {each.event_id() for each in verdicts} == {verdicts[0].event_id()}
    assert all(isinstance(each, ClaimRejected) for each in verdicts)


@pytest.mark.parametrize("crash_after", [0, 1])
async def test_a_curator_that_dies_leaves_nothing_undone_and_nothing_decided_twice(crash_after: int) -> None:
    world = HeldWorld(HELD)
    await world.handle(HELD, crash_after=crash_after)
    world.effect = Effect.HOLD  # too late for what is decided
    if crash_after:
        await world.handle(HELD)
        assert [type(each) for each in world.follows] == [ClaimHoldEnded, ClaimApproved]
    else:
        with pytest.raises(Retry):
            await world.handle(HELD)


async def test_another_round_is_held_anew() -> None:
    world = HeldWorld(HELD)
    await world.handle(HELD)
    again = HELD.model_copy(update={"round": 2, "approval": APPROVAL.model_copy(update={"round": 2})})
    world.readers = Readers(None, is_requested=False)
    with pytest.raises(Retry):
        await world.handle(again)
    world.readers = Readers(None, is_requested=True)
    await world.handle(again)
    ended = world.follows[-2]
    assert isinstance(ended, ClaimHoldEnded)
    assert (ended.round, ended.follows) == (2, 2)


async def test_what_can_never_be_decided_is_withheld() -> None:
    world = HeldWorld(HELD)
    async for fact in world.curator().on_exhausted(HELD, "a bug"):
        world.log.publish(fact)
    ended, verdict = world.follows
    assert isinstance(ended, ClaimHoldEnded)
    assert isinstance(verdict, ClaimRejected)
    assert (ended.state, ended.code) == ("WITHHELD", "NOT_DECIDED")


async def test_a_decision_that_came_before_giving_up_stands() -> None:
    world = HeldWorld(HELD)
    giving_up = world.curator().on_exhausted(HELD, "a bug")
    withheld = await anext(giving_up)
    assert isinstance(withheld, ClaimHoldEnded)
    await world.handle(HELD)
    with pytest.raises(PublishConflict):
        world.log.publish(withheld)
    assert await anext(giving_up) == APPROVAL


@pytest.mark.parametrize("others", [(), APPROVAL.gates])
async def test_a_gate_that_did_not_pass_is_never_released(others: tuple[GateResult, ...]) -> None:
    world = HeldWorld(HELD)
    gates = (*others, GateResult(gate="satire", outcome="FAIL", code="SAYS_IT_IS_SATIRE"))
    await world.handle(HELD.model_copy(update={"approval": APPROVAL.model_copy(update={"gates": gates})}))
    assert isinstance(world.follows[-1], ClaimRejected)


@pytest.mark.requirement("TR-32")
@pytest.mark.parametrize("is_confirmed", [True, False])
async def test_where_many_read_it_the_second_opinion_must_be_among_its_gates(is_confirmed: bool) -> None:
    """TR-32: A finding is held by its post's views, looked at twice where many read it, and not switched on and off"""
    world = HeldWorld(HELD, views=20_000, rules=DisplayRules(second_look=True))
    world.clock.time += timedelta(minutes=60)
    gates = (*APPROVAL.gates, *((GateResult(gate="second_opinion", outcome="PASS"),) if is_confirmed else ()))
    await world.handle(HELD.model_copy(update={"approval": APPROVAL.model_copy(update={"gates": gates})}))
    assert isinstance(world.follows[-1], ClaimApproved if is_confirmed else ClaimRejected)
    assert world.looked == is_confirmed, "no page is fetched for what is withheld anyway"


@pytest.mark.requirement("TR-32")
async def test_where_many_read_it_the_pages_are_fetched_again_when_the_hold_is_over() -> None:
    """TR-32: A finding is held by its post's views, looked at twice where many read it, and not switched on and off"""
    world = HeldWorld(HELD, views=20_000, rules=DisplayRules(second_look=True))
    gates = (*APPROVAL.gates, GateResult(gate="second_opinion", outcome="PASS"))
    held = HELD.model_copy(update={"approval": APPROVAL.model_copy(update={"gates": gates})})
    with pytest.raises(Retry):
        await world.handle(held)
    assert world.looked == 0
    world.clock.time += timedelta(minutes=60)
    world.fresh = "UNAVAILABLE"
    with pytest.raises(Retry) as caught:
        await world.handle(held)
    assert (caught.value.after_s, world.looked, world.follows) == (CHECK.total_seconds(), 1, [])
    world.fresh = "CHANGED"
    await world.handle(held)
    ended, verdict = world.follows
    assert isinstance(ended, ClaimHoldEnded)
    assert isinstance(verdict, ClaimRejected)
    assert (ended.state, ended.code, verdict.reason) == ("WITHHELD", "SOURCE_CHANGED", REASONS["SOURCE_CHANGED"])
    world.fresh = "CONFIRMED"
    await world.handle(held)
    assert (world.looked, world.follows[-1]) == (2, verdict), "what is decided is not looked at again"
