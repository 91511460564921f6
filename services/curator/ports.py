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
        """A job that is over; None: the log does not show it yet, or there is none."""

    async def is_over(self, key: str) -> bool:
        """Whether a job has ended."""

    async def publish(self, event: Event, correlation: UUID) -> bool:
        """Whether it was stored, now or before; False: another one came first."""


class LabelRecord(Protocol):
    """The public record as labels need it. Raises: Outage: it could not be read now."""

    async def newest(self) -> int:
        """The last sequence of the log."""

    async def read(self, since: int) -> Sequence[PinnedRecord] | None:
        """Pinned records with findings or labels; None: the tables do not hold the log up to there yet."""


@dataclass(frozen=True, slots=True)
class Readers:
    """Who reads a post. Shapes: `is_requested`: a reader asked for its investigation.

    Units: `views_a_day` are unique, of today or yesterday, whichever had more; None: no view of it was ever counted.
    """

    views_a_day: int | None
    is_requested: bool


class Audience(Protocol):
    """The readers of posts. Raises: Outage: they could not be read now."""

    async def find(self, approval: ClaimApproved) -> Readers:
        """Those of the post that a claim is of."""


class HoldLog(Protocol):
    """The stream `ERRATA`. Raises: Outage: it could not be read now."""

    async def find_end(self, event: ClaimHeld) -> tuple[ClaimHoldEnded | None, int]:
        """How its hold ended in its round, and what the next end of a hold of this claim follows."""


class HoldMetrics(Protocol):
    """What operators see of holds."""

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
        """An objection; None: it was erased."""

    def read(self, kinds: Sequence[type[Event]], since: datetime) -> AsyncIterator[Event]:
        """All facts of these kinds since a moment."""


class LooksAgain(Protocol):
    """The cited pages as they are now."""

    async def look(self, approval: ClaimApproved) -> Fresh:
        """Whether they still say what is quoted from them; a failure of a page is a result."""


class Removal(Protocol):
    """Texts that expire. Raises: BusError."""

    async def remove(self, ref: EphemeralRef) -> None: ...


class Secrets(Protocol):
    """Secrets that sign an account's webhooks."""

    async def find(self, account_id: UUID) -> Sequence[str]:
        """Those that are valid now; none: the account is closed or has none."""


class Hooks(Protocol):
    """Receivers of webhooks."""

    async def send(self, url: str, message_id: str, body: bytes, secrets: Sequence[str], now: datetime) -> Outcome: ...


class Metrics(Protocol):
    """What operators see."""

    def count_webhook(self, outcome: str) -> None: ...

    def count_overdue(self) -> None: ...

    def swept(self, removed: int, at: datetime) -> None: ...


class Ages(Protocol):
    """The decision log. Zero where there is none."""

    async def note_age(self) -> timedelta:
        """Since the newest signed note."""

    async def quorum_age(self) -> timedelta:
        """Since the newest note that a quorum of witnesses has signed."""
