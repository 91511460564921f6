"""The specified protocol as `tests/cases/protocol.json` records it, without a decision log and look-ups and with them.

Facts have a known time and ids follow from content, so answers are always the same. The extension's tests hold what it
sends in full reading against the same file, and answer with what is recorded there.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypedDict, cast
from uuid import UUID

import httpx
import pytest

from contracts.v1 import Event, LogChanged
from contracts.v1.ids import investigation_id, post_id, version_id
from contracts.v1.parts import PostRef
from kit.blob_settings import BlobSettings
from kit.blobs import Blobs
from kit.bus import connect
from kit.host import Host
from services.notary import app as notary
from tests.support.fakes import StillClock
from tests.support.gateway import Running, add_key, approved, believing, ended, migrated, proposed, serving, started
from tests.support.servers import S3, Prepare
from tests.support.system import until
from tests.support.tlogs import LOG_KEY
from tests.unit.gateway import shapes
from tests.unit.projector.histories import START, digest

pytest_plugins = ["tests.support.servers"]

VERSION: Final = version_id(post_id(PostRef(platform="X", external_id="1234567890")), digest(digest("Alpha beta")))
RUN: Final = investigation_id(VERSION, "FACT_CHECK")
FIRST, SECOND = proposed(RUN, VERSION, 0), proposed(RUN, VERSION, 1)
STAGES: Final = ("registered", "requested", "progressed", "finished")
PUBLISHED: Final = "0.3.3"
OF_THE_MOMENT: Final = {"date", "content-length", "server", "x-correlation-id"}


class Request(TypedDict):
    """What a client sends."""

    method: str
    path: str
    headers: dict[str, str]
    body: str | None


class Response(TypedDict):
    """What a client reads: never an error's message, which is for people."""

    status: int
    headers: dict[str, str]
    body: Any


class Exchange(TypedDict):
    """A request and its answer. Shapes: `stage` says what has happened before."""

    name: str
    stage: str
    request: Request
    response: Response


RECORDED: Final = cast(
    list[Exchange], json.loads((Path(__file__).parents[1] / "cases" / "protocol.json").read_text("utf-8"))
)


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@asynccontextmanager
async def gateway(nats_url: str, database_url: str, s3: S3 | None) -> AsyncIterator[Running]:
    """A gateway; with a store there is a notary beside it, whose log has begun and whose look-ups are there."""

    async def behind(host: Host) -> None:
        await believing(host)
        if s3 is not None:
            host.blobs = Blobs(
                BlobSettings(s3.endpoint.removeprefix("http://"), s3.access_key, s3.secret_key, s3.bucket)
            )
            await notary.build(host)

    async with serving(nats_url, database_url, behind) as running:
        await add_key(database_url, "instance")
        if s3 is not None:
            await running.tell(LogChanged(origin=LOG_KEY.name, what="OPENED", keys=(str(LOG_KEY.verifier),)))
            await served(running, "/log/v1/checkpoint", "/lookup/v1/layout.json")
        yield running


async def served(running: Running, *paths: str) -> None:
    """Wait until there is something at each address."""
    for path in paths:

        async def there(path: str = path) -> bool:
            return (await running.http.get(path)).status_code == 200

        await until(there, f"there is {path}")


async def reach(stage: str, running: Running, nats_url: str, *, logged: bool) -> None:
    """Let happen what has happened at a stage."""

    async def shown() -> bool:
        answer = await running.query("post.getInvestigation", {"investigationId": str(RUN)})
        state = answer.json()["result"]["data"]
        return bool(state.get("confirmedClaims" if stage == "progressed" else "checkedAt"))

    async def corroborated() -> bool:
        answer = await running.query("public.getInvestigation", {"investigationId": str(RUN)})
        public = answer.json()["result"]["data"]
        return public is not None and public["investigation"]["corroborationCount"] == 1

    if stage == "progressed":
        await tell(nats_url, started(RUN, VERSION), FIRST, SECOND, approved(SECOND))
        await until(shown, "a claim is confirmed")
    elif stage == "finished":
        await tell(nats_url, approved(FIRST), *ended(RUN, VERSION, FIRST, SECOND))
        await until(shown, "the result is there")
        await until(corroborated, "its readers are counted, who are in another stream")
        if logged:
            await served(running, f"/log/v1/proof/{RUN}", "/lookup/v1/b0/all")


async def tell(nats_url: str, *events: Event) -> None:
    """Put facts into the log, all at a time that is known."""
    async with connect(nats_url, name="test", clock=StillClock(START)) as bus:
        for event in events:
            await bus.publish(event, correlation=UUID(int=1))


async def answer(http: httpx.AsyncClient, request: Request) -> Response:
    """What a client reads in the answer to a request."""
    sent = http.build_request(
        request["method"], request["path"], headers=request["headers"], content=request["body"] or ""
    )
    response = await http.send(sent)
    headers = {name: value for name, value in response.headers.items() if name not in OF_THE_MOMENT}
    body = json.loads(response.content) if response.content else None
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        del body["error"]["message"]
    return Response(status=response.status_code, headers=headers, body=body)


async def replay(running: Running, nats_url: str, *, logged: bool) -> list[Exchange]:
    """Send every recorded request in its order, and get what is answered now."""
    exchanges: list[Exchange] = []
    async with httpx.AsyncClient(base_url=running.http.base_url, timeout=20, trust_env=False) as http:
        http.headers.clear()
        for stage in STAGES:
            await reach(stage, running, nats_url, logged=logged)
            for each in (recorded for recorded in RECORDED if recorded["stage"] == stage):
                response = await answer(http, each["request"])
                exchanges.append(cast(Exchange, each | {"response": response}))
    return exchanges


@pytest.mark.requirement("TR-28")
@pytest.mark.parametrize("logged", [False, True], ids=["without a log", "with a log"])
async def test_every_recorded_request_has_its_recorded_answer(
    nats_url: str, database_url: str, s3: S3, monkeypatch: pytest.MonkeyPatch, *, logged: bool
) -> None:
    """TR-28: The specified protocol is unchanged for full reading and for other clients."""
    monkeypatch.setenv("OPENERRATA_NOTARY_KEY", LOG_KEY.secret())
    monkeypatch.setenv("OPENERRATA_NOTARY_PUBLISH_S", "0.2")
    async with gateway(nats_url, database_url, s3 if logged else None) as running:
        exchanges = await replay(running, nats_url, logged=logged)
    assert exchanges == RECORDED


@pytest.mark.requirement("TR-28")
def test_the_recorded_answers_are_what_the_published_extension_accepts() -> None:
    """TR-28: The specified protocol is unchanged for full reading and for other clients."""
    accepted = set()
    for each in RECORDED:
        procedure = each["request"]["path"].removeprefix("/trpc/").partition("?")[0]
        is_published = each["request"]["headers"].get("x-openerrata-extension-version") == PUBLISHED
        if is_published and each["response"]["status"] == 200:
            shapes.check(procedure, each["response"]["body"]["result"]["data"])
            accepted.add(procedure)
    assert len(accepted) == 6
