"""The only source of time and randomness, so that everything else can be replayed."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from secrets import token_bytes
from time import monotonic
from typing import Final, Protocol
from uuid import UUID

from uuid_utils.compat import uuid7

SALT_BYTES: Final = 32
SALTS_AT_ONCE: Final = 64
"""Drawn at once: every fact has a salt, and a system call for each would cost as much as writing the fact."""


class Clock(Protocol):
    """Time and randomness."""

    def now(self) -> datetime:
        """The current time in UTC. It may jump either way; durations are measured by `monotonic`."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary moment; they never decrease."""

    def new_id(self) -> UUID:
        """A new id, ordered by time, for things whose id cannot be derived."""

    def new_salt(self) -> str:
        """32 unpredictable bytes in base64url."""


class SystemClock:
    """The real time."""

    def __init__(self) -> None:
        self._salts: list[bytes] = []

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return monotonic()

    def new_id(self) -> UUID:
        """A UUID version 7."""
        return uuid7()

    def new_salt(self) -> str:
        """32 random bytes in base64url."""
        if not self._salts:
            random = token_bytes(SALT_BYTES * SALTS_AT_ONCE)
            self._salts = [random[at : at + SALT_BYTES] for at in range(0, len(random), SALT_BYTES)]
        return urlsafe_b64encode(self._salts.pop()).rstrip(b"=").decode()
