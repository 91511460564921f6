"""Time and randomness enter the system here and nowhere else, so that everything else can be replayed."""

from __future__ import annotations

from datetime import UTC, datetime
from secrets import token_urlsafe
from time import monotonic
from typing import Protocol
from uuid import UUID

from uuid_utils.compat import uuid7


class Clock(Protocol):
    """What the rest of the code may ask of the world."""

    def now(self) -> datetime:
        """The current time in UTC. It may jump either way; what lasts for a while is measured by `monotonic`."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment, which only grow, whatever happens to the time of day."""
        ...

    def new_id(self) -> UUID:
        """A fresh id, ordered by time; only where nothing derives one."""
        ...

    def new_salt(self) -> str:
        """32 random bytes in base64url, which nobody can guess."""
        ...


class SystemClock:
    """The real time."""

    def now(self) -> datetime:
        """The current time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return monotonic()

    def new_id(self) -> UUID:
        """A UUID version 7."""
        return uuid7()

    def new_salt(self) -> str:
        """32 random bytes in base64url."""
        return token_urlsafe(32)
