"""The whole system in one process over real, durable servers, with what it costs in CPU and memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import psutil
from pydantic import SecretStr

from contracts.v1.parts import ClaimPayload, ModelName, Source, Usage
from kit.embedded import EmbeddedStack
from kit.host import Host
from kit.models.base import Finished, InvestigationBrief, KeyAccepted, KeyStatus, ReviewBrief, Submission, Verdict
from kit.settings import Infrastructure
from kit.surroundings import Surroundings, surroundings
from kit.telemetry import configure_logging
from services.commands.process import SERVICES, Plan, assembled

SENTENCES = ("The first sentence is wrong.", "The second sentence is wrong.", "The third sentence is fine.")
FILLER = " ".join(f"Sentence number {n} only fills the page." for n in range(45))


def article(number: int) -> str:
    """About 2 KB of text, different for each number, with three sentences the model submits."""
    return f"Article {number}. {' '.join(SENTENCES)} {FILLER}"


class InstantModel:
    """A model without latency: submits three claims, of which the reviewer approves two."""

    name = ModelName(provider="bench", model="instant")
    labelled_demo = True

    async def investigate(
        self, brief: InvestigationBrief, key: SecretStr | None = None
    ) -> AsyncGenerator[Submission | Finished, None]:
        for number, sentence in enumerate(SENTENCES):
            source = Source(url="https://example.org/source", title="A source", snippet="It says otherwise.")
            yield Submission(
                str(number),
                ClaimPayload(text=sentence, context=sentence, summary="No.", reasoning="Because.", sources=(source,)),
            )
        yield Finished(Usage(), self.name, b"{}", None, "")

    async def review(self, brief: ReviewBrief, key: SecretStr | None = None) -> Verdict:
        return Verdict("wrong" in brief.claim.text, "it is fine", Usage(), self.name, b"{}")

    async def probe(self, key: SecretStr) -> KeyStatus:
        return KeyAccepted()


@dataclass
class Cost:
    """CPU seconds by process name, and wall seconds."""

    cpu_s: dict[str, float]
    wall_s: float = 0.0

    @property
    def total_s(self) -> float:
        return sum(self.cpu_s.values())

    def per(self, count: int) -> str:
        """CPU milliseconds for each of `count`, by process."""
        parts = "  ".join(f"{name} {seconds / count * 1e3:.2f}" for name, seconds in self.cpu_s.items())
        return f"{self.total_s / count * 1e3:.2f} CPU ms each ({parts})"


@contextmanager
def servers(folder: Path) -> Iterator[Surroundings]:
    """Embedded servers as in production: nothing is acknowledged before it is written."""
    os.environ["OPENERRATA_MODEL"] = "demo"
    os.environ["OPENERRATA_GATEWAY_PORT"] = "0"
    os.environ["OPENERRATA_SELECTOR_BUDGET_PER_DAY"] = "0"
    configure_logging((folder / "services.log").open("w"))
    with surroundings(Infrastructure(), folder / "data") as found:
        yield found


@asynccontextmanager
async def system(found: Surroundings) -> AsyncIterator[Host]:
    """All services, running."""
    stop = asyncio.Event()
    async with assembled(Plan(SERVICES), found, model=InstantModel()) as host:
        running = asyncio.create_task(host.run(stop))
        try:
            yield host
        finally:
            stop.set()
            await running


@contextmanager
def measured(stack: EmbeddedStack | None) -> Iterator[Cost]:
    """Count the CPU time of this process and of each server, its helpers included."""
    before, began, cost = _cpu(stack), perf_counter(), Cost({})
    yield cost
    after = _cpu(stack)
    cost.wall_s = perf_counter() - began
    cost.cpu_s = {name: after[name] - before[name] for name in after}


def _cpu(stack: EmbeddedStack | None) -> dict[str, float]:
    pids = {"python": os.getpid(), **(stack.pids if stack else {})}
    return {name: _process_cpu(pid, children=name != "python") for name, pid in pids.items()}


def _process_cpu(pid: int, *, children: bool) -> float:
    process = psutil.Process(pid)
    total = 0.0
    for one in [process, *(process.children(recursive=True) if children else [])]:
        try:
            times = one.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total
