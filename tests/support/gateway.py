"""A gateway on real servers, with the projector behind it and a stand-in that answers observations."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

import httpx
from sqlalchemy import text

from analyses import flagging_kind
from contracts.topology import INGEST_OBSERVATION_UNVERIFIABLE, VERIFIER_OBSERVATION_RECEIVED
from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    Event,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationStarted,
)
from contracts.v1.ids import claim_id, post_id
from contracts.v1.observation import ObservationEvent
from contracts.v1.parts import InvestigationInput, ModelName, PostRef, Prompt, PublishedClaim, TextRef, Usage
from kit import topology
from kit.blob_settings import BlobSettings
from kit.blobs import Blobs
from kit.bus import connect
from kit.clock import SystemClock
from kit.database import Database, migrate
from kit.delivery import Delivery
from kit.errors import Reject
from kit.host import Host
from kit.models.demo import DemoModel
from kit.telemetry import Telemetry
from kit.vault import MasterKey, UserKeys
from services.gateway import app as gateway
from services.gateway.settings import GatewaySettings
from services.projector import app as projector
from services.projector.settings import ProjectorSettings
from tests.unit.gateway.fakes import data, payload, registered

REGISTER = "post.registerObservedVersion"
VIEW = "post.recordViewAndGetStatus"
LOOK = "post.getInvestigation"
INVESTIGATE = "post.investigateNow"
BATCH = "post.batchStatus"
PROMPT = Prompt(version="test-1", sha256=sha256(b"look").hexdigest(), text="look")
FACT_CHECK = flagging_kind("FACT_CHECK")
MODEL = ModelName(provider="demo", model="demo-catalogue")


def migrated(url: str) -> None:
    """Migrate an empty database to the schema that the services expect."""
    asyncio.run(migrate(url))


async def _believe(event: ObservationEvent, delivery_count: int) -> AsyncIterator[Event]:
    if event.observation.url.endswith("/blank"):
        raise Reject("the page has no text")
    yield registered(event.observation)


async def believing(host: Host) -> None:
    """Stands in for verifier and ingest: believes every reader."""
    for consumer in (replace(VERIFIER_OBSERVATION_RECEIVED, answers=True), INGEST_OBSERVATION_UNVERIFIABLE):
        host.delivery.subscribe(consumer, _believe, slots=1)


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


UNLIMITED: Final = {"port": 0, "instance_keys_denied_s": 0, "key_checks_burst": 1_000, "own_key_runs": 1_000}
"""Every test is one network."""


@asynccontextmanager
async def serving(
    nats_url: str, database_url: str, behind: Callable[[Host], Awaitable[None]] = believing, **settings: Any
) -> AsyncIterator[Running]:
    """A gateway, a projector, and what answers observations."""
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        telemetry, keys = Telemetry(), (MasterKey.generate(),)
        host = Host(
            bus=bus,
            delivery=Delivery(bus, telemetry),
            blobs=Blobs(BlobSettings("127.0.0.1:9", "none", "none", "none")),
            clock=SystemClock(),
            telemetry=telemetry,
            database_url=database_url,
            model=DemoModel(),
            user_keys=UserKeys(bus, keys),
            master_keys=keys,
        )
        await behind(host)
        await projector.build(host, ProjectorSettings())
        server = await gateway.build(host, GatewaySettings(**{**UNLIMITED, **settings}))
        stop = asyncio.Event()
        running = asyncio.create_task(host.run(stop))
        address, port = server.address
        headers = {"x-openerrata-extension-version": "0.3.3"}
        try:
            # The server closes what is idle for five seconds: nothing that is nearly as old is used again.
            limits = httpx.Limits(keepalive_expiry=1)
            async with httpx.AsyncClient(
                base_url=f"http://{address}:{port}", headers=headers, timeout=20, verify=False, limits=limits
            ) as http:
                yield Running(host, http)
        finally:
            stop.set()
            await running
            await host.close()


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
