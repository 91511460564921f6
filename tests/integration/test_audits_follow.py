"""Audits on real servers: from the stream and the bucket of words into the tables, and out of all by an erasure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import nats.js.errors
import pytest
from prometheus_client import CollectorRegistry, Gauge

from contracts.topology import AUDITOR_JOB_REQUESTED, DEAD, JOBS
from contracts.v1 import RunFailed
from contracts.v1.ids import step_run_id
from contracts.v1.parts import EphemeralRef, ephemeral_place
from kit import dead_letters, topology
from kit.blob_settings import BlobSettings
from kit.blobs import Blobs
from kit.bus import Bus, connect
from kit.database import Database
from kit.ephemeral import TextBucket
from services.commands.erase import Erasing, StoreEraser
from services.projector.adapters import BusLog, StoredTexts
from services.projector.erasure.erase import find_ephemeral
from services.projector.erasure.root import JOB
from services.projector.follow import Follower, Metrics
from services.projector.ledger.verify import verify
from services.projector.rebuild.shadow import shadow
from services.projector.store.projection import jobs_projection
from services.projector.store.store import KEY_LOOKUP_OPTIONS, Store
from tests.integration.readmodel_tables import ANALYSES, everything, owner, prepare, store_at
from tests.support.servers import S3, Prepare, nats_server
from tests.unit.projector.audit_histories import CANARY, Instance, one_job
from tests.unit.projector.histories import uid

pytest_plugins = ["tests.support.servers"]

DEADLINE_S = 60.0
MINE = uid("job")


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[Bus]:
    with nats_server(tmp_path) as server:
        async with connect(server.endpoints.nats_url, name="test") as connected:
            await topology.apply(connected)
            yield connected


@pytest.fixture
def blobs(s3: S3) -> Iterator[Blobs]:
    store = Blobs(BlobSettings(s3.endpoint.partition("//")[2] or s3.endpoint, s3.access_key, s3.secret_key, s3.bucket))
    yield store
    store.close()


async def store_words(texts: TextBucket, instance: Instance) -> list[EphemeralRef]:
    """Put everything that the facts refer to where it lies; and an answer that no fact names."""
    refs = [ref for event, _ in instance.events for ref in find_ephemeral(event)]
    for ref in refs:
        await texts.put(ref.name, instance.tape.words[ref.sha256].encode())
    return refs


async def follow(bus: Bus, blobs: Blobs, url: str, upto: int) -> None:
    """Project the stream up to a sequence."""
    session = partial(Database(url, role="projector").session, options=KEY_LOOKUP_OPTIONS)
    store = Store(session, StoredTexts(blobs, TextBucket(bus)), [jobs_projection()])
    metrics = Metrics(CollectorRegistry(), Gauge("position", "", ("stream",), registry=None))
    task = asyncio.create_task(Follower(JOBS.name, store, BusLog(bus), metrics).run())
    look = store_at(url)
    async with asyncio.timeout(DEADLINE_S):
        while await look.position(JOBS.name) < upto:  # noqa: ASYNC110 (the database does not say it)
            await asyncio.sleep(0.01)  # between two looks at the position
    task.cancel()
    await asyncio.wait([task])
    await look.close()


async def exists(texts: TextBucket, ref: EphemeralRef) -> bool:
    return await texts.get(ref.name) is not None


@pytest.mark.requirement("FH-176", "FH-177")
async def test_from_the_stream_to_the_tables_and_out_of_everything(bus: Bus, blobs: Blobs, database_url: str) -> None:
    """FH-176: Words with an expiry are in no backup
    FH-177: Jobs, assertions, entries and accounts can be erased
    """
    instance = one_job()
    texts = TextBucket(bus)
    refs = await store_words(texts, instance)
    assert await blobs.names() == {}, "what a backup copies"
    for event, _ in instance.events:
        await bus.publish(event, correlation=uid("c"))
    upto = len(instance.events)
    await follow(bus, blobs, database_url, upto)
    found = await everything(database_url)
    assert found["position"] == [{"stream": "JOBS", "sequence": upto}]
    assert {row["canonical"] for row in found["assertion"]} == {"ships sail.", "lamps burn."}
    assert len(found["evidence"]) == 8
    assert CANARY not in str(found)
    async with await owner(database_url) as db:
        assert (await verify(db, BusLog(bus))).ok
    assert await shadow(database_url, StoredTexts(blobs, texts), analyses=ANALYSES) == []

    headers = {dead_letters.STREAM: JOBS.name, dead_letters.SEQUENCE: "3"}
    letter = await bus.jetstream.get_msg(JOBS.name, 3)
    await bus.jetstream.publish(AUDITOR_JOB_REQUESTED.dead_letter_subject, letter.data or b"", headers=headers)
    run = step_run_id(MINE, "CLAIM_AUDIT/extract")
    unnamed = ephemeral_place(refs[0].until, str(run))
    await texts.put(f"{unnamed}/second/{'0' * 64}/6", CANARY.encode())
    late = RunFailed(
        run_id=run,
        attempt=0,
        failure="TRANSIENT",
        reason="cut_short",
        transcript=EphemeralRef(sha256="0" * 64, size_bytes=1, until=refs[0].until, answers=f"{run}/first"),
    )
    await bus.publish(late, correlation=uid("c"))

    async with await owner(database_url) as db:
        following = asyncio.create_task(follow(bus, blobs, database_url, upto + 2))
        done = await Erasing(db, StoreEraser(bus, blobs)).erase(JOB, MINE, "ASKED_FOR")
        await following
        assert done.facts == 11
        assert (await verify(db, BusLog(bus))).ok
    mine = [ref for ref in refs if CANARY in instance.tape.words[ref.sha256]]
    others = [ref for ref in refs if ref not in mine]
    of_analyses = {ref for event, _ in instance.events if "assertion" in event.SUBJECT for ref in find_ephemeral(event)}
    assert not any([await exists(texts, ref) for ref in mine if ref not in of_analyses])
    assert all([await exists(texts, ref) for ref in others])
    assert await texts.names(unnamed) == []
    assert (await bus.jetstream.stream_info(DEAD.name)).state.messages == 0
    with pytest.raises(nats.js.errors.NotFoundError):
        await bus.jetstream.get_msg(JOBS.name, 3)
    assert not (await everything(database_url))["job"]
    assert await shadow(database_url, StoredTexts(blobs, texts), analyses=ANALYSES) == []
