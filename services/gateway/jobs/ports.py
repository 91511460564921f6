"""The job API's ports. Every outage is raised as `Unavailable`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from contracts.jobs.receipts import PublicKeys
from contracts.v1 import OnceEvent
from contracts.v1.parts import EphemeralRef
from kit.history import StoredFact
from services.gateway.record.catalogue import Candidate, EntryContents, EntryRow, FlagRow


class JobLog(Protocol):
    """The stream `JOBS`."""

    async def latest(self, *subjects: str, current: bool = False) -> Sequence[StoredFact]:
        """The newest fact on each subject, in the order of the log.

        `current`: from the stream's leader, which never lags; slower.
        """

    async def read(self, *patterns: str, after: int = 0) -> Sequence[StoredFact]:
        """All facts after a sequence whose subjects match one of the patterns, which must not overlap."""

    async def find_sequence(self, moment: datetime) -> int:
        """The sequence after which all facts since `moment` are stored."""

    async def publish(self, fact: OnceEvent, correlation: UUID) -> bool:
        """Store a fact; False: another one came first. Raises: Unavailable: it may or may not be stored."""

    async def publish_together(self, *facts: OnceEvent, correlation: UUID, at: datetime) -> bool:
        """Store all of these or none, as of one moment; False: another fact came first, or all were stored before.

        Raises: Unavailable: they may or may not be stored.
        """

    async def newest(self) -> int:
        """The last sequence of the stream."""

    def follow(self, after: int, patterns: Sequence[str]) -> AsyncGenerator[Sequence[str], None]:
        """Yield the subjects of facts after a sequence, in batches as they are stored; never ends."""


class Words(Protocol):
    """Texts that expire."""

    async def put(self, text: str, until: datetime) -> EphemeralRef: ...

    async def get(self, ref: EphemeralRef) -> str | None:
        """The text, or None if it has expired or was removed."""

    async def remove(self, ref: EphemeralRef) -> None:
        """Remove a text before it expires."""

    async def remove_answers(self, step: str, until: datetime) -> None:
        """Remove the answers to a step and its sub-steps that expire at this hour."""


class CatalogueReads(Protocol):
    """The tables of the catalogue. `hidden`: with hidden entries. Raises: Unavailable. BadQuestion: too slow."""

    async def page(
        self, text: str, after: tuple[datetime, UUID] | None, limit: int, *, hidden: bool
    ) -> Sequence[EntryRow]:
        """Entries after a key, newest change first; only those with the words of `text`, unless it is empty."""

    async def one(self, id_: UUID, *, hidden: bool) -> EntryContents | None:
        """The contents of an entry's page, or None."""

    async def sources(self, begins: str, limit: int) -> Sequence[str]:
        """Domains of publishers that start with `begins`, in alphabetical order."""

    async def open_flags(self, after: tuple[datetime, UUID] | None, limit: int) -> Sequence[FlagRow]:
        """Open objections after a key, oldest first."""

    async def candidate(self, job: UUID, number: int, account: UUID) -> Candidate | None:
        """A claim of the account's own job, or None."""


class ReceiptKeys(Protocol):
    """The public keys of receipts. Raises: Unavailable."""

    async def read(self) -> PublicKeys:
        """All keys that were ever announced."""


class Memos(Protocol):
    """Extractions that serve later jobs of their account. Raises: Unavailable."""

    async def find(self, memo_id: UUID) -> UUID | None:
        """The job that paid for the extraction with this memo, or None."""
