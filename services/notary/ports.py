"""Ports of the notary."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

from services.notary.domain import StoredCheckpoint
from tlog.merkle import Hash
from tlog.note import Signature
from tlog.tiles import Bundle, Tile


class Tiles(Protocol):
    """The hashes of the log, from which proofs are computed."""

    async def read_tile(self, tile: Tile) -> bytes:
        """The hashes of a tile."""


class Log(Tiles, Protocol):
    """The log as it is stored."""

    async def size(self) -> int:
        """How many leaves there are."""

    async def root(self, size: int) -> Hash:
        """The root over the first `size` leaves; at least one."""

    async def read_bundle(self, bundle: Bundle) -> bytes:
        """The leaves of a bundle."""

    async def newest(self) -> StoredCheckpoint | None:
        """The largest signed note."""

    async def find(self, size: int) -> StoredCheckpoint | None:
        """The signed note of a size, or None."""

    async def add(self, checkpoint: StoredCheckpoint, now: datetime) -> None:
        """Store a signed note for good. Raises: LogForked: another root of this size was signed."""

    async def cosignatures(self, size: int) -> Sequence[Signature]:
        """The cosignatures of the note of a size, the newest of each witness."""

    async def add_cosignatures(self, size: int, signatures: Sequence[Signature]) -> None:
        """Store cosignatures of the note of a size, each replacing an earlier one of its key."""

    async def mark_witnessed(self, size: int, now: datetime) -> None:
        """Store that a quorum of witnesses has cosigned a note."""

    async def mark_published(self, size: int, now: datetime) -> None:
        """Store that a note is published."""


class Objects(Protocol):
    """The published objects, under the names of C2SP tlog-tiles."""

    async def put(self, name: str, data: bytes) -> None:
        """Store an object; what was there is replaced."""

    async def get(self, name: str) -> bytes | None:
        """An object, or None if there is none."""


Cosign = Callable[[StoredCheckpoint], Awaitable[Sequence[Signature]]]
"""Gives new cosignatures of a note, if there are any. Raises: LogForked: a witness has seen another history."""


class LookupObjects(Protocol):
    """The published objects of private look-ups."""

    async def put(self, name: str, data: bytes) -> None:
        """Store an object; what was there is replaced."""

    async def remove_folder(self, name: str) -> None:
        """Remove all objects of a folder for good."""


class LookupMetrics(Protocol):
    """Metrics of private look-ups."""

    def show_layout(self, bits: int, posts: int) -> None:
        """Show the layout that is used, and how many posts with findings are in it."""

    def count_bucket(self, size: int) -> None:
        """Count a built bucket. Units: `size` is in bytes."""
