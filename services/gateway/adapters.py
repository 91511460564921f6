"""The ports over what this process runs on. Every way the world can fail is turned into `Unavailable` here."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Sequence
from math import inf
from pathlib import Path
from uuid import UUID

from pydantic import SecretStr

from contracts.topology import ERRATA, INGEST_OBSERVATION_RECEIVED, VIEWS
from contracts.v1 import Event, InvestigationRequested, OnceEvent
from contracts.v1.parts import TextRef
from kit.blobs import BlobMissing, Blobs, BlobsUnavailable
from kit.bus import AlreadyThere, Bus, BusError, Rejected
from kit.direct import hand
from kit.errors import Reject, Retry
from kit.history import latest
from kit.models.base import KeyAccepted, Model
from kit.ordered import OrderedLog, Recorded
from kit.pages import Page, last_sequence, read_page, storage_left
from kit.positions import Positions
from kit.vault import UserKeys
from services.gateway.ports import Answered, KeyVerdict, RefusedForGood, Unavailable

BLOB_TIMEOUT_S = 2.5
PROBE_TIMEOUT_S = 8.0


class BusFacts:
    """The log over the broker."""

    def __init__(self, bus: Bus, positions: Positions, *, answer_timeout_s: float, catch_up_timeout_s: float) -> None:
        self._bus = bus
        self._positions = positions
        self._answer_timeout_s = answer_timeout_s
        self._catch_up_timeout_s = catch_up_timeout_s

    async def tell(self, event: Event, correlation: UUID) -> int:
        """Store a fact."""
        try:
            return (await self._bus.publish(event, correlation=correlation)).sequence
        except BusError as error:
            raise Unavailable(f"broker: {error}") from error

    async def tell_once(self, event: OnceEvent, correlation: UUID) -> Answered:
        """Store a fact, or find the one that took its place first."""
        try:
            receipt = await self._bus.publish(event, correlation=correlation)
        except AlreadyThere:
            return await self._standing_at(event.subject())
        except BusError as error:
            raise Unavailable(f"broker: {error}") from error
        return await self._standing_at(event.subject()) if receipt.duplicate else Answered(event, receipt.sequence)

    async def requested(self, investigation_id: UUID) -> InvestigationRequested:
        """The newest request for a run."""
        event = (await self._standing_at(f"{InvestigationRequested.SUBJECT}.{investigation_id}")).event
        if not isinstance(event, InvestigationRequested):
            raise Unavailable(f"broker: {event.SUBJECT} where a request stands")
        return event

    async def _standing_at(self, subject: str) -> Answered:
        try:
            standing = (await latest(self._bus, subject))[-1]
            return Answered(standing.envelope.event, standing.sequence)
        except (Retry, Reject, IndexError) as error:
            raise Unavailable(f"broker: {error}") from error

    async def ask(self, event: Event, correlation: UUID, *, directly: bool = False) -> Answered:
        """Store a fact and wait for the one that answers it, unless ingest answers without it being stored."""
        try:
            answer = None
            if directly:
                answer = await hand(self._bus, INGEST_OBSERVATION_RECEIVED, event, correlation=correlation)
            if answer is None:
                answer = await self._bus.request(event, correlation=correlation, timeout_s=self._answer_timeout_s)
        except Rejected as refusal:
            raise RefusedForGood(refusal.reason) from refusal
        except BusError as error:
            raise Unavailable(f"broker: {error}") from error
        return Answered(answer.envelope.event, answer.sequence)

    async def caught_up(self, sequence: int) -> None:
        """Wait for the projector."""
        if not await self._positions.reached(ERRATA.name, sequence, self._catch_up_timeout_s):
            raise Unavailable(f"the read model has not reached {sequence}")


class BusEvents:
    """The log as it is shown to anybody who follows it."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def page(self, patterns: Sequence[str], after: int, limit: int, max_bytes: int) -> Page:
        """The first messages after a sequence."""
        try:
            return await read_page(self._bus, ERRATA.name, patterns, after=after, limit=limit, max_bytes=max_bytes)
        except Retry as error:
            raise Unavailable(f"broker: {error}") from error

    async def newest(self) -> int:
        """The last sequence of the log."""
        try:
            return await last_sequence(self._bus, ERRATA.name)
        except Retry as error:
            raise Unavailable(f"broker: {error}") from error

    def follow(self, after: int, patterns: Sequence[str]) -> AsyncGenerator[Sequence[Recorded], None]:
        """Messages after a sequence as they come."""
        return OrderedLog(self._bus, ERRATA.name, after + 1, subjects=patterns).batches()


class ServerSpace:
    """What broker and file system say of the room they have; PostgreSQL and S3 say nothing of theirs."""

    def __init__(self, bus: Bus, folder: Path | None) -> None:
        self._bus = bus
        self._folder = folder

    async def free_bytes(self) -> float:
        """The least of: the account's limit, each stream's limit, the disk of embedded servers."""
        try:
            left = await storage_left(self._bus, (ERRATA.name, VIEWS.name))
        except Retry as error:
            raise Unavailable(f"broker: {error}") from error
        if self._folder is not None:
            left.append((await asyncio.to_thread(shutil.disk_usage, self._folder)).free)
        return min(left, default=inf)


class BlobTexts:
    """Texts in the blob store, small ones in the reference itself."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def put_text(self, text: str) -> TextRef:
        """Store a text under its hash."""
        try:
            async with asyncio.timeout(BLOB_TIMEOUT_S):
                return await self._blobs.put_text(text)
        except (BlobsUnavailable, TimeoutError) as error:
            raise Unavailable(f"blob store: {error or 'timeout'}") from error


class BlobCopies:
    """Archived pages in the blob store."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def copy(self, sha256: str) -> bytes | None:
        """The page with this hash."""
        try:
            async with asyncio.timeout(BLOB_TIMEOUT_S):
                return await self._blobs.get(sha256)
        except BlobMissing:
            return None
        except (BlobsUnavailable, TimeoutError) as error:
            raise Unavailable(f"blob store: {error or 'timeout'}") from error


class SealedKeys:
    """Readers' own keys, sealed in the broker."""

    def __init__(self, keys: UserKeys) -> None:
        self._keys = keys

    async def attach(self, investigation_id: UUID, attachment: UUID | None, api_key: str) -> bool:
        """Keep a key for a run; False if one is there by this name."""
        try:
            return await self._keys.attach(investigation_id, attachment, api_key)
        except BusError as error:
            raise Unavailable(f"broker: {error}") from error

    async def discard(self, investigation_id: UUID, attachment: UUID | None) -> None:
        """Forget a key."""
        try:
            await self._keys.discard(investigation_id, attachment)
        except BusError as error:
            raise Unavailable(f"broker: {error}") from error


class ModelProbe:
    """Tries a key on the provider this instance uses."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def probe(self, api_key: str) -> KeyVerdict:
        """Make one tiny call."""
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                status = await self._model.probe(SecretStr(api_key))
        except TimeoutError:
            return KeyVerdict("error", f"The provider did not answer within {PROBE_TIMEOUT_S:g} seconds.")
        return KeyVerdict("valid") if isinstance(status, KeyAccepted) else KeyVerdict(status.status, status.message)
