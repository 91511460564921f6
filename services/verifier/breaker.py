"""Leaving a host alone that keeps failing, so that readers of its pages need not wait for the next failure."""

from __future__ import annotations

import math
from typing import Final

LONGEST_ASKED_PAUSE_S: Final = 300.0


class Breaker:
    """Opens after several failures in a row; after a pause lets one request try. Units: `now_s` is any steady clock."""

    def __init__(self, failures: int, pause_s: float) -> None:
        self._limit = failures
        self._pause_s = pause_s
        self._failures = 0
        self._open_until_s = -math.inf

    def refuses(self, now_s: float) -> bool:
        """Whether the host is being left alone."""
        return now_s < self._open_until_s

    def admit(self, now_s: float) -> bool:
        """Whether a request may go out now; after a pause only the first to ask may, until it is known how it went."""
        if self.refuses(now_s):
            return False
        if self._failures >= self._limit:
            self._open_until_s = now_s + self._pause_s
        return True

    def answered(self) -> None:
        """The host works."""
        self._failures = 0
        self._open_until_s = -math.inf

    def failed(self, now_s: float, *, asked_pause_s: float | None = None) -> None:
        """The host failed, perhaps asking to be left alone for a while, which is granted at once."""
        self._failures += 1
        if asked_pause_s:
            self._open_until_s = max(self._open_until_s, now_s + min(asked_pause_s, LONGEST_ASKED_PAUSE_S))
        if self._failures >= self._limit:
            self._open_until_s = max(self._open_until_s, now_s + self._pause_s)
