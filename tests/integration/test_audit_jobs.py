"""Whole jobs beside a real auditor: what they cost, however they end, and what becomes of claims without a verdict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from contracts.topology import (
    AUDITOR_ASSERTION_ANALYSIS_REQUESTED,
    AUDITOR_JOB_REQUESTED,
    AUDITOR_JOB_RESOLVED,
    JOBS,
)
from contracts.v1 import AssertionAnalysisRequested, Event, JobPlanned
from kit import topology
from kit.bus import Bus
from kit.embedded import EmbeddedStack
from tests.support.audit_instance import (
    ACK_WAIT_S,
    WITHIN_S,
    Gateway,
    Instance,
    account,
    ended,
    facts,
    instance,
    of,
    require_balances,
)
from tests.support.audit_provider import AuditProvider, Step
from tests.support.system import until
from tests.support.trap import Trap, fact

pytest_plugins = ["tests.support.delivering"]

TOWER, BRIDGE = "The tower is 330 metres tall.", "The bridge is 120 metres long."
ARTICLE = f"{TOWER}\n{BRIDGE}"
ALICE = account(1)
COMPLETE = 195_000
"""What the article costs when it is finished. Units: micro-dollars."""


@pytest.fixture
async def world(bus: Bus, server: EmbeddedStack) -> AsyncIterator[Instance]:
    """An instance without an auditor yet."""
    await topology.apply(bus, ack_wait_s=ACK_WAIT_S)
    async with instance(server.endpoints.nats_url) as found:
        yield found


async def charge(bus: Bus, job: UUID) -> int:
    """What a job was charged, once it is closed."""
    end = (await ended(bus, [job]))[job]
    charged = require_balances(await facts(bus))[job]
    assert charged == end.charged_micro_usd, "the fact, the account and the ledger say the same"
    return charged


async def finish(bus: Bus, gateway: Gateway) -> int:
    """Ask for the article anew; what that costs."""
    job = await gateway.accept(ALICE, ARTICLE)
    charged = await charge(bus, job)
    assert (await gateway.result(job))["cost"] == charged / 1_000_000
    return charged


async def has(bus: Bus, kind: type[Event]) -> bool:
    return bool(of(await facts(bus), kind))


@pytest.mark.requirement("FH-155")
async def test_a_job_that_is_cancelled_before_its_first_step_is_free(bus: Bus, world: Instance) -> None:
    """FH-155: A cancelled job pays for its own started steps."""
    gateway = world.gateway(bus)
    job = await gateway.accept(ALICE, ARTICLE)
    await gateway.cancel(job)
    world.spawn()
    assert await charge(bus, job) == 0
    assert await finish(bus, gateway) == COMPLETE
    assert len(world.provider.paid("extract")) == 1, "nothing was asked for the cancelled job"


@pytest.mark.requirement("FH-155")
@pytest.mark.parametrize(
    ("step", "subject", "charged"),
    [("extract", ARTICLE, 3_000), ("analyse", TOWER, 165_000), ("assess", ARTICLE, COMPLETE)],
)
async def test_a_job_that_is_cancelled_in_a_step_pays_for_what_had_begun(
    bus: Bus, world: Instance, step: Step, subject: str, charged: int
) -> None:
    """FH-155: A cancelled job pays for its own started steps.

    What it does not pay for is not bought either, so cancelling and asking again is never cheaper than finishing.
    """
    gateway, provider = world.gateway(bus), world.provider
    gate = provider.gates[step, subject] = asyncio.Event()
    world.spawn()
    job = await gateway.accept(ALICE, ARTICLE)
    await until(lambda: paid(provider, step, subject), "its step is under way", within_s=WITHIN_S)
    if step == "analyse":
        await until(lambda: has(bus, JobPlanned), "its plan is stored", within_s=WITHIN_S)
    await gateway.cancel(job)
    assert await charge(bus, job) == charged
    gate.set()
    await until(lambda: settled(bus), "its auditor has done with it", within_s=WITHIN_S)
    bought = len({each.subject for each in provider.paid("analyse")})
    assert charged >= 3_000 + 81_000 * bought, "an analysis was begun that nobody pays for"
    again = await finish(bus, gateway)
    assert again == COMPLETE - 81_000 * bought, "what it paid for stays cached"
    assert charged + again >= COMPLETE


@pytest.mark.requirement("FH-155")
async def test_a_job_that_is_cancelled_before_its_plan_pays_for_the_analyses_it_has_requested(
    bus: Bus, server: EmbeddedStack, world: Instance
) -> None:
    """FH-155: A cancelled job pays for its own started steps."""
    gateway = world.gateway(bus)
    async with Trap(server.endpoints.nats_url) as line:
        line.set(fact(AssertionAnalysisRequested, "lost", 2))
        dying = world.spawn(line.url)
        job = await gateway.accept(ALICE, ARTICLE)
        await asyncio.wait_for(line.sprung.wait(), WITHIN_S)
        line.fail("cut")
        await dying.kill()
    await gateway.cancel(job)
    world.spawn()
    assert await charge(bus, job) == 84_000
    await until(lambda: settled(bus), "the other auditor has left it alone", within_s=WITHIN_S)
    found = await facts(bus)
    assert of(found, JobPlanned) == []
    assert len(of(found, AssertionAnalysisRequested)) == 1
    assert await finish(bus, gateway) == COMPLETE - 81_000


async def paid(provider: AuditProvider, step: Step, subject: str) -> bool:
    return bool(provider.paid(step, subject))


async def settled(bus: Bus) -> bool:
    """Whether no auditor has anything to do."""
    for consumer in (AUDITOR_JOB_REQUESTED, AUDITOR_ASSERTION_ANALYSIS_REQUESTED, AUDITOR_JOB_RESOLVED):
        info = await bus.jetstream.consumer_info(JOBS.name, consumer.name)
        if info.num_pending or info.num_ack_pending:
            return False
    return True
