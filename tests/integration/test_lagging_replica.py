"""A replica that lags says that something is not there. Who would act on that asks the stream's leader."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest
from nats.aio.msg import Msg
from prometheus_client import CollectorRegistry

from contracts.topology import ERRATA
from contracts.v1 import ErasureOrdered
from kit import topology
from kit.bus import Bus
from kit.history import read_latest
from kit.web import GuardedHttpClient, Policy
from services.ingest.adapters import LogVersions
from services.investigator.adapters import EventLog
from services.investigator.pictures import Pictures
from tests.support.factories import VERSION_ID
from tests.support.fakes import MemoryTexts
from tests.support.versions import registered, sighting

pytest_plugins = ["tests.support.delivering"]


@pytest.fixture
async def lagging(bus: Bus) -> Bus:
    """A broker whose direct reads are answered by a replica that has nothing yet."""

    async def lag(message: Msg) -> None:
        await bus.client.publish(message.reply, headers={"Status": "404", "Description": "Message Not Found"})

    await bus.jetstream.update_stream(replace(topology.stream_config(ERRATA, 1), allow_direct=False))
    await bus.client.subscribe(f"$JS.API.DIRECT.GET.{ERRATA.name}.>", cb=lag)
    return bus


async def test_a_version_that_a_replica_does_not_know_yet_is_investigated(lagging: Bus) -> None:
    fact = registered(sighting(1))
    await lagging.publish(fact, correlation=uuid4())
    assert await read_latest(lagging, fact.subject()) == []
    async with GuardedHttpClient(Policy("https://contact.example/")) as http:
        pictures = Pictures(http, MemoryTexts(), CollectorRegistry(), wanted=False)
        assert await EventLog(lagging, MemoryTexts(), pictures).snapshot(VERSION_ID) is not None


async def test_an_erasure_counts_at_once_whatever_a_replica_says(lagging: Bus) -> None:
    post = uuid4()
    versions = LogVersions(lagging)
    assert not await versions.is_erased(post)
    order = ErasureOrdered(erasure_id=uuid4(), post_id=post, reason="asked for")
    await lagging.publish(order, correlation=uuid4())
    assert await versions.is_erased(post)
