"""Ports of the projector."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from contracts.v1.parts import EphemeralRef, TextRef
from kit.ordered import StoredMessage


class Texts(Protocol):
    """Texts that are too long to travel inside a fact."""

    async def fetch(self, refs: Iterable[TextRef]) -> dict[str, str]:
        """The texts that exist, by hash. Raises: BlobsUnavailable: the store cannot be reached."""

    async def fetch_words(self, refs: Iterable[EphemeralRef]) -> dict[str, str]:
        """The expiring texts that still exist, by hash."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The first and last sequence a stream holds; (n + 1, n) when it is empty."""

    first: int
    last: int


class Log(Protocol):
    """The streams of facts."""

    async def extent(self, stream: str) -> Extent:
        """The first and last sequence that the stream holds now."""

    def follow(self, stream: str, start: int) -> AsyncIterator[Sequence[StoredMessage]]:
        """Everything from `start` on, in order, without an end."""

    async def announce(self, stream: str, sequence: int) -> None:
        """Announce the position of the read model."""
