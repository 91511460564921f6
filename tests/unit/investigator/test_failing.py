"""An attempt that fails: whose fault it is, what it leaves behind, and when the next one comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import pytest

from contracts.v1 import (
    InvestigationFailed,
    InvestigationRetryScheduled,
)
from contracts.v1.investigation import KeySource
from contracts.v1.parts import Usage
from kit.errors import Retry
from kit.models.base import KEY_UNUSABLE, Brief, Checkpoint, Failure, ModelError
from lifecycle.attempts import ATTEMPTS
from tests.support.attempts import World, kinds, submit
from tests.support.factories import (
    INVESTIGATION_ID,
    NOW,
    QUOTE,
    VERSION_ID,
    failed,
    requested,
    snapshot,
)
from tests.support.fakes import (
    Handled,
    Item,
    MemoryKeys,
    MemoryLog,
    MemoryTexts,
    ScriptedModel,
    final,
    handled,
    investigator_over,
    partial,
    transient,
    without_credit,
)
from tests.support.virtual import run_virtually


@pytest.mark.requirement("3.7-03", "3.7-06")
@pytest.mark.parametrize(
    ("error", "failure"), [(final(), "NON_RETRYABLE"), (partial(), "PARTIAL")], ids=["refused", "cut-short"]
)
async def test_a_failure_that_will_not_pass_ends_the_investigation(error: ModelError, failure: str) -> None:
    """3.7-03: A refused key or request fails at once.
    3.7-06: An answer that was cut short is PARTIAL.
    """
    world = World([submit(QUOTE), error])
    outcome = await world.deliver()
    end = outcome.facts[-1]
    assert isinstance(end, InvestigationFailed)
    assert (end.failure, end.attempt, end.round, end.follows) == (failure, 1, 1, 0)
    assert outcome.gave_up is None
    assert (await world.deliver()).facts == []


@pytest.mark.requirement("3.7-07")
async def test_a_readers_key_that_is_gone_fails_the_run_and_costs_nobody_else() -> None:
    """3.7-07: A reader's key that is gone fails the run."""
    world = World(request=requested(key_source="USER"))
    outcome = await world.deliver()
    end = outcome.facts[-1]
    assert isinstance(end, InvestigationFailed)
    assert end.failure == "NON_RETRYABLE"
    assert "expired" in end.reason
    assert world.model.briefs == []


async def test_an_analysis_that_is_not_known_here_is_nobodys_failure() -> None:
    """A newer service may have asked: the delivery is repeated, the investigation does not fail."""
    world = World(request=requested(analysis="UNHEARD_OF"))
    with pytest.raises(LookupError):
        await world.deliver()
    assert kinds(world.log.events) == ["InvestigationRequested"]


async def test_a_request_that_is_given_up_ends_as_failed_after_what_was_tried() -> None:
    world = World([transient()])
    await world.deliver()
    outcome = await handled(world.investigator.on_exhausted(world.request, "gave up after 12 attempts"), world.log)
    (end,) = outcome.facts
    assert isinstance(end, InvestigationFailed)
    assert (end.attempt, end.round, end.failure) == (1, 1, "NON_RETRYABLE")
    assert end.reason == "gave up after 12 attempts"


async def test_a_later_round_that_is_given_up_ends_behind_the_end_of_the_one_before() -> None:
    world = World()
    world.log.publish(failed())
    again = requested(round=2, follows=world.log.last(world.request.subject()))
    world.log.publish(again)
    (end,) = (await handled(world.investigator.on_exhausted(again, "a bug"), world.log)).facts
    assert isinstance(end, InvestigationFailed)
    assert end.round == 2


@pytest.mark.requirement("2.12-04")
@pytest.mark.parametrize("failure", ["TRANSIENT", "NON_RETRYABLE", "PARTIAL"])
async def test_a_failed_attempt_keeps_what_was_paid_for(failure: Failure) -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    said = "é" * 20_000
    error = ModelError(
        failure, "it broke", name="Broken", status_code=500, usage=Usage(total_tokens=9), transcript=said.encode()
    )
    world = World([submit(QUOTE), error])
    end = (await world.deliver()).facts[-1]
    assert isinstance(end, InvestigationFailed | InvestigationRetryScheduled)
    assert (end.usage, end.error_name, end.status_code) == (Usage(total_tokens=9), "Broken", 500)
    assert end.transcript is not None
    assert await world.texts.get_text(end.transcript) == said


@pytest.mark.requirement("3.7-02")
@pytest.mark.parametrize(("asked_s", "waits_s"), [(None, 10.0), (3.0, 10.0), (60.0, 60.0), (1e9, ATTEMPTS.longest_s)])
async def test_a_provider_that_asks_to_be_left_alone_is(asked_s: float | None, waits_s: float) -> None:
    """3.7-02: Attempts follow after 10, 20 and 40 seconds."""
    busy = ModelError("TRANSIENT", "busy", name="Busy", status_code=429, retry_after_s=asked_s)
    world = World([busy])
    outcome = await world.deliver()
    assert isinstance(outcome.gave_up, Retry)
    assert outcome.gave_up.after_s == waits_s
    (scheduled,) = world.told(InvestigationRetryScheduled)
    assert isinstance(scheduled, InvestigationRetryScheduled)
    assert scheduled.retry_at - NOW == timedelta(seconds=waits_s)


@pytest.mark.requirement("3.7-07")
@pytest.mark.parametrize(
    ("key_source", "error", "fault"),
    [
        ("USER", final(401), "USER_KEY"),
        ("USER", final(403), "USER_KEY"),
        ("USER", without_credit(), "USER_KEY"),
        ("USER", final(400), "RUN"),
        ("USER", partial(), "RUN"),
        ("INSTANCE", final(401), "RUN"),
    ],
)
async def test_whose_fault_a_failure_is(key_source: KeySource, error: ModelError, fault: str) -> None:
    """3.7-07: A reader's key that is gone fails the run."""
    keys = MemoryKeys(**{str(INVESTIGATION_ID): "sk-of-a-reader"})
    world = World([error], request=requested(key_source=key_source), keys=keys)
    end = (await world.deliver()).facts[-1]
    assert isinstance(end, InvestigationFailed)
    assert end.fault == fault


@pytest.mark.requirement("3.7-07")
async def test_a_key_that_is_gone_is_the_readers_fault() -> None:
    """3.7-07: A reader's key that is gone fails the run."""
    end = (await World(request=requested(key_source="USER")).deliver()).facts[-1]
    assert isinstance(end, InvestigationFailed)
    assert (end.fault, end.error_name) == ("USER_KEY", KEY_UNUSABLE)


class Stalled(ScriptedModel):
    """Answers once, and then never."""

    async def look(self, brief: Brief[Any, Any]) -> AsyncGenerator[Item, None]:
        yield Checkpoint(b"segment 1", True, 1, Usage(total_tokens=7))
        await asyncio.Event().wait()


def test_an_attempt_that_reaches_its_deadline_ends_the_run_and_keeps_what_was_paid_for() -> None:
    log, model = MemoryLog(requested(), versions={VERSION_ID: snapshot()}), Stalled()
    works = investigator_over(log, MemoryTexts(), model, run_s=60.0)

    async def timed() -> tuple[Handled, float]:
        return await handled(works.on_investigation_requested(requested(), 1), log), asyncio.get_running_loop().time()

    outcome, took_s = run_virtually(timed())
    end = outcome.facts[-1]
    assert isinstance(end, InvestigationFailed)
    assert (end.failure, end.error_name, end.fault) == ("NON_RETRYABLE", "RunTimeout", "RUN")
    assert took_s == pytest.approx(60.0)
    assert end.usage == Usage(total_tokens=7)
    assert outcome.gave_up is None, "no further attempt"
