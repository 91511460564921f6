"""The job API's ports over the broker and PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final
from uuid import UUID

from contracts.jobs.receipts import PublicKeys
from contracts.topology import JOBS, MEMOS
from contracts.v1 import OnceEvent, Undecodable, decode
from contracts.v1.parts import EphemeralRef
from kit.blob_settings import BlobMissing
from kit.bus import Bus
from kit.ephemeral import EphemeralTexts
from kit.errors import Reject, Retry
from kit.history import StoredFact, read_latest, read_latest_from_leader
from kit.kv import Bucket
from kit.ordered import OrderedLog
from kit.pages import find_first_since, read_last_sequence, read_page
from kit.publisher import BusError, PublishConflict
from kit.receipts import read_keys
from services.gateway.ports import or_unavailable
from services.gateway.record.catalogue import Candidate, EntryContents, EntryRow, FlagRow
from services.gateway.record.repository import PublicRecord

PAGE: Final = 512
TEXT_TIMEOUT_S: Final = 5.0


class BusJobLog:
    """The stream `JOBS` over the broker."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def latest(self, *subjects: str, current: bool = False) -> Sequence[StoredFact]:
        look = read_latest_from_leader if current else read_latest
        with or_unavailable("broker", Retry, Reject):
            return await look(self._bus, *subjects, stream=JOBS)

    async def read(self, *patterns: str, after: int = 0) -> Sequence[StoredFact]:
        found: list[StoredFact] = []
        more = bool(patterns)
        with or_unavailable("broker", Retry, Undecodable):
            while more:
                page = await read_page(self._bus, JOBS.name, patterns, after=after, limit=PAGE)
                found.extend(StoredFact(each.sequence, decode(each.subject, each.data)) for each in page.messages)
                after, more = found[-1].sequence if found else after, page.more
        return found

    async def find_sequence(self, moment: datetime) -> int:
        with or_unavailable("broker", Retry):
            first = await find_first_since(self._bus, JOBS.name, moment)
            return await read_last_sequence(self._bus, JOBS.name) if first is None else first - 1

    async def publish(self, fact: OnceEvent, correlation: UUID) -> bool:
        return await _store(self._bus.publish(fact, correlation=correlation))

    async def publish_together(self, *facts: OnceEvent, correlation: UUID, at: datetime) -> bool:
        return await _store(self._bus.publish_together(facts, correlation=correlation, at=at))

    async def newest(self) -> int:
        with or_unavailable("broker", Retry):
            return await read_last_sequence(self._bus, JOBS.name)

    async def follow(self, after: int, patterns: Sequence[str]) -> AsyncGenerator[Sequence[str], None]:
        async for batch in OrderedLog(self._bus, JOBS.name, after + 1, subjects=patterns).batches():
            yield [message.subject for message in batch]


class BusReceiptKeys:
    """The public keys of receipts over the broker."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def read(self) -> PublicKeys:
        with or_unavailable("broker", BusError):
            return await read_keys(self._bus)


class SqlCatalogue:
    """The tables of the catalogue over PostgreSQL."""

    def __init__(self, record: PublicRecord) -> None:
        self._record = record

    async def page(
        self, text: str, after: tuple[datetime, UUID] | None, limit: int, *, hidden: bool
    ) -> Sequence[EntryRow]:
        async with self._record.open() as session:
            return await session.catalogue.page(text, after, limit, hidden=hidden)

    async def one(self, id_: UUID, *, hidden: bool) -> EntryContents | None:
        async with self._record.open() as session:
            return await session.catalogue.one(id_, hidden=hidden)

    async def sources(self, begins: str, limit: int) -> Sequence[str]:
        async with self._record.open() as session:
            return await session.catalogue.sources(begins, limit)

    async def open_flags(self, after: tuple[datetime, UUID] | None, limit: int) -> Sequence[FlagRow]:
        async with self._record.open() as session:
            return await session.catalogue.open_flags(after, limit)

    async def candidate(self, job: UUID, number: int, account: UUID) -> Candidate | None:
        async with self._record.open() as session:
            return await session.catalogue.candidate(job, number, account)


class BusMemos:
    """Extractions that serve later jobs, over the broker."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def find(self, memo_id: UUID) -> UUID | None:
        with or_unavailable("broker", BusError):
            job = await (await Bucket.open(self._bus, MEMOS)).get(str(memo_id))
        return None if job is None else UUID(job.decode())


async def _store(publishing: Awaitable[object]) -> bool:
    with or_unavailable("broker", BusError), suppress(PublishConflict):
        await publishing
        return True
    return False


class BusWords:
    """Texts that expire, over the broker."""

    def __init__(self, texts: EphemeralTexts) -> None:
        self._texts = texts

    async def put(self, text: str, until: datetime) -> EphemeralRef:
        """Store a text until the whole hour at or after `until`."""
        with or_unavailable("broker", BusError, TimeoutError):
            async with asyncio.timeout(TEXT_TIMEOUT_S):
                return await self._texts.put(text, until)

    async def get(self, ref: EphemeralRef) -> str | None:
        with suppress(BlobMissing), or_unavailable("broker", BusError, TimeoutError):
            async with asyncio.timeout(TEXT_TIMEOUT_S):
                return await self._texts.get(ref)
        return None

    async def remove(self, ref: EphemeralRef) -> None:
        with or_unavailable("broker", BusError, TimeoutError):
            async with asyncio.timeout(TEXT_TIMEOUT_S):
                await self._texts.remove(ref)

    async def remove_answers(self, step: str, until: datetime) -> None:
        with or_unavailable("broker", BusError, TimeoutError):
            async with asyncio.timeout(TEXT_TIMEOUT_S):
                await self._texts.remove_answers(step, until)
