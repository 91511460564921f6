"""The whole system over real, durable servers, in one process or several, with a model that costs nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr
from sqlalchemy import Engine, event

from analyses.flagging import Review
from contracts.v1.parts import ClaimPayload, ModelName, Source, Usage
from kit.host import Host
from kit.models.base import Brief, ClaimInDoubt, Decision, Finished, KeyAccepted, KeyStatus
from kit.servers_in_use import Servers, find_servers
from kit.settings import Infrastructure
from kit.telemetry import configure_logging
from services.commands.process import SERVICES, Plan, assemble
from services.commands.shared import run
from tests.bench.audit_model import answer_step
from tests.bench.child import Child, obey

SENTENCES = ("The first sentence is wrong.", "The second sentence is wrong.", "The third sentence is fine.")
FILLER = " ".join(f"Sentence number {n} only fills the page." for n in range(45))


def article(number: int) -> str:
    """About 2 KB of text, different for each number, with three sentences the model submits."""
    return f"Article {number}. {' '.join(SENTENCES)} {FILLER}"


class InstantModel:
    """A model without latency: submits three claims, of which the reviewer approves two; and the steps of an audit."""

    name = ModelName(provider="bench", model="instant")
    labelled_demo = True
    sees_pictures = False

    async def converse(self, brief: Brief[Any, Any], key: SecretStr | None = None) -> AsyncGenerator[Any, None]:
        if isinstance(brief.subject, ClaimInDoubt):
            wrong = "wrong" in brief.subject.claim.text
            yield Finished(Review(wrong, "it is fine"), Usage(), self.name, b"{}")
            return
        if brief.subject is None:
            yield await answer_step(brief, self.name)
            return
        for number, sentence in enumerate(SENTENCES):
            source = Source(url="https://example.org/source", title="A source", snippet="It says otherwise.")
            yield Decision(
                str(number),
                ClaimPayload(text=sentence, context=sentence, summary="No.", reasoning="Because.", sources=(source,)),
            )
        yield Finished(None, Usage(), self.name, b"{}")

    async def probe(self, key: SecretStr) -> KeyStatus:
        return KeyAccepted()


@contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    """Embedded servers that are as durable as in production: nothing is acknowledged before it is written."""
    os.environ["OPENERRATA_MODEL"] = "demo"
    os.environ["OPENERRATA_GATEWAY_PORT"] = "0"
    os.environ["OPENERRATA_SELECTOR_RUNS_PER_DAY"] = "0"
    configure_logging((folder / "services.log").open("a"))
    own = Infrastructure(nats_url=None, database_url=None, s3_endpoint=None)  # never what the environment names
    with find_servers(own, folder / "data") as found:
        yield found


@asynccontextmanager
async def system(found: Servers, services: Sequence[str] = SERVICES) -> AsyncIterator[Host]:
    """Our services running in this process, all of them unless some are named."""
    stop = asyncio.Event()
    async with assemble(Plan(tuple(services)), found, model=InstantModel()) as host:
        running = asyncio.create_task(host.run(stop))
        try:
            yield host
        finally:
            stop.set()
            await running


def start(found: Servers, log: Path, *services: str) -> Child:
    """Services in a process of their own, over servers whose streams and tables are there already.

    It says the gateway's address when it is ready, and how many SQL statements it has sent whenever it is asked.
    """
    return Child(_serve, replace(found, stack=None), log, services)


def _serve(pipe: Connection, found: Servers, log: Path, services: Sequence[str]) -> None:
    configure_logging(log.open("a"))
    run(_serve_until_told(pipe, found, services))


async def _serve_until_told(pipe: Connection, found: Servers, services: Sequence[str]) -> None:
    statements = 0

    def count(*_: object) -> None:
        nonlocal statements
        statements += 1

    event.listen(Engine, "before_cursor_execute", count)
    async with system(found, services) as host:
        at = urlsplit(host.public_url)
        pipe.send((at.hostname, at.port))
        await obey(pipe, lambda question: statements)
