"""The only source of time and randomness, so that everything else can be replayed."""

from __future__ import annotations

from datetime import UTC, datetime
from secrets import token_urlsafe
from time import monotonic
from typing import Protocol
from uuid import UUID

from uuid_utils.compat import uuid7


class Clock(Protocol):
    """Time and randomness."""

    def now(self) -> datetime:
        """The current time in UTC. It may jump either way; durations are measured by `monotonic`."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary moment, which only grow."""
        ...

    def new_id(self) -> UUID:
        """A new id, ordered by time; only where no id can be derived."""
        ...

    def new_salt(self) -> str:
        """32 unpredictable bytes in base64url."""
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
