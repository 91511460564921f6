"""What the watch cannot see yet: nothing is known, so nothing opens a breaker."""

from __future__ import annotations

from datetime import timedelta


class NoDecisionLog:
    """The decision log is off."""

    async def note_age(self) -> timedelta:
        """Zero: nothing is late."""
        return timedelta(0)

    async def quorum_age(self) -> timedelta:
        """Zero: nothing is late."""
        return timedelta(0)


class NoQuotes:
    """Nobody compares displayed quotes with their stored pages yet."""

    async def count_missing(self) -> int:
        """None that is known."""
        return 0
