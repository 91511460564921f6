"""The verifier as it is put together, between a real broker and a real site."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from contracts.v1 import CanonicalFetched, CanonicalUnavailable, Event, ObservationReceived
from contracts.v1.pages import Observation
from contracts.v1.parts import PostRef
from kit import topology
from kit.blob_settings import BlobSettings
from kit.blobs import Blobs
from kit.bus import Bus, connect
from kit.clock import SystemClock
from kit.delivery import Delivery
from kit.embedded import EmbeddedStack
from kit.history import read_history
from kit.host import Host
from kit.models.demo import DemoModel
from kit.settings import SettingsError
from kit.telemetry import Telemetry
from kit.vault import UserKeys
from services.verifier.app import build
from services.verifier.settings import load_endpoints
from tests.support.servers import nats_server
from tests.support.sites import Sites, WikiPage

NO_STORE = BlobSettings("127.0.0.1:9", "none", "none", "none")
"""Small pages travel inside their facts, so no object store is asked."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedStack]:
    with nats_server(tmp_path) as running:
        yield running


def host_on(bus: Bus) -> Host:
    telemetry = Telemetry()
    return Host(
        bus=bus,
        delivery=Delivery(bus, telemetry),
        blobs=Blobs(NO_STORE),
        clock=SystemClock(),
        telemetry=telemetry,
        database_url="",
        model=DemoModel(),
        user_keys=UserKeys(bus, ()),
    )


def observed(revision: str) -> ObservationReceived:
    return ObservationReceived(
        observation=Observation(
            observation_id=uuid4(),
            post=PostRef(platform="WIKIPEDIA", external_id="en:12"),
            url="https://en.wikipedia.org/wiki/A_page",
            metadata={"language": "en", "title": "A page", "page_id": "12", "revision_id": revision},
        )
    )


async def consequence(bus: Bus, event: ObservationReceived) -> Event:
    """The fact that follows from an observation."""
    async with asyncio.timeout(60):
        while True:
            found = await read_history(bus, event.key())
            if len(found) == 2:
                return found[1].envelope.event
            await asyncio.sleep(0.01)


@pytest.mark.requirement("2.9-02", "2.9-06")
async def test_an_observation_becomes_what_the_site_says(
    server: EmbeddedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.9-02: Wikipedia verification pinned to revision.
    2.9-06: Degraded path on fetch failure.
    """
    async with Sites(wikipedia={"77": WikiPage(12, "<p>The Earth is round.</p>")}) as sites:
        monkeypatch.setenv("OPENERRATA_VERIFIER_WIKIPEDIA_URL", f"{sites.url}/w/api.php")
        monkeypatch.setenv("OPENERRATA_VERIFIER_RETRY_BASE_S", "0.01")
        monkeypatch.setenv("OPENERRATA_VERIFIER_CONTACT_URL", "https://operator.example/")
        async with connect(server.endpoints.nats_url, name="test") as bus:
            await topology.apply(bus)
            host = host_on(bus)
            await build(host)
            stop = asyncio.Event()
            running = asyncio.create_task(host.run(stop))
            good, missing = observed("77"), observed("78")
            await bus.publish(good, correlation=uuid4())
            await bus.publish(missing, correlation=uuid4())
            fetched, unavailable = await consequence(bus, good), await consequence(bus, missing)
            stop.set()
            await asyncio.wait_for(running, 60)
            await host.close()
    assert isinstance(fetched, CanonicalFetched)
    assert fetched.page.html.inline == "<p>The Earth is round.</p>"
    assert isinstance(unavailable, CanonicalUnavailable)
    assert unavailable.reason == "not_found"
    assert sites.requests[0].headers["user-agent"] == "OpenErrata/1.0 (+https://operator.example/)"


async def test_a_private_address_is_asked_only_if_the_operator_says_so(
    server: EmbeddedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A template is not one origin: what a reader's language fills in is not the operator's word."""
    async with Sites() as sites:
        monkeypatch.setenv("OPENERRATA_VERIFIER_WIKIPEDIA_URL", f"http://{{language}}.localhost:{sites.port}/w/api.php")
        async with connect(server.endpoints.nats_url, name="test") as bus:
            await topology.apply(bus)
            host = host_on(bus)
            await build(host)
            stop = asyncio.Event()
            running = asyncio.create_task(host.run(stop))
            event = observed("77")
            await bus.publish(event, correlation=uuid4())
            fact = await consequence(bus, event)
            stop.set()
            await asyncio.wait_for(running, 60)
            await host.close()
        assert sites.connections == 0
    assert isinstance(fact, CanonicalUnavailable)
    assert fact.reason == "blocked_address"


@pytest.mark.parametrize("value", ["wikipedia.example", "file:///etc/passwd", "http://user@host/"])
def test_an_unusable_address_is_named(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("OPENERRATA_VERIFIER_SUBSTACK_URL", value)
    with pytest.raises(SettingsError, match="OPENERRATA_VERIFIER_SUBSTACK_URL"):
        load_endpoints()
