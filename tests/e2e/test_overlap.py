"""Stage 2 begins while stage 1 still talks, four claims at a time, and a reader can watch it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.posts import on_x
from tests.support.extension_client import Extension
from tests.support.openai_server import Answer, OpenAIServer, Request, Turn, call, message, openai_server
from tests.support.oracle import oracle
from tests.support.sites import Answer as PageAnswer
from tests.support.sites import Sites
from tests.support.system import System, system, until

pytestmark = [pytest.mark.asyncio(loop_scope="function"), pytest.mark.xdist_group("e2e-overlap")]

KEY: Final = "oe_the-member"
TEN: Final = tuple(f"Lake number {number} is made of milk." for number in range(10))
AT_ONCE: Final = 4
WITHIN_S: Final = 90.0


class Patient(OpenAIServer):
    """Submits ten sentences and goes on thinking; every review waits until it is let go."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page
        self.thinks = asyncio.Event()
        self.waiting: list[asyncio.Event] = []
        self.reviewed = 0

    def turn(self, request: Request) -> Turn:
        if "tools" in request.body:
            return self._round(request)
        gate = asyncio.Event()
        self.waiting.append(gate)
        self.reviewed += 1
        said = json.dumps({"approved": True, "reason": "looked"})
        return Answer((message(said),), gate=gate)

    def _round(self, request: Request) -> Turn:
        if request.body.get("previous_response_id"):
            return Answer((message("Done."),))
        return Answer(tuple(map(self._submission, range(len(TEN)))), gate=self.thinks, gate_at=len(TEN) - 1)

    def _submission(self, number: int) -> dict[str, Any]:
        source = {"url": self.page, "title": "Lakes", "snippet": "It is water."}
        words = {"text": TEN[number], "context": TEN[number], "summary": "Water.", "reasoning": "See."}
        return call("submit_correction", {**words, "sources": [source]}, f"call_{number}")

    async def hold(self, number: int) -> None:
        """Wait until so many reviews wait."""

        async def waiting() -> bool:
            return len(self.waiting) >= number

        await until(waiting, f"{number} reviews are under way", within_s=WITHIN_S)

    def let_go(self) -> None:
        """Answer the oldest review."""
        self.waiting.pop(0).set()


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[tuple[System, Patient]]:
    """Everything in one process, over a model that can be held."""
    async with Sites() as sites:
        sites.pages["/lakes"] = PageAnswer(200, {"content-type": "text/html"}, b"<p>It is water.</p>")
        model = Patient(f"{sites.url}/lakes")
        async with (
            openai_server(model),
            system(
                folder,
                OPENAI_API_KEY="sk-test-of-the-instance-0123456789",
                OPENAI_BASE_URL=model.url,
                OPENERRATA_VALIDATOR_PAGE_ORIGIN=sites.url,
                OPENERRATA_VALIDATOR_GATE_FAMILIES="1",
                OPENERRATA_SELECTOR_RUNS_PER_DAY="0",
            ) as started,
        ):
            await started.up()
            assert (await started.run("keys", "add", "member", "--key", KEY)).code == 0
            yield started, model


@pytest.mark.requirement("2.4.3-04", "2.4.3-07", "2.4.3-08")
async def test_four_claims_are_judged_at_once_while_the_model_still_looks(tmp_path: Path) -> None:
    """2.4.3-04: Candidates are visible as they are submitted.
    2.4.3-07: Pending and confirmed claims are visible during a run.
    2.4.3-08: Four reviews at once, beside the run.
    """
    async with running(tmp_path) as (started, model), Extension(started.url, api_key=KEY) as reader:
        version = (await reader.register(on_x(*TEN)))["postVersionId"]
        run = (await reader.investigate(version))["investigationId"]

        async def told(confirmed: int) -> dict[str, Any] | None:
            status = await reader.look(run)
            counts = len(status["confirmedClaims"]), len(status["pendingClaims"])
            return status if counts == (confirmed, len(TEN) - confirmed) else None

        for judged in range(len(TEN) - AT_ONCE + 1):
            await model.hold(AT_ONCE)
            status = await until(partial(told, judged), f"{judged} are confirmed", within_s=WITHIN_S)
            assert status["status"] == "PROCESSING"
            assert (len(model.waiting), model.reviewed) == (AT_ONCE, AT_ONCE + judged), "four at once, never a fifth"
            model.let_go()
        assert not model.thinks.is_set(), "the first stage has not ended yet"
        while model.waiting:
            model.let_go()
        await until(partial(told, len(TEN)), "all are confirmed", within_s=WITHIN_S)
        model.thinks.set()
        result = await reader.result(run, within_s=WITHIN_S)
        assert [claim["text"] for claim in result["claims"]] == list(TEN)
        assert model.reviewed == len(TEN)
        async with oracle(started.database_url, started.nats_url) as looking:
            await looking.settled(within_s=WITHIN_S)
            assert await looking.once_each(run) == list(TEN)
