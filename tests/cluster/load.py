"""Readers that ask for one run after another, a provider that counts what each costs, and what must hold of them."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Final

from tests.chaos.bills import FIRST, SECOND
from tests.chaos.conftest import KEY
from tests.e2e.posts import on_x
from tests.support.extension_client import Extension, Json, RpcFailed
from tests.support.openai_server import Answer, OpenAIServer, Request, Turn, call, message
from tests.support.oracle import Oracle
from tests.support.system import System, until

THINKS_S: Final = 0.2
WITHIN_S: Final = 90.0
_WRITTEN: Final = re.compile(r"Humans use only (\d+) percent of their brains\.")
_numbers: Final = count(100)


def sentence(number: int) -> str:
    """What a post says wrongly, so that what is asked about it can be told from what is asked about others."""
    return f"Humans use only {number} percent of their brains."


class Provider(OpenAIServer):
    """Finds the sentence of each post in two rounds and approves it; `bills` counts calls by sentence and step."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._page = page
        self._answered: dict[str, int] = {}
        self.bills: Counter[tuple[int, str]] = Counter()

    def turn(self, request: Request) -> Turn:
        """Write a bill and answer by what is asked, after a moment."""
        before = request.body.get("previous_response_id")
        found = _WRITTEN.search(json.dumps(request.body["input"]))
        number = self._answered[before] if before else int(found[1]) if found else 0
        self._answered[f"resp_{len(self.requests)}"] = number
        step = "review" if "tools" not in request.body else SECOND if before else FIRST
        self.bills[number, step] += 1
        thought = asyncio.Event()
        asyncio.get_running_loop().call_later(THINKS_S, thought.set)
        return Answer(self._said(step, number), gate=thought)

    def _said(self, step: str, number: int) -> tuple[Json, ...]:
        if step == "review":
            return (message(json.dumps({"approved": True, "reason": "looked"})),)
        if step == SECOND:
            return (message("Done."),)
        claim = {
            "text": sentence(number),
            "context": sentence(number),
            "summary": "It is not so.",
            "reasoning": "The source says otherwise.",
            "sources": [{"url": self._page, "title": "A source", "snippet": "It is otherwise."}],
        }
        return (call("submit_correction", claim, "call_1"),)


@dataclass
class Load:
    """What readers were told. Units: seconds since the load began."""

    system: System
    acknowledged: dict[str, int] = field(default_factory=dict)
    asked: int = 0
    refused: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)
    moments: list[float] = field(default_factory=list)
    failed: list[BaseException] = field(default_factory=list)

    async def read(self) -> None:
        """Ask for runs of new posts, one after the other."""
        async with Extension(self.system.url, api_key=KEY) as reader:
            while not self.over.is_set():
                number = next(_numbers)
                version = await self._answer(lambda number=number: reader.register(on_x(sentence(number))))  # type: ignore[misc]  # a default has no type
                if version is None:
                    continue
                run = await self._answer(
                    lambda version=version: reader.investigate(version["postVersionId"])  # type: ignore[misc]  # a default has no type
                )
                if run is not None:
                    self.acknowledged[run["investigationId"]] = number
                    self.moments.append(monotonic())

    async def _answer(self, ask: Callable[[], Awaitable[Json]]) -> Json | None:
        self.asked += 1
        try:
            return await ask()
        except RpcFailed as error:
            if error.status != 503:
                raise
        self.refused += 1
        return None

    async def goes_on(self, runs: int, *, within_s: float = WITHIN_S) -> float:
        """Wait until so many more runs were accepted; seconds until the first of them."""
        began, before = monotonic(), len(self.acknowledged)

        async def more() -> bool:
            if self.failed:
                raise self.failed[0]
            return len(self.acknowledged) >= before + runs

        await until(more, f"{runs} more runs are accepted", within_s=within_s)
        return self.moments[before] - began

    async def refuses(self, requests: int) -> bool:
        """Whether so many requests were refused by now."""
        return self.refused >= requests


@asynccontextmanager
async def load(system: System, writers: int) -> AsyncIterator[Load]:
    """Readers at work for as long as the context lasts."""
    found = Load(system)

    async def read() -> None:
        try:
            await found.read()
        except Exception as error:
            found.failed.append(error)

    tasks = [asyncio.create_task(read()) for _ in range(writers)]
    try:
        yield found
        found.over.set()
        async with asyncio.timeout(WITHIN_S):
            await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    if found.failed:
        raise found.failed[0]


async def holds(found: Load, provider: Provider, oracle: Oracle, *, refused: float = 0.05) -> None:
    """Assert that what was acknowledged is done, once, for one price, and that nothing else was given up or forged."""
    async with Extension(found.system.url, api_key=KEY) as reader:
        for run in found.acknowledged:
            await reader.result(run, within_s=WITHIN_S)
    await oracle.settled(within_s=WITHIN_S)
    for run, number in found.acknowledged.items():
        assert await oracle.once_each(run) == [sentence(number)]
    assert await oracle.dead() == []
    asked = {FIRST, SECOND, "review"}
    bills = {number: _paid(provider, number) for number in found.acknowledged.values()}
    wrong = {
        number: paid
        for number, paid in bills.items()
        if paid.keys() != asked or any(times > 1 for times in paid.values())
    }
    assert not wrong, f"paid otherwise: {wrong}"
    assert found.refused <= refused * found.asked, f"{found.refused} of {found.asked} requests were refused"
    verified = await found.system.run("ledger", "verify")
    assert verified.code == 0, verified.out + verified.err


def _paid(provider: Provider, number: int) -> dict[str, int]:
    return {step: times for (which, step), times in provider.bills.items() if which == number}
