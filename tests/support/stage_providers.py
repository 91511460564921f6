"""Four providers on the loopback that answer the stages of audits, each as its own API does, and a system that asks.

What an article claims is read from the request, so that jobs may mix: every sentence like "Stone 7 of Arden weighs 40
kilograms." is a claim.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal
from uuid import UUID

import httpx

from contracts.jobs.ids import parse_job_id
from contracts.topology import JOBS
from contracts.v1 import Event
from kit.history import read_history
from tests.support.openai_server import Answer, OpenAIServer, Request, Turn, message, openai_server
from tests.support.oracle import Oracle, oracle
from tests.support.speeches import Chat, Google, Messages, Responses, Speech
from tests.support.system import Process, System, system, until

Step = Literal["extract", "analyse", "assess"]
STEPS: Final[tuple[Step, ...]] = ("extract", "analyse", "assess")
USAGE: Final = {"input_tokens": 100, "output_tokens": 50, "total_tokens": 150}
KEYS: Final = {
    name: f"sk-{name}-of-the-instance-0123456789abcdef" for name in ("anthropic", "openai", "google", "local")
}
PATHS: Final = {
    "anthropic": "/v1/messages",
    "openai": "/v1/responses",
    "google": "/v1beta/openai/chat/completions",
    "local": "/v1/chat/completions",
}
FREE: Final = {"input_usd": 0, "cached_usd": 0, "output_usd": 0, "search_usd": 0}
GEMINI: Final = ("gemini-flash-latest", "gemini-pro-latest")
PRICES: Final = json.dumps(dict.fromkeys(GEMINI, FREE))
_SPEECHES: Final[Mapping[str, type[Speech]]] = {
    "anthropic": Messages,
    "openai": Responses,
    "google": Google,
    "local": Chat,
}
_STEPS: Final[Mapping[str, Step]] = {
    "You read one article": "extract",
    "You assess one factual claim": "analyse",
    "You assess an article as a whole": "assess",
}
_CLAIM: Final = re.compile(r"Stone \d+ of \w+ weighs \d+ kilograms\.")
_ASSESSMENT: Final = {
    "thesis_follows": True,
    "missing_context": False,
    "reasoning_quality": dict.fromkeys(("evidence_strength", "logical_coherence", "transparency", "nuance"), "high"),
}
_numbers: Final = count(1)


def write_claims(many: int) -> list[str]:
    """Claims that no article has made yet."""
    return [f"Stone {next(_numbers)} of Arden weighs 40 kilograms." for _ in range(many)]


def read_job_id(job_id: str) -> UUID:
    """The id in the log of a job as the API writes it."""
    found = parse_job_id(job_id)
    assert found is not None
    return found


def find_step(request: Request) -> Step:
    """The stage that a request is about."""
    said = json.dumps(request.body)
    return next(step for words, step in _STEPS.items() if words in said)


class StageProvider(OpenAIServer):
    """Answers every stage; `trouble` comes first where there is some, and a `gate` holds a stage's answers back."""

    def __init__(self, name: str) -> None:
        super().__init__(_SPEECHES[name]())
        self.name = name
        self.trouble: defaultdict[Step, list[Turn]] = defaultdict(list)
        self.gates: dict[Step, asyncio.Event] = {}
        self.echo = ""

    def turn(self, request: Request) -> Turn:
        step = find_step(request)
        if self.trouble[step]:
            return self.trouble[step].pop(0)
        said = json.dumps(self._answer(step, request), ensure_ascii=False)
        return Answer((message(said),), usage=USAGE, gate=self.gates.get(step))

    def asked(self) -> list[Step]:
        """The stage of each request, in order; from now on they count anew."""
        found = [find_step(each) for each in self.requests]
        self.requests.clear()
        return found

    def _answer(self, step: Step, request: Request) -> dict[str, Any]:
        said = f"{self.name} says so. {self.echo}"
        if step == "extract":
            found = dict.fromkeys(_CLAIM.findall(json.dumps(request.body)))
            claims = [
                {"text": text, "is_central": True, "volatility": "TIMELESS", "queries": [f"how heavy is {text}"]}
                for text in found
            ]
            return {"language": "en", "thesis": said, "claims": claims}
        if step == "analyse":
            reading = {"description": said, "probability": None, "confidence": 0.5, "explanation": said}
            return {"scenarios": [reading], "recommended": 1}
        return {"summary": said, **_ASSESSMENT}


@dataclass
class Instance:
    """A system without an auditor, the providers, and an account that is an admin."""

    system: System
    oracle: Oracle
    providers: Mapping[str, StageProvider]
    client: httpx.AsyncClient
    started: int = 0

    @asynccontextmanager
    async def auditor(self, **settings: str) -> AsyncIterator[Process]:
        """An auditor with these settings."""
        self.started += 1
        process = await self.system.up("auditor", name=f"auditor-{self.started}", settings=settings)
        try:
            yield process
        finally:
            await process.kill()

    async def begin(self, *claims: str, **options: Any) -> str:
        """Request a job; return its id."""
        body = {"input_text": " ".join(claims), "options": {"max_claims": 10, **options}}
        answer = await self.client.post("/v1/analyze", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["job_id"])

    async def wait(self, job_id: str) -> dict[str, Any]:
        """Wait for the job's end; return the job."""

        async def over() -> dict[str, Any] | None:
            answer = await self.client.get(f"/v1/jobs/{job_id}", headers={"prefer": "wait=20"})
            assert answer.status_code == 200, answer.text
            job: dict[str, Any] = answer.json()
            return job if job["ended_at"] else None

        return await until(over, f"job {job_id} ends", within_s=120)

    async def result(self, job_id: str) -> dict[str, Any]:
        """The result of a job that succeeds."""
        job = await self.wait(job_id)
        assert job["status"] == "SUCCEEDED", job
        found: dict[str, Any] = (await self.client.get(f"/v1/jobs/{job_id}/result")).json()
        return found

    async def audit(self, *claims: str, **options: Any) -> dict[str, Any]:
        """The result of a job."""
        return await self.result(await self.begin(*claims, **options))

    async def credit(self) -> dict[str, Any]:
        """The account's credit, when no job is open."""

        async def settled() -> dict[str, Any] | None:
            found: dict[str, Any] = (await self.client.get("/v1/user/credit")).json()
            return None if found["open_jobs"] else found

        return await until(settled, "every job is settled", within_s=60)

    async def facts(self, key: str | UUID) -> list[Event]:
        """The facts of the log under a key."""
        return [fact.event for fact in await read_history(self.oracle.bus, str(key), stream=JOBS)]

    def asked(self) -> dict[str, list[Step]]:
        """By provider the stages it was asked about, since they were counted last."""
        found = {name: each.asked() for name, each in self.providers.items()}
        return {name: steps for name, steps in found.items() if steps}


@asynccontextmanager
async def instance(folder: Path, **settings: str) -> AsyncIterator[Instance]:
    """Everything but an auditor."""
    async with AsyncExitStack() as stack:
        providers = {name: StageProvider(name) for name in KEYS}
        for each in providers.values():
            await stack.enter_async_context(openai_server(each))
        given = {
            "OPENERRATA_MODEL": "openai_responses",
            "OPENERRATA_MODEL_PRICES": PRICES,
            "OPENERRATA_GATEWAY_JOBS": "on",
            "OPENERRATA_LOG_LEVEL": "debug",
            "OPENERRATA_SELECTOR_RUNS_PER_DAY": "0",
            "ANTHROPIC_API_KEY": KEYS["anthropic"],
            "ANTHROPIC_BASE_URL": providers["anthropic"].url.removesuffix("/v1"),
            "OPENAI_API_KEY": KEYS["openai"],
            "OPENAI_BASE_URL": providers["openai"].url,
            "GOOGLE_API_KEY": KEYS["google"],
            "GOOGLE_BASE_URL": f"{providers['google'].url.removesuffix('/v1')}/v1beta/openai/",
            "OPENERRATA_CHAT_BASE_URL": providers["local"].url,
            "OPENERRATA_CHAT_API_KEY": KEYS["local"],
            "OPENERRATA_CHAT_MODEL_ID": "small",
            **settings,
        }
        running = await stack.enter_async_context(system(folder, **given))
        await running.up("projector", "curator", "gateway", name="instance")
        assert (await running.run("accounts", "add", "admin", "--role", "admin", "--tier", "pro")).code == 0
        added = await running.run("keys", "add", "admin", "--account", "admin", "--right", "audit")
        assert added.code == 0, added.err
        headers = {"authorization": f"Bearer {added.out.strip()}"}
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=running.url, headers=headers, timeout=60))
        looking = await stack.enter_async_context(oracle(running.database_url, running.nats_url))
        yield Instance(running, looking, providers, client)
