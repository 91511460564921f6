"""Words that are kept until an hour: stored under it, not readable after it, and swept away by it.

A fact that leads to them holds only where they lie. Nothing here is in a backup, which reads other folders.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

import structlog

from contracts.v1.parts import EPHEMERAL, BlobRef, EphemeralRef, TextRef, ephemeral_place
from kit.blobs import TEXT, BlobMissing
from kit.clock import Clock

HOUR_FORMAT = "%Y-%m-%dT%H"

log = structlog.get_logger(__name__)


class Store(Protocol):
    """What is needed of the blob store."""

    async def put(self, data: bytes, media_type: str = ..., *, under: str = ...) -> BlobRef: ...

    async def get(self, sha256: str, under: str | None = ...) -> bytes: ...

    async def texts(self, place: str) -> list[TextRef]: ...

    async def folders(self, place: str) -> list[str]: ...

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
        blob = await self._store.put(text.encode(), TEXT, under=ephemeral_place(hour, answers))
        return EphemeralRef(sha256=blob.sha256, size_bytes=blob.size_bytes, until=hour, answers=answers)

    async def get(self, ref: EphemeralRef) -> str:
        """The text. Raises: BlobMissing: its time is over, or it was removed earlier."""
        if ref.has_expired(self._clock.now()):  # before the store is asked, whose memory knows no time
            raise BlobMissing(f"{ref.sha256} was kept until {ref.until:{HOUR_FORMAT}}")
        return (await self._store.get(ref.sha256, ref.under)).decode()

    async def answers(self, step: str, until: datetime) -> Sequence[EphemeralRef]:
        """What was stored as an answer to a step, or to those under it, published or not."""
        hour = round_up(until)
        found = []
        for each in await self._store.texts(ephemeral_place(hour, step)):
            name = (each.under or "").removeprefix(ephemeral_place(hour, ""))
            found.append(EphemeralRef(sha256=each.sha256, size_bytes=each.size_bytes, until=hour, answers=name))
        return found

    async def sweep(self, before: datetime) -> int:
        """Remove everything whose hour is not after `before`; how many texts there were."""
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
