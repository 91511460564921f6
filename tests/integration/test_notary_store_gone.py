"""The notary while the blob store is slow or gone, and while its process ends anywhere in a publication."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from kit.clock import SystemClock
from kit.database import open_session
from services.commands.log.monitor import visit
from services.notary.domain import StoredCheckpoint
from services.notary.publishing import Publisher
from services.notary.store import LogStore
from tests.integration.test_lookup_service import tell
from tests.integration.test_notary import instance, opened, prepare_database
from tests.integration.test_notary import tell as fill
from tests.support.fakes import StillClock
from tests.support.notaries import KEY, POLICY, Instance, Killed, MemoryObjects, no_witness
from tests.support.public_record import ESSAY, MOON
from tests.support.published_finding import ARTICLE, NEXT, run_of
from tests.support.system import GivenServers, System, system, until
from tests.support.tlogs import LOG_KEY
from tests.unit.projector.histories import START, Page
from tlog.checkpoint import Checkpoint
from tlog.merkle import Hash
from tlog.note import Note, Signature
from tlog.policy import Log, Policy
from tlog.tiles import Bundle, Tile

__all__ = ["instance", "prepare_database"]
pytest_plugins = ["tests.support.servers"]


class Steps:
    """Counts what a publication does, and ends its process before one step or after it."""

    def __init__(self, at: int, *, after: bool) -> None:
        self.at, self.after, self.done = at, after, 0

    def __enter__(self) -> None:
        if not self.after and self.done == self.at:
            raise Killed

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.done += 1
        if kind is None and self.after and self.done > self.at:
            raise Killed


class MortalLog:
    """A log whose user may end at each of its steps."""

    def __init__(self, log: LogStore, steps: Steps) -> None:
        self._log, self._steps = log, steps

    async def size(self) -> int:
        with self._steps:
            return await self._log.size()

    async def root(self, size: int) -> Hash:
        with self._steps:
            return await self._log.root(size)

    async def read_tile(self, tile: Tile) -> bytes:
        with self._steps:
            return await self._log.read_tile(tile)

    async def read_bundle(self, bundle: Bundle) -> bytes:
        with self._steps:
            return await self._log.read_bundle(bundle)

    async def newest(self) -> StoredCheckpoint | None:
        with self._steps:
            return await self._log.newest()

    async def find(self, size: int) -> StoredCheckpoint | None:
        with self._steps:
            return await self._log.find(size)

    async def add(self, checkpoint: StoredCheckpoint, now: datetime) -> None:
        with self._steps:
            await self._log.add(checkpoint, now)

    async def cosignatures(self, size: int) -> Sequence[Signature]:
        with self._steps:
            return await self._log.cosignatures(size)

    async def add_cosignatures(self, size: int, signatures: Sequence[Signature]) -> None:
        with self._steps:
            await self._log.add_cosignatures(size, signatures)

    async def mark_witnessed(self, size: int, now: datetime) -> None:
        with self._steps:
            await self._log.mark_witnessed(size, now)

    async def mark_published(self, size: int, now: datetime) -> None:
        with self._steps:
            await self._log.mark_published(size, now)


class MortalObjects:
    """Objects whose user may end at each of its steps."""

    def __init__(self, objects: MemoryObjects, steps: Steps) -> None:
        self._objects, self._steps = objects, steps

    async def put(self, name: str, data: bytes) -> None:
        with self._steps:
            await self._objects.put(name, data)

    async def get(self, name: str) -> bytes | None:
        with self._steps:
            return await self._objects.get(name)


async def stored_notes(url: str) -> set[bytes]:
    """Every signed note that outlasts a crash."""
    async with await open_session(url) as db:
        return {bytes(note) for (note,) in await (await db.execute("SELECT note FROM log.checkpoint")).fetchall()}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.requirement("TR-6")
async def test_a_note_is_stored_before_it_is_shown_wherever_a_publication_ends(instance: Instance, after: bool) -> None:
    """TR-6: A note is stored for good before it is shown, and there is one root of a size."""
    tape, url, objects, at, finished = opened(), instance.url, instance.objects, 0, False
    await fill(url, tape)
    while not finished:
        tape.add(*Page(f"m{at}").investigated())
        await fill(url, tape, len(tape.records) - 10)
        await instance.enter()
        steps = Steps(at, after=after)
        publisher = Publisher(
            MortalLog(instance.store, steps),
            MortalObjects(objects, steps),
            [KEY],
            POLICY,
            no_witness,
            StillClock(START),
        )
        try:
            await publisher.publish()
            finished = steps.done <= at
        except Killed:
            await instance.close()
        stored = await stored_notes(url)
        assert all(note in stored for note in objects.notes)
        at += 1
        instance = Instance(url, objects)
        await instance.enter()
        if at % 3 == 0:  # the next process may also be lucky
            while await instance.publisher.publish() is not None:
                pass
    while await instance.publisher.publish() is not None:
        pass
    await instance.close()
    assert at > 10
    notes = {Checkpoint.parse(Note.parse(each).text) for each in objects.notes}
    assert len({each.size for each in notes}) == len(notes) > 1
    assert objects.leaves() == await Instance(url, objects).leaves()


@pytest.mark.requirement("TR-6")
async def test_a_slow_or_lost_blob_store_stops_notes_and_nothing_else(tmp_path: Path) -> None:
    """TR-6: A note is stored for good before it is shown, and there is one root of a size."""
    policy = Policy((Log(LOG_KEY.verifier),))
    with GivenServers(tmp_path / "given") as servers:
        settings = {
            **servers.settings,
            "OPENERRATA_NOTARY_KEY": LOG_KEY.secret(),
            "OPENERRATA_NOTARY_PUBLISH_S": "0.2",
        }
        async with system(tmp_path / "running", **settings) as running:
            applied = await running.run("topology", "apply")
            assert applied.code == 0, applied.err
            await running.up("projector", "gateway", "notary")
            begun = await running.run("log", "init")
            assert begun.code == 0, begun.err

            async def monitored(leaves: int) -> None:
                async def is_served() -> bool:  # the gateway keeps a note for two seconds
                    report = await visit(f"{running.url}/log/v1", policy, tmp_path / "seen.json", SystemClock().now())
                    assert report.alarms == ()
                    return report.size == leaves

                await until(is_served, f"the note over {leaves} leaves is served")

            await tell(running, *run_of(ARTICLE))
            await until(lambda: is_published(running, 2), "the log is published")
            await monitored(2)
            with servers.suspended("s3"):
                await tell(running, *run_of(ESSAY))
                await until(lambda: has_leaves(running, 3), "decisions are entered meanwhile")
                await tell(running, *run_of(NEXT))
                await until(lambda: has_leaves(running, 4), "and while a publication waits")
                assert await read_size(running) == 2
                await monitored(2)
            await until(lambda: is_published(running, 4), "it goes on")
            await monitored(4)
            servers.kill("s3")
            await tell(running, *run_of(MOON))
            await until(lambda: has_leaves(running, 5), "decisions are entered meanwhile")
            assert await read_size(running) == 4
            await monitored(4)
            servers.start("s3")
            await until(lambda: is_published(running, 5), "it goes on")
            await monitored(5)


async def has_leaves(running: System, count: int) -> bool:
    """Whether the log has so many leaves."""
    async with await open_session(running.database_url) as db:
        row = await (await db.execute("SELECT count(*) FROM log.leaf")).fetchone()
    return row == (count,)


async def read_size(running: System) -> int:
    """How many leaves the newest published note covers."""
    async with await open_session(running.database_url) as db:
        found = await db.execute("SELECT max(size) FROM log.checkpoint WHERE published_at IS NOT NULL")
        row = await found.fetchone()
    return 0 if row is None or row[0] is None else int(row[0])


async def is_published(running: System, size: int) -> bool:
    """Whether a note of this size can be read."""
    return await read_size(running) == size
