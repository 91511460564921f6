"""Claims that cannot be judged, in whole jobs beside a real auditor: each fails alone, says why and costs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final
from uuid import uuid4

import pytest

from contracts.v1 import (
    AssertionAnalysed,
    AssertionAnalysisRequested,
    AssertionInvalidated,
    JobExtracted,
    RunStarted,
)
from kit import topology
from kit.bus import Bus
from kit.embedded import EmbeddedStack
from services.auditor import analysis
from services.auditor.failures import FAILURES
from tests.support.audit_facts import ended, facts, of, require_balances
from tests.support.audit_instance import ACK_WAIT_S, WITHIN_S, Instance, account, find_run, instance
from tests.support.audit_provider import CALLS
from tests.support.openai_server import Answer, Broken, HttpError, Turn, message
from tests.support.system import until
from tests.support.trap import Trap, Word

pytest_plugins = ["tests.support.delivering"]

GOOD, BAD = "The tower is 330 metres tall.", "The bridge is 120 metres long."
ARTICLE = f"{GOOD}\n{BAD}"
ALICE = account(1)
PAID = 114_000
"""Stages 1 and 3, and the claim that was judged. Units: micro-dollars."""
IN_VAIN = {"type": "web_search_call", "id": "ws_1", "status": "failed", "action": {"type": "search", "query": "bridge"}}
NOTHING: Final = (
    '{"scenarios": [{"description": "As it stands", "explanation": "?", "confidence": 0.1}], "recommended": 1}'
)
TURNS: Final[dict[str, Turn]] = {
    "MODEL_UNAVAILABLE": HttpError(401),
    "MODEL_REFUSED": Answer((message("I would rather not.", "refusal"),)),
    "INVALID_ANSWER": Answer((message("It is long."),)),
    "SEARCH_UNAVAILABLE": Answer((IN_VAIN, message(NOTHING))),
}


@pytest.fixture
async def world(bus: Bus, server: EmbeddedStack) -> AsyncIterator[Instance]:
    """An instance without an auditor yet."""
    await topology.apply(bus, ack_wait_s=ACK_WAIT_S)
    async with instance(server.endpoints.nats_url) as found:
        yield found


async def audit(bus: Bus, world: Instance, article: str = ARTICLE) -> Any:
    """An article's result; what its job cost is what the claims with an analysis and its own steps cost."""
    job = await world.gateway(bus).accept(ALICE, article)
    end = (await ended(bus, [job]))[job]
    assert (end.outcome, end.charged_micro_usd) == ("SUCCEEDED", PAID)
    assert require_balances(await facts(bus)) == {job: PAID}
    found = await world.gateway(bus).result(job)
    assert found["cost"] == PAID / 1_000_000
    return found


def require_failure(found: Any, code: str) -> None:
    """Assert that the first claim is judged and the second one failed so."""
    judged, failed = found["claims"]
    assert judged["rollup_verdict"] == "Supported"
    assert (failed["status"], failed["failure"]) == ("failed", FAILURES[code].model_dump(mode="json"))
    assert (found["status"], found["cost_breakdown"]["stage2_new_claims"]) == ("partial", 0.081)
    assert found["article_holistic_assessment"]["recommendations"]["requires_review"]


@pytest.mark.requirement("FH-156")
@pytest.mark.parametrize("code", TURNS)
async def test_a_claim_that_fails_says_why_and_costs_nothing(bus: Bus, world: Instance, code: str) -> None:
    """FH-156: A claim that fails says why and costs nothing."""
    world.provider.troubles["analyse", BAD] = [TURNS[code]]
    world.spawn()
    require_failure(await audit(bus, world), code)


@pytest.mark.requirement("FH-156", "FH-106")
@pytest.mark.parametrize(("code", "calls"), [("TIMEOUT", 1), ("COST_LIMIT", 0)])
async def test_a_claim_whose_analysis_would_take_too_long_or_cost_too_much_costs_nothing(
    bus: Bus, world: Instance, monkeypatch: pytest.MonkeyPatch, code: str, calls: int
) -> None:
    """FH-156: A claim that fails says why and costs nothing.
    FH-106: A call that would cost more than the cap is not sent.
    """
    gateway = world.gateway(bus)
    world.spawn()
    await ended(bus, [await gateway.accept(ALICE, GOOD)])
    if code == "TIMEOUT":
        monkeypatch.setattr(analysis, "STANDARD_S", 1.0)
        world.provider.troubles["analyse", BAD] = [Broken("silence")]
    else:
        await world.auditors[0].kill()
        world.analysis_micro_usd = 1
        world.spawn()
    job = await gateway.accept(ALICE, ARTICLE)
    end = (await ended(bus, [job]))[job]
    assert (end.outcome, end.charged_micro_usd) == ("SUCCEEDED", 33_000)
    judged, failed = (await gateway.result(job))["claims"]
    assert judged["cache_hit"]
    assert failed["failure"] == FAILURES[code].model_dump(mode="json")
    assert len(world.provider.paid("analyse", BAD)) == calls


@pytest.mark.requirement("FH-156")
async def test_a_claim_whose_analysis_is_withdrawn_meanwhile_costs_nothing(bus: Bus, world: Instance) -> None:
    """FH-156: A claim that fails says why and costs nothing."""
    gate = world.provider.gates["analyse", GOOD] = asyncio.Event()
    world.spawn()
    auditing = asyncio.create_task(audit(bus, world))

    async def judged() -> AssertionAnalysed | None:
        return next(iter(of(await facts(bus), AssertionAnalysed)), None)

    bad = await until(judged, "the other claim is judged", within_s=WITHIN_S)
    withdrawn = AssertionInvalidated(assertion_id=bad.assertion_id, analysis_id=bad.analysis_id, why="RIGHTS")
    await bus.publish(withdrawn, correlation=uuid4())
    gate.set()
    require_failure(await auditing, "WITHDRAWN")


@pytest.mark.requirement("FH-67", "FH-156")
async def test_what_is_no_claim_fails_alone(bus: Bus, world: Instance) -> None:
    """FH-67: An empty canonical form is never a key.
    FH-156: A claim that fails says why and costs nothing.
    """
    world.spawn()
    require_failure(await audit(bus, world, f"{GOOD}\n!!!"), "NOT_A_CLAIM")
    found = await facts(bus)
    (extracted,) = of(found, JobExtracted)
    asked = [each.assertion_id for each in of(found, AssertionAnalysisRequested)]
    assert asked == [extracted.claims[0].assertion_id], "it has no key"


@pytest.mark.requirement("FH-169")
async def test_deliveries_and_attempts_of_a_running_job_are_counted_apart(
    bus: Bus, server: EmbeddedStack, world: Instance
) -> None:
    """FH-169: Deliveries and attempts are counted apart.

    The first worker dies before its attempt is stored, the second one while its model answers.
    """
    job = await world.gateway(bus).accept(ALICE, GOOD)
    async with Trap(server.endpoints.nats_url) as line:
        line.set(Word(f"{RunStarted.SUBJECT}.{find_run(GOOD)}", "lost"))
        dying = world.spawn(line.url)
        await asyncio.wait_for(line.sprung.wait(), WITHIN_S)
        line.fail("cut")
        await dying.kill()
        line.reset()
        world.provider.hold("analyse", 1)
        dying = world.spawn(line.url)
        await asyncio.wait_for(world.provider.held.wait(), WITHIN_S)
        line.fail("cut")
        await dying.kill()
    world.spawn()
    await ended(bus, [job])
    found = await facts(bus)
    (request,) = of(found, AssertionAnalysisRequested)
    starts = [each for each in of(found, RunStarted) if each.run_id == request.run_id]
    assert [each.attempt for each in starts] == list(range(1, len(starts) + 1))
    assert len(starts) >= 2
    assert all(each.delivery_count > each.attempt for each in starts), "one delivery was without an attempt"
    assert len(world.provider.paid("analyse")) == CALLS["analyse"] + 1, "and one attempt was paid in vain"
    assert require_balances(found)[job] == PAID
