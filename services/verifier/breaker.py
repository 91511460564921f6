"""Leaving a host alone that keeps failing or asks for it, so that readers of its pages need not wait for the next no.

Whoever asked first when a pause is over tries for all; the others are told no until it is known how that went. Letting
all of them try would make the pause a drum roll.
"""

from __future__ import annotations

import math
from typing import Final

LONGEST_ASKED_PAUSE_S: Final = 86_400.0
"""A host that asks for more has a broken clock, and would stay unknown until this process ends."""


class Breaker:
    """Opens after several failures in a row, or when asked to. Units: `now_s` is any steady clock."""

    def __init__(self, failures: int, pause_s: float) -> None:
        self._limit = failures
        self._pause_s = pause_s
        self._failures = 0
        self._open_until_s = -math.inf
        self._asked_until_s = -math.inf

    @property
    def untroubled(self) -> bool:
        """Whether there is nothing to remember."""
        return self._failures == 0 and self._asked_until_s == -math.inf

    def refuses(self, now_s: float) -> bool:
        """Whether the host is being left alone."""
        return now_s < max(self._open_until_s, self._asked_until_s)

    def admit(self, now_s: float) -> bool:
        """Whether a request may go out now; after a pause only the first to ask may, until it is known how it went."""
        if self.refuses(now_s):
            return False
        if self._failures >= self._limit or self._asked_until_s > -math.inf:
            self._open_until_s = now_s + self._pause_s
        return True

    def answered(self, now_s: float) -> None:
        """The host works; what it answered before it asked for a pause does not end the pause."""
        self._failures = 0
        self._open_until_s = -math.inf
        if now_s >= self._asked_until_s:
            self._asked_until_s = -math.inf

    def asked(self, now_s: float, pause_s: float) -> bool:
        """The host asks to be left alone; whether nobody had been told so before."""
        first = not self.refuses(now_s)
        self._asked_until_s = max(self._asked_until_s, now_s + min(pause_s, LONGEST_ASKED_PAUSE_S))
        return first

    def failed(self, now_s: float) -> None:
        """The host failed."""
        self._failures += 1
        if self._failures >= self._limit:
            self._open_until_s = max(self._open_until_s, now_s + self._pause_s)
