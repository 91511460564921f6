"""What the curator needs from the world."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol
from uuid import UUID

from contracts.v1 import ClaimApproved, ClaimHeld, ClaimHoldEnded, Event, FlagRaised
from contracts.v1.parts import EphemeralRef
from lifecycle.display import Fresh
from services.curator.domain import EndedJob
from services.curator.labelling import PinnedRecord

Outcome = Literal["delivered", "gone", "failed"]
"""`gone`: the receiver wants no more messages."""


class Log(Protocol):
    """The stream `JOBS`. Raises: Outage: it could not be read now. BusError: nothing was confirmed."""

    async def ended_job(self, job_id: UUID) -> EndedJob | None:
        """A job that is over; None if the log does not show its end, or has no such job."""

    async def is_over(self, key: str) -> bool:
        """Whether a job has ended."""

    async def publish(self, event: Event, correlation: UUID) -> bool:
        """Store the event, unless another one came first; whether it is stored, now or before."""


class LabelRecord(Protocol):
    """The public record as labels need it. Raises: Outage: it could not be read now."""

    async def newest(self) -> int:
        """The last sequence of the log."""

    async def read(self, since: int) -> Sequence[PinnedRecord] | None:
        """Pinned records with findings or labels; None if the tables do not hold the log up to `since` yet."""


@dataclass(frozen=True, slots=True)
class Readers:
    """Who reads a post. Shapes: `is_requested`: a reader asked for its investigation.

    Units: `views_a_day` are unique views of today or yesterday, whichever had more; None if none was ever counted.
    """

    views_a_day: int | None
    is_requested: bool


class Audience(Protocol):
    """The readers of posts. Raises: Outage: they could not be read now."""

    async def find(self, approval: ClaimApproved) -> Readers:
        """The readers of a claim's post."""


class HoldLog(Protocol):
    """The stream `ERRATA`. Raises: Outage: it could not be read now."""

    async def find_end(self, event: ClaimHeld) -> tuple[ClaimHoldEnded | None, int]:
        """How the hold ended in its round, or None; and the sequence that the claim's next end of a hold follows."""


class HoldMetrics(Protocol):
    """Metrics of holds."""

    def count_ended(self, state: str) -> None: ...


class Texts(Protocol):
    """Texts that expire. Raises: BusError."""

    async def get(self, ref: EphemeralRef) -> str:
        """Raises: LookupError: it has expired or was removed."""

    async def remove(self, ref: EphemeralRef) -> None: ...

    async def sweep(self, before: datetime) -> int:
        """Remove everything that expired up to `before`; the number of texts."""


class AssertionLog(Protocol):
    """The stream `JOBS`. Raises: Outage: it could not be read now."""

    async def find_flag(self, flag_id: UUID) -> FlagRaised | None:
        """An objection, or None if it was erased."""

    def read(self, kinds: Sequence[type[Event]], since: datetime) -> AsyncIterator[Event]:
        """All facts of these kinds since a moment."""


class LooksAgain(Protocol):
    """Fetches cited pages again."""

    async def look(self, approval: ClaimApproved) -> Fresh:
        """Whether the pages still say what is quoted from them; a page that fails is a result, not an error."""


class Removal(Protocol):
    """Texts that expire. Raises: BusError."""

    async def remove(self, ref: EphemeralRef) -> None: ...


class Secrets(Protocol):
    """Secrets that sign an account's webhooks."""

    async def find(self, account_id: UUID) -> Sequence[str]:
        """The secrets that are valid now; empty if the account is closed or has none."""


class Hooks(Protocol):
    """Receivers of webhooks."""

    async def send(self, url: str, message_id: str, body: bytes, secrets: Sequence[str], now: datetime) -> Outcome: ...


class Metrics(Protocol):
    """Metrics of webhooks, deadlines and sweeps."""

    def count_webhook(self, outcome: str) -> None: ...

    def count_overdue(self) -> None: ...

    def swept(self, removed: int, at: datetime) -> None: ...


class Ages(Protocol):
    """Ages in the decision log; zero without a log."""

    async def note_age(self) -> timedelta:
        """How long decisions have waited for a published note."""

    async def quorum_age(self) -> timedelta:
        """How long notes have waited for a quorum of witnesses."""
