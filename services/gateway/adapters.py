"""The ports over broker, database, blob store and model provider. Every outage becomes `Unavailable` here."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from math import inf
from pathlib import Path
from uuid import UUID

from pydantic import SecretStr
from sqlalchemy import Row, text

from contracts.topology import ERRATA, INGEST_OBSERVATION_UNVERIFIABLE, JOBS, VIEWS
from contracts.v1 import Event, InvestigationRequested, LabelIssued, ObservationUnverifiable, OnceEvent, decode
from contracts.v1.parts import TextRef
from kit.blob_settings import BlobMissing
from kit.blobs import Blobs, BlobsUnavailable
from kit.bus import Bus, RequestRejected
from kit.database import Database
from kit.direct import request_directly
from kit.errors import Reject, Retry
from kit.history import read_latest_from_leader
from kit.models.base import KeyAccepted, Model
from kit.ordered import OrderedLog, StoredMessage
from kit.pages import LogPage, read_last_sequence, read_page, read_storage_left
from kit.positions import Positions
from kit.publisher import BusError, PublishConflict
from kit.vault import UserKeys
from services.gateway.domain import Account, InstanceKey
from services.gateway.ports import KeyVerdict, ObservationRejected, StoredEvent, Unavailable, or_unavailable
from services.gateway.record.connection import open_connection

_ACTIVE_KEYS = """
    SELECT k.key_hash, k.rights, a.id, a.role, a.tier, a.credit_limit_micro_usd, a.has_webhook_secret
    FROM instance_api_key k LEFT JOIN account a ON a.id = k.account_id
    WHERE k.revoked_at IS NULL AND a.closed_at IS NULL"""
_ALL_KEYS = text(_ACTIVE_KEYS)
_ONE_KEY = text(f"{_ACTIVE_KEYS} AND k.key_hash = :key_hash")
BLOB_TIMEOUT_S = 2.5
PROBE_TIMEOUT_S = 8.0


class BusFacts:
    """Publishes events over the broker; waits for answers, and for the read model."""

    def __init__(self, bus: Bus, positions: Positions, *, answer_timeout_s: float, catch_up_timeout_s: float) -> None:
        self._bus = bus
        self._positions = positions
        self._answer_timeout_s = answer_timeout_s
        self._catch_up_timeout_s = catch_up_timeout_s

    async def publish(self, event: Event, correlation: UUID) -> int:
        with or_unavailable("broker", BusError):
            return (await self._bus.publish(event, correlation=correlation)).sequence

    async def publish_once(self, event: OnceEvent, correlation: UUID) -> StoredEvent:
        try:
            receipt = await self._bus.publish(event, correlation=correlation)
        except PublishConflict:
            return await self._latest_at(event.subject())
        except BusError as error:
            raise Unavailable(f"broker: {error}") from error
        return StoredEvent(event, receipt.sequence)

    async def latest_request(self, investigation_id: UUID) -> InvestigationRequested:
        event = (await self._latest_at(f"{InvestigationRequested.SUBJECT}.{investigation_id}")).event
        if not isinstance(event, InvestigationRequested):
            raise Unavailable(f"broker: {event.SUBJECT} in place of a request")
        return event

    async def _latest_at(self, subject: str) -> StoredEvent:
        with or_unavailable("broker", Retry, Reject, IndexError):
            latest_event = (await read_latest_from_leader(self._bus, subject))[-1]
            return StoredEvent(latest_event.envelope.event, latest_event.sequence)

    async def request(self, event: Event, correlation: UUID) -> StoredEvent:
        """Send the event to ingest, directly or through the log, and wait for the answer."""
        try:
            answer = None
            if isinstance(event, ObservationUnverifiable):
                answer = await request_directly(
                    self._bus, INGEST_OBSERVATION_UNVERIFIABLE, event, correlation=correlation
                )
            if answer is None:
                answer = await self._bus.request(event, correlation=correlation, timeout_s=self._answer_timeout_s)
        except RequestRejected as refusal:
            raise ObservationRejected(refusal.reason) from refusal
        except BusError as error:
            raise Unavailable(f"broker: {error}") from error
        return StoredEvent(answer.envelope.event, answer.sequence)

    async def wait_for_projection(self, sequence: int) -> None:
        if not await self._positions.wait_until_reached(ERRATA.name, sequence, self._catch_up_timeout_s):
            raise Unavailable(f"the read model has not reached {sequence}")


class BusEvents:
    """Reads and follows the log for the event stream."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def page(self, patterns: Sequence[str], after: int, limit: int, max_bytes: int) -> LogPage:
        with or_unavailable("broker", Retry):
            return await read_page(self._bus, ERRATA.name, patterns, after=after, limit=limit, max_bytes=max_bytes)

    async def newest(self) -> int:
        with or_unavailable("broker", Retry):
            return await read_last_sequence(self._bus, ERRATA.name)

    def follow(self, after: int, patterns: Sequence[str]) -> AsyncGenerator[Sequence[StoredMessage], None]:
        return OrderedLog(self._bus, ERRATA.name, after + 1, subjects=patterns).batches()


class BusLabels:
    """Follows the labels in the log."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def newest(self) -> int:
        with or_unavailable("broker", Retry):
            return await read_last_sequence(self._bus, JOBS.name)

    async def follow(self, after: int) -> AsyncGenerator[Sequence[tuple[int, LabelIssued]], None]:
        subjects = (f"{LabelIssued.SUBJECT}.*",)
        async with aclosing(OrderedLog(self._bus, JOBS.name, after + 1, subjects=subjects).batches()) as batches:
            async for batch in batches:
                decoded = [(each.sequence, decode(each.subject, each.data).event) for each in batch]
                yield [(sequence, event) for sequence, event in decoded if isinstance(event, LabelIssued)]


class ServerSpace:
    """Free space of broker and file system; PostgreSQL and S3 report none."""

    def __init__(self, bus: Bus, folder: Path | None) -> None:
        self._bus = bus
        self._folder = folder

    async def free_bytes(self) -> float:
        """The smallest of the free space of the broker account, of each stream, and of the embedded servers' disk."""
        with or_unavailable("broker", Retry):
            left = await read_storage_left(self._bus, (ERRATA.name, VIEWS.name))
        if self._folder is not None:
            left.append((await asyncio.to_thread(shutil.disk_usage, self._folder)).free)
        return min(left, default=inf)


class GatewayBlobs:
    """Texts, archived pages and documents of private look-ups in the blob store."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def put_text(self, text: str) -> TextRef:
        """Store a text under its hash; a small one is inside the reference."""
        with or_unavailable("blob store", BlobsUnavailable, TimeoutError):
            async with asyncio.timeout(BLOB_TIMEOUT_S):
                return await self._blobs.put_text(text)

    async def copy(self, sha256: str) -> bytes | None:
        """The archived page with this hash, or None."""
        with suppress(BlobMissing), or_unavailable("blob store", BlobsUnavailable, TimeoutError):
            async with asyncio.timeout(BLOB_TIMEOUT_S):
                return await self._blobs.get(sha256)
        return None

    async def get(self, name: str) -> bytes | None:
        """The document stored under this name, or None."""
        with or_unavailable("blob store", BlobsUnavailable, TimeoutError):
            async with asyncio.timeout(BLOB_TIMEOUT_S):
                return await self._blobs.get_named(name)


class SealedKeys:
    """Readers' own keys, sealed in the broker."""

    def __init__(self, keys: UserKeys) -> None:
        self._keys = keys

    async def attach(self, investigation_id: UUID, attachment: UUID | None, api_key: str) -> bool:
        with or_unavailable("broker", BusError):
            return await self._keys.attach(investigation_id, attachment, api_key)

    async def discard(self, investigation_id: UUID, attachment: UUID | None) -> None:
        with or_unavailable("broker", BusError):
            await self._keys.discard(investigation_id, attachment)


class ModelProbe:
    """Tries a key with the provider of this instance."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def probe(self, api_key: str) -> KeyVerdict:
        """Send one minimal request."""
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                status = await self._model.probe(SecretStr(api_key))
        except TimeoutError:
            return KeyVerdict("error", f"The provider did not answer within {PROBE_TIMEOUT_S:g} seconds.")
        return KeyVerdict("valid") if isinstance(status, KeyAccepted) else KeyVerdict(status.status, status.message)


class SqlKeyRegister:
    """Instance keys in the operator's table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def active(self) -> Mapping[str, InstanceKey]:
        """All active keys by hash."""
        async with open_connection(self._database) as connection:
            return {row.key_hash: _instance_key(row) for row in await connection.execute(_ALL_KEYS)}

    async def find(self, key_hash: str) -> InstanceKey | None:
        """This key if it is active, read from the table."""
        async with open_connection(self._database) as connection:
            row = (await connection.execute(_ONE_KEY, {"key_hash": key_hash})).first()
            return None if row is None else _instance_key(row)


def _instance_key(row: Row[tuple[object, ...]]) -> InstanceKey:
    account = None
    if row.id is not None:
        account = Account(row.id, row.role, row.tier, row.credit_limit_micro_usd, row.has_webhook_secret)
    return InstanceKey(frozenset(row.rights), account)
