"""Texts that expire: stored under the hour of their expiry, not readable after it, and deleted by it.

Facts hold only a reference to them. They are in no backup, which reads other folders.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

import structlog

from contracts.v1.parts import EPHEMERAL, BlobRef, EphemeralRef, TextRef, ephemeral_prefix
from kit.blob_settings import BlobMissing
from kit.blobs import TEXT
from kit.clock import Clock

HOUR_FORMAT = "%Y-%m-%dT%H"

log = structlog.get_logger(__name__)


class Store(Protocol):
    """The part of the blob store that is used here."""

    async def put(self, data: bytes, media_type: str = ..., *, under: str = ...) -> BlobRef: ...

    async def get(self, sha256: str, under: str | None = ...) -> bytes: ...

    async def texts(self, place: str) -> list[TextRef]: ...

    async def folders(self, place: str) -> list[str]: ...

    async def remove(self, sha256: str, under: str | None = ...) -> None: ...

    async def remove_folder(self, place: str) -> int: ...


def round_up(moment: datetime) -> datetime:
    """The whole hour in UTC at or after a moment."""
    hour = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return hour if hour == moment else hour + timedelta(hours=1)


class EphemeralTexts:
    """Texts that expire. Each method may raise BlobsUnavailable."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def put(self, text: str, until: datetime, answers: str | None = None) -> EphemeralRef:
        """Store a text until the whole hour at or after `until`; `answers` is the step it is the answer to."""
        hour = round_up(until)
        blob = await self._store.put(text.encode(), TEXT, under=ephemeral_prefix(hour, answers))
        return EphemeralRef(sha256=blob.sha256, size_bytes=blob.size_bytes, until=hour, answers=answers)

    async def get(self, ref: EphemeralRef) -> str:
        """The text. Raises: BlobMissing: it has expired or was removed earlier."""
        if ref.has_expired(self._clock.now()):  # the store's cache knows no expiry
            raise BlobMissing(f"{ref.sha256} was kept until {ref.until:{HOUR_FORMAT}}")
        return (await self._store.get(ref.sha256, ref.under)).decode()

    async def answers(self, step: str, until: datetime) -> Sequence[EphemeralRef]:
        """What was stored as an answer to a step or its sub-steps, published or not."""
        hour = round_up(until)
        found = []
        for each in await self._store.texts(ephemeral_prefix(hour, step)):
            name = (each.under or "").removeprefix(ephemeral_prefix(hour, ""))
            found.append(EphemeralRef(sha256=each.sha256, size_bytes=each.size_bytes, until=hour, answers=name))
        return found

    async def remove(self, ref: EphemeralRef) -> None:
        """Remove a text before its hour; one that is gone is no error."""
        await self._store.remove(ref.sha256, ref.under)

    async def remove_answers(self, step: str, until: datetime) -> None:
        """Remove what was stored as an answer to a step or its sub-steps until this hour."""
        await self._store.remove_folder(ephemeral_prefix(round_up(until), step))

    async def sweep(self, before: datetime) -> int:
        """Remove everything that expired up to `before`; the number of texts."""
        removed = 0
        for folder in await self._store.folders(EPHEMERAL):
            try:
                hour = datetime.strptime(folder, HOUR_FORMAT).replace(tzinfo=UTC)
            except ValueError:
                log.warning("a folder that is no hour is left alone", folder=f"{EPHEMERAL}/{folder}")
                continue
            if hour <= before:
                removed += await self._store.remove_folder(f"{EPHEMERAL}/{folder}")
        return removed
