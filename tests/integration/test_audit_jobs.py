"""Whole jobs beside a real auditor: what they cost, however they end, and what becomes of claims without a verdict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from math import ceil
from time import monotonic
from typing import Final
from uuid import UUID

import pytest

from contracts.topology import (
    AUDITOR_ASSERTION_ANALYSIS_REQUESTED,
    AUDITOR_JOB_REQUESTED,
    AUDITOR_JOB_RESOLVED,
)
from contracts.v1 import AssertionAnalysisRequested, Event, JobPlanned
from kit import topology
from kit.bus import Bus
from kit.embedded import EmbeddedStack
from tests.support.audit_facts import count, ended, facts, of, require_balances
from tests.support.audit_instance import ACK_WAIT_S, SLOTS, WITHIN_S, Gateway, Instance, account, instance
from tests.support.audit_provider import CALLS, AuditProvider, Step
from tests.support.consumers import have_handled_all
from tests.support.system import until
from tests.support.trap import Trap, fact

pytest_plugins = ["tests.support.delivering"]

TOWER, BRIDGE = "The tower is 330 metres tall.", "The bridge is 120 metres long."
ARTICLE = f"{TOWER}\n{BRIDGE}"
ALICE = account(1)
CONSUMERS = (AUDITOR_JOB_REQUESTED, AUDITOR_ASSERTION_ANALYSIS_REQUESTED, AUDITOR_JOB_RESOLVED)
MODEL_S: Final[Mapping[Step, float]] = {"extract": 6.0, "analyse": 8.0, "assess": 5.0}
"""Seconds that a model takes for an answer: two pages are opened for each claim, so three times eight."""
FASTER: Final = 10
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
    return bool(await count(bus, kind))


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
    await until(lambda: have_handled_all(bus, *CONSUMERS), "its auditor has done with it", within_s=WITHIN_S)
    bought = len({each.subject for each in provider.paid("analyse")})
    assert charged >= 3_000 + 81_000 * bought, "an analysis was begun that no job pays for"
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
    await until(lambda: have_handled_all(bus, *CONSUMERS), "the other auditor has left it alone", within_s=WITHIN_S)
    found = await facts(bus)
    assert of(found, JobPlanned) == []
    assert len(of(found, AssertionAnalysisRequested)) == 1
    assert await finish(bus, gateway) == COMPLETE - 81_000


async def test_a_job_asks_the_blob_store_for_no_more_than_its_words_need(bus: Bus, world: Instance) -> None:
    """Its request apart: two steps, their documents, and for each claim its words, two questions, answer and body."""
    auditor = world.spawn()
    job = await world.gateway(bus).accept(ALICE, ARTICLE)
    await charge(bus, job)

    async def removed() -> bool:
        return auditor.store.requests["remove"] > 1

    await until(removed, "its answers are removed", within_s=WITHIN_S)
    assert auditor.store.requests == {"put": 2 + 2 + 2 * 5, "remove": 2}
    assert not any("/open/" in name for name in world.store.objects)


@pytest.mark.requirement("FH-142")
async def test_an_article_with_five_new_claims_takes_less_than_two_minutes(bus: Bus, world: Instance) -> None:
    """FH-142: A job takes under two minutes.

    The model thinks a tenth as long as a real one. What we add is not less for that, so it is counted in full.
    """
    provider, claims = world.provider, [f"The tower of town {name} is 330 metres tall." for name in "ABCDE"]
    provider.seconds = {step: each / FASTER for step, each in MODEL_S.items()}
    process = world.spawn()
    await process.started()
    began = monotonic()
    job = await world.gateway(bus).accept(ALICE, "\n".join(claims))
    end = (await ended(bus, [job]))[job]
    took_s = monotonic() - began
    assert (end.outcome, end.newly_analysed, end.charged_micro_usd) == ("SUCCEEDED", 5, 438_000)
    assert provider.most_at_once["analyse"] == SLOTS, "claims are analysed at once, by one process"
    rounds = ceil(len(claims) / SLOTS)
    model_s = MODEL_S["extract"] + rounds * CALLS["analyse"] * MODEL_S["analyse"] + MODEL_S["assess"]
    added_s = took_s - model_s / FASTER
    assert added_s > 0
    assert model_s + added_s < 120


async def paid(provider: AuditProvider, step: Step, subject: str) -> bool:
    return bool(provider.paid(step, subject))
