"""The reader's requests against the raw limit: the gateway in one process, the services behind it in another."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from itertools import count, islice
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from contracts.v1.ids import investigation_id
from kit import topology
from kit.bus import connect
from kit.database import migrate
from kit.servers_in_use import Servers
from platforms.identity import content_hash, occurrences_hash, version_hash
from services.commands.process import SERVICES
from services.gateway.settings import GatewaySettings
from tests.bench import load, raw
from tests.bench.child import Child
from tests.bench.field import Field
from tests.bench.report import Report, at_most
from tests.bench.rig import SENTENCES, servers, start

REGISTER = "post.registerObservedVersion"
VIEW = "post.recordViewAndGetStatus"
IDLE_OBSERVATIONS = 200
LISTED = 100
ANALYSIS = "FACT_CHECK"
USER_KEY = "sk-bench0123456789abcdefghij"
AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
FILLER = " ".join(f"Sentence number {n} only fills the post." for n in range(15))

_fresh = count(1_000_000_000_000)


def bench(folder: Path, report: Report) -> None:
    """View, repeated observation and new observation at 32 connections; then observations with nothing else to do."""
    report.head("gateway, 32 connections, each fact stored durably before the answer")
    with servers(folder) as found, ExitStack() as processes:
        asyncio.run(prepare(found))
        log = folder / "services.log"
        rest = processes.enter_context(start(found, log, *SERVICES[:-1]))
        rest.hear()
        gateway = processes.enter_context(start(found, log, SERVICES[-1]))
        limit = processes.enter_context(Child(raw.main, found.nats_url))
        sender, bare = processes.enter_context(Child(load.main)), request("", json.dumps(post(1)).encode())
        field = Field(gateway, gateway.hear(), limit, limit.hear(), sender, report, bare)
        seen = json.dumps(post(next(_fresh))).encode()
        version = asyncio.run(_investigated(field.url, seen))
        viewed = json.dumps({"postVersionId": version}).encode()

        field.warm_up([request(VIEW, viewed)], again=True)
        before = gateway.ask("statements")
        views = field.compare("view of an investigated version", lambda: [request(VIEW, viewed)], again=True, share=0.8)
        report.line(f"  SQL statements in {views:,} views", gateway.ask("statements") - before, "", target=at_most(0))
        poll = query("post.getInvestigation", {"investigationId": str(investigation_id(UUID(version), ANALYSIS))})
        field.warm_up([poll], again=True)
        field.compare("poll of a finished investigation", lambda: [poll], again=True, cpu_ms=0.15)
        listed = query("post.batchStatus", {"posts": [name(post(number)) for number in islice(_fresh, LISTED)]})
        field.warm_up([listed], again=True)
        field.compare(f"status of {LISTED} posts", lambda: [listed], again=True, cpu_ms=1.0)
        field.warm_up([request(REGISTER, seen)], again=True)
        field.compare("repeated observation", lambda: [request(REGISTER, seen)], again=True, share=0.5)
        field.compare(
            "new observation of an X post", lambda: list(islice(observations(), 8_000)), again=False, share=0.4
        )
        _idle(field, report)


def _idle(field: Field, report: Report) -> None:
    with report.watched() as speed:
        alone = field.one_by_one(list(islice(observations(), IDLE_OBSERVATIONS)))
    report.line("new observation, one at a time, p50", alone.percentile_ms(50), "ms", target=at_most(15), speed=speed)
    report.line("  p99", alone.percentile_ms(99), "ms", target=at_most(40), speed=speed)


async def prepare(found: Servers) -> None:
    """Streams and tables."""
    await migrate(found.database_url)
    async with connect(found.nats_url, name="bench") as bus:
        await topology.apply(bus)
        await bus.jetstream.add_stream(name=raw.STREAM, subjects=[raw.SUBJECT])


async def _investigated(url: str, seen: bytes) -> str:
    """Register a post and have it investigated; return its version."""
    headers = {
        "x-openerrata-extension-version": "0.3.3",
        "x-openai-api-key": USER_KEY,
        "content-type": "application/json",
    }
    async with httpx.AsyncClient(base_url=f"{url}/trpc/", headers=headers, timeout=30, trust_env=False) as reader:

        async def mutate(procedure: str, body: bytes) -> dict[str, Any]:
            answer = (await reader.post(procedure, content=body)).raise_for_status().json()
            data: dict[str, Any] = answer["result"]["data"]
            return data

        version: str = (await mutate(REGISTER, seen))["postVersionId"]
        question = json.dumps({"postVersionId": version}).encode()
        await mutate("post.investigateNow", question)
        deadline = monotonic() + 30
        while (await mutate(VIEW, question))["investigationState"] != "INVESTIGATED":
            if monotonic() > deadline:
                raise TimeoutError("the investigation did not end")
            await asyncio.sleep(0.05)
    return version


def observations() -> Iterator[bytes]:
    """Requests that observe posts nobody has seen."""
    for number in _fresh:
        yield request(REGISTER, json.dumps(post(number)).encode())


def post(number: int) -> dict[str, Any]:
    """A post on X, about 2 KB as JSON, different for each number, with three sentences the model submits."""
    text = f"Post {number}. {' '.join(SENTENCES)} {FILLER}"
    return {
        "platform": "X",
        "url": f"https://x.com/someone/status/{number}",
        "externalId": str(number),
        "observedContentText": text,
        "metadata": {"authorHandle": "someone", "text": text, "mediaUrls": []},
    }


def name(seen: dict[str, Any]) -> dict[str, str]:
    """A version by its content, as pages that list posts name it."""
    hashed = version_hash(content_hash(seen["observedContentText"]), occurrences_hash(()))
    return {"platform": seen["platform"], "externalId": seen["externalId"], "versionHash": hashed}


def query(procedure: str, question: dict[str, Any]) -> bytes:
    """A question as the extension sends it, on the wire."""
    return (
        f"GET /trpc/{procedure}?input={quote(json.dumps(question))} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        f"user-agent: {AGENT}\r\naccept: */*\r\nx-openerrata-extension-version: 0.3.3\r\n\r\n"
    ).encode()


def request(procedure: str, body: bytes, *, key: str | None = None) -> bytes:
    """A call as the extension sends it, on the wire; with the reader's `key` for a model."""
    paid = "" if key is None else f"x-openai-api-key: {key}\r\n"
    head = (
        f"POST /trpc/{procedure} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"user-agent: {AGENT}\r\naccept: */*\r\norigin: chrome-extension://abcdefghijklmnop\r\n"
        f"x-openerrata-extension-version: 0.3.3\r\n"
        f"x-openerrata-signature: {hmac.digest(_secret(), body, 'sha256').hex()}\r\n"
        f"{paid}content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@cache
def _secret() -> bytes:
    return GatewaySettings().hmac_secret.get_secret_value().encode()
