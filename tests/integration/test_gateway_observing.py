"""Observations on real servers: which way they go, and that whoever was answered finds what it was told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import pytest

from contracts.topology import ERRATA, INGEST_OBSERVATION_UNVERIFIABLE
from contracts.v1 import PREFIX, ErasureOrdered, ObservationUnverifiable, decode
from contracts.v1.ids import post_id
from contracts.v1.parts import PostRef
from kit.bus import RequestRejected
from kit.direct import request_directly
from kit.host import Host
from kit.ordered import StoredMessage
from kit.pages import read_last_sequence, read_page
from services.ingest import app as ingest
from tests.support.factories import observation, text_ref
from tests.support.gateway import REGISTER, VIEW, Running, migrated, serving
from tests.support.servers import Prepare, nats_server
from tests.support.system import until
from tests.unit.gateway.fakes import data, error, post_on_substack, post_on_x

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.fixture
def broker_url(tmp_path: Path) -> Iterator[str]:
    """A broker with a log of its own."""
    with nats_server(tmp_path) as broker:
        yield broker.endpoints.nats_url


async def nobody(host: Host) -> None:
    """Nobody answers observations."""


@pytest.fixture
async def whole(broker_url: str, database_url: str) -> AsyncIterator[Running]:
    """A gateway with the real ingest behind it."""
    async with serving(broker_url, database_url, ingest.build) as running:
        yield running


async def told(running: Running) -> Sequence[StoredMessage]:
    """Everything in the log."""
    return (await read_page(running.host.bus, ERRATA.name, [">"], after=0, limit=100)).messages


def kinds(records: Sequence[StoredMessage]) -> list[str]:
    """What the facts are, without their keys."""
    return [record.subject.rpartition(".")[0].removeprefix(PREFIX) for record in records]


async def test_a_refusal_behind_the_log_reaches_the_reader(broker_url: str, database_url: str) -> None:
    async with serving(broker_url, database_url) as running:
        body = post_on_substack(url="https://example.substack.com/p/blank")
        body["metadata"]["slug"] = "blank"
        response = await running.mutate(REGISTER, body)
    assert error(response)["code"] == "BAD_REQUEST"
    assert response.json()["error"]["message"] == "the page has no text"


@pytest.mark.requirement("2.1-02", "3.5-03")
async def test_what_no_site_can_confirm_is_stored_as_a_version_and_nothing_else(whole: Running) -> None:
    """2.1-02: X posts supported.
    3.5-03: Registrations at once make one version.
    """
    response = await whole.mutate(REGISTER, post_on_x())
    version = data(REGISTER, response)["postVersionId"]
    records = await told(whole)
    assert kinds(records) == ["version.registered"]
    envelope = decode(records[0].subject, records[0].data)
    assert envelope.event.key() == version
    assert str(envelope.correlation) == response.headers["x-correlation-id"]
    assert envelope.cause is None, "what a reader does has no cause"


async def test_a_version_that_another_reader_sees_is_seen_again(whole: Running) -> None:
    body = post_on_x()
    first = await whole.version(body)
    body["metadata"] |= {"likeCount": 3}
    assert await whole.version(body) == first
    assert kinds(await told(whole)) == ["version.registered", "version.seen"]


async def test_whoever_was_answered_finds_it_at_every_gateway(broker_url: str, database_url: str) -> None:
    async with (
        serving(broker_url, database_url, ingest.build) as one,
        serving(broker_url, database_url, nobody) as other,
    ):
        for number in range(5):
            body = post_on_x(url=f"https://x.com/someone/status/{number}", externalId=str(number))
            version = await one.version(body)
            shown = data(VIEW, await other.mutate(VIEW, {"postVersionId": str(version)}))
            assert shown["investigationState"] == "NOT_INVESTIGATED"


async def test_an_observation_waits_in_the_log_while_ingest_is_away(broker_url: str, database_url: str) -> None:
    async with serving(broker_url, database_url, nobody) as alone:
        answer = asyncio.create_task(alone.version(post_on_x()))

        async def stored() -> bool:
            return await read_last_sequence(alone.host.bus, ERRATA.name) == 1

        await until(stored, "the observation is in the log")
        async with serving(broker_url, database_url, ingest.build) as whole:
            assert await answer
            assert kinds(await told(whole)) == ["observation.unverifiable", "version.registered"]


async def test_ingest_has_the_last_word_on_an_erased_post(whole: Running) -> None:
    """A gateway that has not heard of the erasure hands the post on."""
    seen = observation(post=PostRef(platform="X", external_id="1"), text=text_ref("Alpha"), html=None)
    event = ObservationUnverifiable(observation=seen)
    order = ErasureOrdered(erasure_id=uuid4(), post_id=post_id(event.observation.post), reason="asked for")
    await whole.tell(order)
    bus, correlation = whole.host.bus, uuid4()
    assert await request_directly(bus, INGEST_OBSERVATION_UNVERIFIABLE, event, correlation=correlation) is None
    with pytest.raises(RequestRejected, match="erased"):
        await bus.request(event, correlation=correlation, timeout_s=20)
    assert "version.registered" not in kinds(await told(whole))
