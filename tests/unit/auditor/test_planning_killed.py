"""An auditor that dies at any step of a job, while twenty jobs ask for the same claims: each claim is bought once."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from datetime import datetime
from typing import Final
from uuid import UUID

import pytest

from contracts.v1 import AssertionAnalysisRequested, JobPlanned, JobRequested
from contracts.v1.parts import EphemeralRef
from lifecycle.audits.cache import Cached
from tests.support.auditing import World
from tests.support.mortal import Killed, Life

JOBS: Final = 20
SEED: Final = 1


class _Life(Life):
    """Once it is dead, nothing that it had begun at the same time happens either."""

    def __init__(self, at: int | None = None) -> None:
        super().__init__()
        self._last = at

    def touch(self) -> None:
        self.contacts += 1
        if self._last is not None and self.contacts >= self._last:
            raise Killed


class _MortalWorld(World):
    """The world of auditors that die: whatever one says to it may be the last, heard or not."""

    def __init__(self) -> None:
        super().__init__()
        self.life: Life = _Life()

    async def put(self, text: str, until: datetime, answers: str | None = None) -> EphemeralRef:
        self.life.touch()
        ref = await super().put(text, until, answers)
        self.life.touch()
        return ref

    async def cached(self, assertion_id: UUID) -> Cached:
        self.life.touch()
        return await super().cached(assertion_id)

    async def request_analysis(self, event: AssertionAnalysisRequested, correlation: UUID) -> bool:
        self.life.touch()
        stored = await super().request_analysis(event, correlation)
        self.life.touch()
        return stored

    async def is_shared(self, event: AssertionAnalysisRequested) -> bool:
        self.life.touch()
        return await super().is_shared(event)

    async def keep(self, memo_id: UUID, job_id: UUID) -> None:
        self.life.touch()
        await super().keep(memo_id, job_id)

    async def work_on(self, request: JobRequested, life: Life) -> None:
        """Deliver a request to an auditor, which may die of it."""
        self.request, self.life = request, life
        with suppress(Killed):
            async for fact in self.auditor.on_job_requested(request, 1):
                life.touch()
                self.log.publish(fact)
                life.touch()


@pytest.mark.requirement("FH-70")
async def test_an_auditor_that_dies_at_any_step_buys_no_claim_twice() -> None:
    """FH-70: One claim causes one call within its lifetime, also concurrently."""
    chance, whole, life = random.Random(SEED), _MortalWorld(), _Life()
    whole.log.publish(whole.request)
    await whole.work_on(whole.request, life)
    assert life.contacts > 20
    for at in range(1, life.contacts + 1):
        world = _MortalWorld()
        jobs = [
            world.request.model_copy(update={"job_id": UUID(int=n), "account_id": UUID(int=0xACC0 + n)})
            for n in range(1, JOBS + 1)
        ]
        for each in jobs:
            world.log.publish(each)
        for each in jobs[:2]:
            await world.work_on(each, _Life(at))
        for each in chance.sample([*jobs, *jobs[:3]], JOBS + 3):
            await world.work_on(each, _Life())
        bought = [each for each in world.log.events if isinstance(each, AssertionAnalysisRequested)]
        plans = {each.job_id: each.claims for each in world.log.events if isinstance(each, JobPlanned)}
        outcomes = Counter((claim.number, claim.outcome) for claims in plans.values() for claim in claims)
        assert len({each.assertion_id for each in bought}) == len(bought) == 2, at
        assert plans.keys() == {each.job_id for each in jobs}, at
        assert [outcomes[number, "OWN"] for number in (1, 2)] == [1, 1], f"dead at {at}: {outcomes}"
        assert [outcomes[number, "JOINED"] for number in (1, 2)] == [JOBS - 1, JOBS - 1], at
