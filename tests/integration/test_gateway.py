"""The gateway on real servers: what it is told comes back through log and read model, over a real socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text

from analyses import analysis
from contracts.topology import VERIFIER_OBSERVATION_RECEIVED
from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    Event,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationStarted,
    ObservationReceived,
)
from contracts.v1.ids import claim_id, investigation_id, post_id
from contracts.v1.parts import InvestigationInput, ModelName, PostRef, Prompt, PublishedClaim, TextRef, Usage
from kit import topology
from kit.blobs import Blobs, BlobSettings
from kit.bus import connect
from kit.clock import SystemClock
from kit.database import Database, migrate
from kit.delivery import Delivery
from kit.errors import Reject
from kit.history import history
from kit.host import Host
from kit.models.demo import DemoModel
from kit.telemetry import Telemetry
from kit.vault import MasterKey, UserKeys
from services.gateway import app as gateway
from services.gateway.settings import GatewaySettings
from services.projector import app as projector
from services.projector.settings import ProjectorSettings
from tests.support.fakes import StillClock
from tests.support.servers import Prepare, nats_server
from tests.unit.gateway.fakes import USER_KEY, data, error, payload, post_on_substack, post_on_x, registered

REGISTER = "post.registerObservedVersion"
VIEW = "post.recordViewAndGetStatus"
LOOK = "post.getInvestigation"
INVESTIGATE = "post.investigateNow"
BATCH = "post.batchStatus"
PROMPT = Prompt(version="test-1", sha256=sha256(b"look").hexdigest(), text="look")
FACT_CHECK = analysis("FACT_CHECK")
MODEL = ModelName(provider="demo", model="demo-catalogue")


def _migrate(url: str) -> None:
    asyncio.run(migrate(url))


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return _migrate


async def ingest(event: ObservationReceived, attempt: int) -> AsyncIterator[Event]:
    """Stands in for verifier and ingest: believes every reader."""
    if event.observation.url.endswith("/blank"):
        raise Reject("the page has no text")
    yield registered(event.observation)


@dataclass
class Running:
    """A gateway that serves, and the client of a reader."""

    host: Host
    http: httpx.AsyncClient

    async def mutate(self, procedure: str, body: object, **headers: str) -> httpx.Response:
        return await self.http.post(f"/trpc/{procedure}", json=body, headers=_names(headers))

    async def query(self, procedure: str, question: object) -> httpx.Response:
        return await self.http.get(f"/trpc/{procedure}", params={"input": json.dumps(question)})

    async def version(self, body: dict[str, Any]) -> UUID:
        """Register an observation."""
        return UUID(data(REGISTER, await self.mutate(REGISTER, body))["postVersionId"])

    async def tell(self, *events: Event) -> None:
        """Put facts into the log, as services do."""
        for event in events:
            await self.host.bus.publish(event, correlation=self.host.clock.new_id())


def _names(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@asynccontextmanager
async def serving(nats_url: str, database_url: str, **settings: Any) -> AsyncIterator[Running]:
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        telemetry = Telemetry()
        host = Host(
            bus=bus,
            delivery=Delivery(bus, telemetry),
            blobs=Blobs(BlobSettings("127.0.0.1:9", "none", "none", "none")),
            clock=SystemClock(),
            telemetry=telemetry,
            database_url=database_url,
            model=DemoModel(),
            user_keys=UserKeys(bus, (MasterKey.generate(),)),
        )
        host.delivery.subscribe(replace(VERIFIER_OBSERVATION_RECEIVED, answers=True), ingest, slots=1)
        await projector.build(host, ProjectorSettings())
        server = await gateway.build(host, GatewaySettings(port=0, instance_keys_denied_s=0, **settings))
        stop = asyncio.Event()
        running = asyncio.create_task(host.run(stop))
        address, port = server.address
        headers = {"x-openerrata-extension-version": "0.3.3"}
        try:
            async with httpx.AsyncClient(base_url=f"http://{address}:{port}", headers=headers, timeout=20) as http:
                yield Running(host, http)
        finally:
            stop.set()
            await running
            await host.close()


@pytest.fixture
async def running(nats_url: str, database_url: str) -> AsyncIterator[Running]:
    async with serving(nats_url, database_url) as gateway_and_client:
        yield gateway_and_client


async def add_key(database_url: str, key: str) -> None:
    """What `openerrata keys add` does."""
    operator = Database(database_url, role="operator")
    async with operator.transaction() as connection:
        await connection.execute(
            text(
                "INSERT INTO instance_api_key (id, name, key_hash, created_at, updated_at) "
                "VALUES (gen_random_uuid(), 'test', :key_hash, now(), now())"
            ),
            {"key_hash": sha256(key.encode()).hexdigest()},
        )
    await operator.close()


async def revoke_key(database_url: str, key: str) -> None:
    """What `openerrata keys revoke` does."""
    operator = Database(database_url, role="operator")
    async with operator.transaction() as connection:
        await connection.execute(
            text("UPDATE instance_api_key SET revoked_at = now() WHERE key_hash = :key_hash"),
            {"key_hash": sha256(key.encode()).hexdigest()},
        )
    await operator.close()


def started(run: UUID, version: UUID) -> InvestigationStarted:
    words = TextRef(sha256=sha256(b"Alpha beta").hexdigest(), size_bytes=10, inline="Alpha beta")
    return InvestigationStarted(
        investigation_id=run,
        version_id=version,
        post_id=post_id(PostRef(platform="X", external_id="1234567890")),
        analysis="FACT_CHECK",
        attempt=1,
        worker="test",
        input=InvestigationInput(
            provenance="CLIENT_FALLBACK", content=words, platform="X", url="https://x.com/someone/status/1234567890"
        ),
        prompt=PROMPT,
        model=MODEL,
    )


def proposed(run: UUID, version: UUID, number: int) -> ClaimProposed:
    candidate = payload(number)
    return ClaimProposed(
        investigation_id=run,
        claim_id=claim_id(run, candidate.text, candidate.context),
        version_id=version,
        analysis="FACT_CHECK",
        attempt=1,
        ordinal=number,
        payload=candidate,
    )


def approved(candidate: ClaimProposed) -> ClaimApproved:
    return ClaimApproved(
        investigation_id=candidate.investigation_id,
        claim_id=candidate.claim_id,
        version_id=candidate.version_id,
        payload=candidate.payload,
    )


def ended(run: UUID, version: UUID, *claims: ClaimProposed) -> tuple[Event, ...]:
    return (
        InvestigationDrafted(
            investigation_id=run,
            attempt=1,
            claim_ids=tuple(claim.claim_id for claim in claims),
            model=MODEL,
            usage=Usage(),
            transcript=TextRef(sha256=sha256(b"{}").hexdigest(), size_bytes=2, inline="{}"),
        ),
        InvestigationCompleted(
            investigation_id=run,
            version_id=version,
            post_id=post_id(PostRef(platform="X", external_id="1234567890")),
            analysis="FACT_CHECK",
            attempt=1,
            model=MODEL,
            claims=tuple(PublishedClaim(claim_id=claim.claim_id, payload=claim.payload) for claim in claims),
        ),
    )


async def until(condition: Any, within_s: float = 15.0) -> Any:
    """Wait until an asynchronous condition holds; its value."""
    async with asyncio.timeout(within_s):
        while True:
            if value := await condition():
                return value
            await asyncio.sleep(0.01)


@pytest.mark.requirement("2.6-01", "2.6-12", "2.6-18", "3.3-03", "3.3-08")
async def test_a_post_is_seen_investigated_and_published(running: Running, database_url: str) -> None:
    await add_key(database_url, "instance-key")
    body = post_on_x()
    answer = data(REGISTER, await running.mutate(REGISTER, body))
    version = UUID(answer["postVersionId"])

    viewed = data(VIEW, await running.mutate(VIEW, {"postVersionId": str(version)}))
    assert viewed == {"investigationState": "NOT_INVESTIGATED", "priorInvestigationResult": None}

    queued = data(
        INVESTIGATE, await running.mutate(INVESTIGATE, {"postVersionId": str(version)}, x_api_key="instance-key")
    )
    run = investigation_id(version, "FACT_CHECK")
    assert queued == {"investigationId": str(run), "status": "PENDING", "provenance": "CLIENT_FALLBACK"}
    question = {"investigationId": str(run)}
    pending = data(LOOK, await running.query(LOOK, question))
    assert (pending["investigationState"], pending["status"]) == ("INVESTIGATING", "PENDING")

    first, second = proposed(run, version, 0), proposed(run, version, 1)
    await running.tell(started(run, version), first, second, approved(second))

    async def progressed() -> Any:
        state = data(LOOK, await running.query(LOOK, question))
        return state if state["confirmedClaims"] else None

    progress = await until(progressed)
    assert progress["status"] == "PROCESSING"
    assert [claim["text"] for claim in progress["pendingClaims"]] == [first.payload.text]
    assert [claim["text"] for claim in progress["confirmedClaims"]] == [second.payload.text]
    assert (await running.http.get(f"/investigations/{run}.json")).status_code == 404

    await running.tell(approved(first), *ended(run, version, first, second))

    async def finished() -> Any:
        state = data(LOOK, await running.query(LOOK, question))
        return state if state["investigationState"] == "INVESTIGATED" else None

    complete = await until(finished)
    assert [claim["id"] for claim in complete["claims"]] == [str(first.claim_id), str(second.claim_id)]

    shown = data(VIEW, await running.mutate(VIEW, {"postVersionId": str(version)}))
    assert shown["claims"] == complete["claims"]
    again = data(
        INVESTIGATE, await running.mutate(INVESTIGATE, {"postVersionId": str(version)}, x_api_key="instance-key")
    )
    assert again["status"] == "COMPLETE"

    posts = [
        {"platform": "X", "externalId": body["externalId"], "versionHash": answer["versionHash"].upper()},
        {"platform": "X", "externalId": "2", "versionHash": answer["versionHash"]},
    ]
    for response in (await running.query(BATCH, {"posts": posts}), await running.mutate(BATCH, {"posts": posts})):
        counts = [status["incorrectClaimCount"] for status in data(BATCH, response)["statuses"]]
        assert counts == [2, 0]

    public = (await running.http.get(f"/investigations/{run}.json")).json()
    assert public["post"]["url"] == body["url"]
    assert public["investigation"]["promptVersion"] == "test-1"
    assert public["investigation"]["model"] == "demo-catalogue"
    assert len(public["claims"]) == 2


@pytest.mark.requirement("2.6-07", "2.6-13", "2.8-06", "2.8-07")
async def test_a_result_is_served_however_old_it_and_its_prompt_are(running: Running, nats_url: str) -> None:
    assert PROMPT.version not in (FACT_CHECK.prompt.version, FACT_CHECK.update_prompt.version)
    version = await running.version(post_on_x())
    run = investigation_id(version, "FACT_CHECK")
    claim = proposed(run, version, 0)
    request = InvestigationRequested(
        investigation_id=run,
        version_id=version,
        post_id=post_id(PostRef(platform="X", external_id="1234567890")),
        analysis="FACT_CHECK",
        requested_by="READER",
    )
    ten_years_ago = StillClock(datetime(2016, 1, 2, 3, 4, 5, tzinfo=UTC))
    async with connect(nats_url, name="long-ago", clock=ten_years_ago) as then:
        for fact in (request, started(run, version), claim, approved(claim), *ended(run, version, claim)):
            await then.publish(fact, correlation=run)

    async def found() -> Any:
        state = data(VIEW, await running.mutate(VIEW, {"postVersionId": str(version)}))
        return state if state["investigationState"] == "INVESTIGATED" else None

    assert [each["text"] for each in (await until(found))["claims"]] == [claim.payload.text]
    looked = data(LOOK, await running.query(LOOK, {"investigationId": str(run)}))
    assert looked["checkedAt"] == "2016-01-02T03:04:05.000Z"
    question = {"postVersionId": str(version)}
    asked = data(INVESTIGATE, await running.mutate(INVESTIGATE, question, x_openai_api_key=USER_KEY))
    assert (asked["status"], asked["investigationId"]) == ("COMPLETE", str(run))
    requests = [past for past in await history(running.host.bus, str(run)) if past.envelope.event == request]
    assert len(requests) == 1, "nothing is looked at again because it is old"


@pytest.mark.requirement("2.6-12", "2.8-01", "2.6-16")
async def test_many_readers_ask_for_one_run(running: Running) -> None:
    version = await running.version(post_on_x())
    question = {"postVersionId": str(version)}
    keys = [f"{USER_KEY}{number:02}" for number in range(30)]
    requests = (running.mutate(INVESTIGATE, question, x_openai_api_key=key) for key in keys)
    answers = [data(INVESTIGATE, response) for response in await asyncio.gather(*requests)]
    run = investigation_id(version, "FACT_CHECK")
    assert {answer["investigationId"] for answer in answers} == {str(run)}
    past = await history(running.host.bus, str(run))
    assert [type(each.envelope.event) for each in past] == [InvestigationRequested]
    assert await running.host.user_keys.open(run) in keys
    assert USER_KEY not in repr(past)


@pytest.mark.requirement("2.6-14")
async def test_a_run_that_just_failed_stays_failed(running: Running) -> None:
    version = await running.version(post_on_x())
    question = {"postVersionId": str(version)}
    await running.mutate(INVESTIGATE, question, x_openai_api_key=USER_KEY)
    run = investigation_id(version, "FACT_CHECK")
    await running.tell(
        InvestigationFailed(investigation_id=run, version_id=version, attempt=0, failure="NON_RETRYABLE", reason="test")
    )

    async def failed() -> bool:
        state = data(LOOK, await running.query(LOOK, {"investigationId": str(run)}))
        return bool(state["investigationState"] == "FAILED")

    await until(failed)
    answer = data(INVESTIGATE, await running.mutate(INVESTIGATE, question, x_openai_api_key=USER_KEY))
    assert answer["status"] == "FAILED"
    assert len(await history(running.host.bus, str(run))) == 2


async def test_a_refusal_behind_the_log_reaches_the_reader(running: Running) -> None:
    body = post_on_substack(url="https://example.substack.com/p/blank")
    body["metadata"]["slug"] = "blank"
    response = await running.mutate(REGISTER, body)
    assert error(response)["code"] == "BAD_REQUEST"
    assert response.json()["error"]["message"] == "the page has no text"


async def test_a_key_works_when_it_is_added_and_stops_when_it_is_revoked(running: Running, database_url: str) -> None:
    async def accepted() -> bool:
        response = await running.http.get("/trpc/post.validateSettings", headers={"x-api-key": "another-key"})
        return bool(data("post.validateSettings", response)["instanceApiKeyAccepted"])

    async def refused() -> bool:
        return not await accepted()

    assert await refused()
    await add_key(database_url, "another-key")
    assert await accepted()
    await revoke_key(database_url, "another-key")
    await until(refused, within_s=5)


async def test_views_are_stored_and_counted(running: Running, database_url: str) -> None:
    version = await running.version(post_on_x())
    for _ in range(3):
        await running.mutate(VIEW, {"postVersionId": str(version)})
    reader = Database(database_url, role="reader")

    async def counted() -> bool:
        async with reader.connect() as connection:
            return (await connection.execute(text("SELECT view_count, unique_view_score FROM post"))).one() == (3, 1)

    await until(counted)
    await reader.close()


async def test_a_real_socket_takes_long_urls_and_refuses_floods(running: Running) -> None:
    posts = [{"platform": "LESSWRONG", "externalId": "é" * 24, "versionHash": f"{n:064}"} for n in range(100)]
    response = await running.query(BATCH, {"posts": posts})
    assert len(response.request.url.raw_path) > 32_000
    assert len(data(BATCH, response)["statuses"]) == 100
    for body in (b"x" * 600_000, b"x" * 5_000_000):
        flood = await running.http.post(f"/trpc/{REGISTER}", content=body, headers={"content-type": "application/json"})
        assert flood.status_code == 413
        assert error(flood)["openerrataCode"] == "PAYLOAD_TOO_LARGE"
    too_old = {"content-type": "application/json", "x-openerrata-extension-version": "0.1"}
    outdated = await running.http.post(f"/trpc/{REGISTER}", content=b"x" * 500_000, headers=too_old)
    assert outdated.status_code == 412


async def test_health_over_a_real_socket(running: Running) -> None:
    assert (await running.http.get("/health")).json()["status"] == "ok"
    assert (await running.http.get("/ready")).json() == {"ready": False, "broken": ["blobs"]}, "none is here"
    assert b"openerrata_gateway_request_seconds" in running.host.telemetry.exposition()
    assert (await running.http.get("/metrics")).status_code == 404
    head = await running.http.head(f"/trpc/{LOOK}")
    assert (head.status_code, head.content) == (204, b"")


async def test_health_tells_when_the_broker_is_gone(tmp_path: Path, database_url: str) -> None:
    with nats_server(tmp_path) as broker:
        async with serving(broker.endpoints.nats_url, database_url) as running:
            version = await running.version(post_on_x())
            broker.stop()

            async def broken() -> Any:
                response = await running.http.get("/health")
                return response.json() if response.status_code == 503 else None

            assert (await until(broken))["broken"] == ["broker"]
            response = await running.mutate(VIEW, {"postVersionId": str(version)})
            assert error(response)["code"] == "SERVICE_UNAVAILABLE"
            broker.start()

            async def well() -> bool:
                return (await running.http.get("/health")).status_code == 200

            await until(well)
            assert (await running.mutate(VIEW, {"postVersionId": str(version)})).status_code == 200
