"""The projector's ports over NATS and S3."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeVar

from sqlalchemy import select

from contracts.readmodel.ledger import position
from contracts.topology import JOBS
from contracts.v1.event import PREFIX
from contracts.v1.parts import EphemeralRef, TextRef
from kit.blob_settings import BlobMissing
from kit.blobs import Blobs
from kit.bus import Bus
from kit.database import Database
from kit.ephemeral import TextBucket, read
from kit.ordered import OrderedLog, StoredMessage
from services.projector.ports import Extent

Ref = TypeVar("Ref", TextRef, EphemeralRef)
AWAITED_PREFIXES: Final = tuple(f"{PREFIX}{aggregate}." for aggregate in ("version", "erasure", "entity_erasure"))
"""Subjects whose batches are not delayed: readers wait for their observation in the read model, operators for an
erasure."""
UNHURRIED: Final = frozenset({JOBS.name})
"""Streams whose batches are always delayed: the job API answers from the stream, not from these tables."""


class StoredTexts:
    """Reads texts from the blob store, and expiring texts from the broker's bucket."""

    def __init__(self, blobs: Blobs, words: TextBucket | None) -> None:
        """Shapes: `words` is None if there is no such bucket, as after a restore."""
        self._blobs = blobs
        self._words = words

    async def fetch(self, refs: Iterable[TextRef]) -> dict[str, str]:
        """Fetch concurrently; missing and invalid texts are left out."""
        return await _fetch(refs, self._blobs.get_text)

    async def fetch_words(self, refs: Iterable[EphemeralRef]) -> dict[str, str]:
        """Fetch expiring texts in the same way."""
        return {} if self._words is None else await _fetch(refs, partial(read, self._words))


async def _fetch(refs: Iterable[Ref], get: Callable[[Ref], Awaitable[str]]) -> dict[str, str]:
    async def fetch(ref: Ref) -> tuple[str, str | None]:
        try:
            return ref.sha256, await get(ref)
        except (BlobMissing, UnicodeDecodeError):
            return ref.sha256, None

    found = await asyncio.gather(*map(fetch, refs))
    return {sha256: text for sha256, text in found if text is not None}


class AppliedPosition:
    """The position of the live tables, over a connection of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def position(self, stream: str) -> int:
        """The last sequence of the stream that is applied."""
        async with self._database.connect() as connection:
            found = await connection.execute(select(position.c.sequence).where(position.c.stream == stream))
            return found.scalar_one_or_none() or 0


class BusLog:
    """The streams on the broker."""

    def __init__(self, bus: Bus, *, batch: int = 500) -> None:
        self._bus = bus
        self._batch = batch

    async def extent(self, stream: str) -> Extent:
        """The first and last sequence that the broker has."""
        state = (await self._bus.jetstream.stream_info(stream)).state
        return Extent(state.first_seq, state.last_seq)

    async def end(self, stream: str) -> int:
        """The last sequence of the stream."""
        return (await self.extent(stream)).last

    def follow(self, stream: str, start: int) -> AsyncIterator[Sequence[StoredMessage]]:
        """Read with an ordered consumer."""
        log = OrderedLog(self._bus, stream, start, urgent=AWAITED_PREFIXES, unhurried=stream in UNHURRIED)
        return log.batches(self._batch)

    async def announce(self, stream: str, sequence: int) -> None:
        """Publish on the stream's position subject."""
        await self._bus.announce_position(stream, sequence)
