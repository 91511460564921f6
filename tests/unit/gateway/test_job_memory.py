"""What an estimate knows of an article that its account had extracted."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from contracts.jobs.requests import AnalyzeRequest
from contracts.v1 import AssertionAnalysisRequested, JobExtracted, LlmStageConfigured, RunFailed
from contracts.v1.parts import Usage
from services.gateway.jobs.expectation import Forecast
from services.gateway.jobs.memory import Memory
from tests.support.auditing import JOB, TEXT, World
from tests.support.factories import NOW
from tests.support.fakes import StillClock
from tests.support.job_log import MemoryJobLog, MemoryMemos, MemoryWords

REQUEST = AnalyzeRequest(input_text=TEXT)


class Known:
    """A gateway after an article was extracted, its claims' analyses requested."""

    def __init__(self, world: World) -> None:
        self.log = MemoryJobLog(StillClock(NOW))
        self.log.add(*world.log.events, at=NOW)
        self.words, self.memos = MemoryWords(StillClock(NOW - timedelta(hours=1))), MemoryMemos(world.memos)
        (extracted,) = self.log.of(JobExtracted)
        ref = extracted.extraction
        self.words.texts[ref.place] = world.texts[ref.sha256]
        self.account = world.request.account_id

    async def forecast(self, request: AnalyzeRequest = REQUEST, minutes: int = 0) -> Forecast | None:
        memory = Memory(self.log, self.words, self.memos)
        return await memory.forecast(request, self.account, NOW + timedelta(minutes=minutes))


@pytest.fixture
async def known() -> Known:
    world = World()
    await world.again(JOB)
    return Known(world)


@pytest.mark.requirement("FH-13")
async def test_runs_that_can_be_joined_are_hits(known: Known) -> None:
    """FH-13: Claims to extract are estimated hits and new claims, and the basis says how."""
    requested = known.log.of(AssertionAnalysisRequested)
    assert (len(requested), len(known.log.of(JobExtracted)[0].claims)) == (2, 3), "one is no claim after normalisation"
    assert await known.forecast() == Forecast(2, 0, "memo")
    assert await known.forecast(minutes=16) == Forecast(0, 2, "memo"), "a run without an end is lost"
    run = requested[0].run_id
    known.log.add(RunFailed(run_id=run, attempt=1, failure="NON_RETRYABLE", reason="model_unavailable", usage=Usage()))
    assert await known.forecast() == Forecast(1, 1, "memo")
    fewer = REQUEST.model_copy(update={"options": REQUEST.options.model_copy(update={"max_claims": 1})})
    assert await known.forecast(fewer) == Forecast(0, 1, "memo")


@pytest.mark.requirement("FH-13")
@pytest.mark.parametrize("why", ["another account", "another text", "skipped", "expired", "another model"])
async def test_nothing_is_known_where_the_claims_would_be_extracted(known: Known, why: str) -> None:
    """FH-13: Claims to extract are estimated hits and new claims, and the basis says how."""
    request = REQUEST
    match why:
        case "another account":
            known.account = UUID(int=0xACC2)
        case "another text":
            request = AnalyzeRequest(input_text=f"{TEXT} It is late.")
        case "skipped":
            options = REQUEST.options.model_copy(update={"cache_preference": "skip_cache"})
            request = REQUEST.model_copy(update={"options": options})
        case "expired":
            known.words.texts.clear()
        case _:
            known.log.add(
                LlmStageConfigured(
                    stage="extract", provider="local", model="gpt-6", max_tokens=9, temperature=0, by=UUID(int=1)
                )
            )
    assert await known.forecast(request) is None
