"""When a paid request that failed is retried, and when it is not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from contracts.v1.investigation import FailureClass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Units: seconds. `longest_s` is the longest wait that a provider may ask for."""

    max_attempts: int = 4
    base_s: float = 10.0
    longest_s: float = 900.0

    def delay_s(self, attempt: int, failure: FailureClass, asked_s: float | None = None) -> float | None:
        """Seconds until the next attempt after this one failed, from 1; None if there is none.

        Units: 10, 20, 40 seconds, or what the provider asked for if that is longer. Source: requirements 3.7.
        """
        if failure != "TRANSIENT" or attempt >= self.max_attempts:
            return None
        return max(self.base_s * 2.0 ** (attempt - 1), min(asked_s or 0.0, self.longest_s))

    def left_s(self, due: datetime | None, now: datetime) -> float:
        """Seconds until a scheduled attempt is due, at most `longest_s` even if the clock was set back."""
        return 0.0 if due is None else min(max(0.0, (due - now).total_seconds()), self.longest_s)


ATTEMPTS: Final = RetryPolicy()
"""For attempts of a run. A reader waits meanwhile, and a reader's key is stored for half an hour."""
REVIEWS: Final = RetryPolicy(longest_s=600.0)
"""For reviews of one claim."""
