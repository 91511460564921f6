"""A circuit breaker for one host: no requests while the host keeps failing, or as long as it asked for a pause.

Half-open: after the pause one request probes the host; the others are refused until its outcome is known.
"""

from __future__ import annotations

import math
from typing import Final

MAX_PAUSE_S: Final = 86_400.0
"""The longest pause a host can ask for; more would come from a broken clock."""


class Breaker:
    """Opens after several failures in a row, or on request. Units: `now_s` is a monotonic clock."""

    def __init__(self, failures: int, pause_s: float) -> None:
        self._limit = failures
        self._pause_s = pause_s
        self._failures = 0
        self._open_until_s = -math.inf
        self._paused_until_s = -math.inf

    @property
    def is_clean(self) -> bool:
        """Whether it has no state worth keeping."""
        return self._failures == 0 and self._paused_until_s == -math.inf

    def is_open(self, now_s: float) -> bool:
        """Whether requests are refused."""
        return now_s < max(self._open_until_s, self._paused_until_s)

    def admit(self, now_s: float) -> bool:
        """Whether a request may be sent now; after a pause the first one is the probe."""
        if self.is_open(now_s):
            return False
        if self._failures >= self._limit or self._paused_until_s > -math.inf:
            self._open_until_s = now_s + self._pause_s
        return True

    def record_success(self, now_s: float) -> None:
        """The host answered; an answer from before its request for a pause does not end the pause."""
        self._failures = 0
        self._open_until_s = -math.inf
        if now_s >= self._paused_until_s:
            self._paused_until_s = -math.inf

    def record_pause_request(self, now_s: float, pause_s: float) -> bool:
        """Pause as long as the host asked; whether the breaker was closed until now."""
        first = not self.is_open(now_s)
        self._paused_until_s = max(self._paused_until_s, now_s + min(pause_s, MAX_PAUSE_S))
        return first

    def pause_left_s(self, now_s: float) -> float:
        """How much of the longest pause that the host asked for is left."""
        return max(self._paused_until_s - now_s, 0.0)

    def record_failure(self, now_s: float) -> None:
        """Count a failure of the host."""
        self._failures += 1
        if self._failures >= self._limit:
            self._open_until_s = max(self._open_until_s, now_s + self._pause_s)
