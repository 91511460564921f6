"""The projector's ports over NATS and S3."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final

from sqlalchemy import select

from contracts.readmodel.ledger import position
from contracts.topology import JOBS
from contracts.v1.event import PREFIX
from contracts.v1.parts import TextRef
from kit.blob_settings import BlobMissing
from kit.blobs import Blobs
from kit.bus import Bus
from kit.database import Database
from kit.ordered import OrderedLog, StoredMessage
from services.projector.ports import Extent

AWAITED_PREFIXES: Final = tuple(f"{PREFIX}{aggregate}." for aggregate in ("version", "erasure", "entity_erasure"))
"""Readers wait until their observation is in the read model, operators until something is erased: batches with these
are not delayed."""
UNHURRIED: Final = frozenset({JOBS.name})
"""Who asks for a job is answered from the stream, so its tables may be a moment late."""


class BlobTexts:
    """Texts in the blob store."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def fetch(self, refs: Iterable[TextRef]) -> dict[str, str]:
        """Fetch concurrently; missing and invalid texts are left out."""
        wanted = list(refs)
        texts = await asyncio.gather(*map(self._fetch_one, wanted))
        return {ref.sha256: text for ref, text in zip(wanted, texts, strict=True) if text is not None}

    async def _fetch_one(self, ref: TextRef) -> str | None:
        try:
            return await self._blobs.get_text(ref)
        except (BlobMissing, UnicodeDecodeError):
            return None


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
        """Ask the broker."""
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
