"""The world of a run as it was: everything that came from outside, taken from the log and the blob store.

Nothing here asks anybody or stores anything, so an investigation can be run again on a system that is at work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from analyses.research import AUTHOR_HISTORY, FETCH_URL
from contracts.v1.parts import INLINE_BYTES, InvestigationInput, TextRef
from services.investigator.domain import Entry, Prior


class Blobs(Protocol):
    """What was stored."""

    async def get_text(self, ref: TextRef) -> str:
        """The text itself."""
        ...

    async def get(self, sha256: str) -> bytes:
        """The bytes with this hash."""
        ...


class PastLog:
    """The log as it was when the attempt began."""

    def __init__(self, before: Sequence[Entry], taken: InvestigationInput) -> None:
        self._before = before
        self._taken = taken

    async def history(self, investigation_id: UUID) -> Sequence[Entry]:
        """What had happened."""
        return self._before

    async def snapshot(self, version_id: UUID) -> InvestigationInput | None:
        """What was looked at, frozen then."""
        return self._taken


class Memory:
    """The blob store, in which nothing is stored anew: a text is only named."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def get_text(self, ref: TextRef) -> str:
        """The text itself."""
        return await self._blobs.get_text(ref)

    async def get(self, sha256: str) -> bytes:
        """The bytes with this hash."""
        return await self._blobs.get(sha256)

    async def put_text(self, text: str) -> TextRef:
        """The name it would have."""
        data = text.encode()
        inline = text if len(data) <= INLINE_BYTES else None
        return TextRef(sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data), inline=inline)


class NoKeys:
    """No key is used in a replay."""

    async def open(self, investigation: UUID) -> str:
        """Nobody's key."""
        return "no-key-is-used-in-a-replay"


class NoPriors:
    """What was found before stands in the frozen input."""

    async def prior(self, post_id: UUID, version_id: UUID, analysis: str) -> Prior | None:
        """Nothing is added."""
        return None


class Recorded:
    """The tools that look things up; their answers are on record."""

    def calls(self, post_id: UUID, analysis: str) -> Mapping[str, Callable[[str], Awaitable[str]]]:
        """The names of them."""
        return dict.fromkeys((FETCH_URL.name, AUTHOR_HISTORY.name), _nobody)


async def _nobody(arguments: str) -> str:
    raise AssertionError("a replay asks nobody")
