"""How often a judgement is tried, and what is said when it cannot be had."""

from __future__ import annotations

from contracts.v1.investigation import FailureClass

MAX_ATTEMPTS = 4
RETRY_BASE_S = 10.0


def next_step(attempt: int, failure: FailureClass) -> float | None:
    """Seconds until the next try after this failure, None if there is none: the investigation fails then.

    Units: 10, 20, 40 seconds. Source: specification 3.7.
    """
    if failure != "TRANSIENT" or attempt >= MAX_ATTEMPTS:
        return None
    return RETRY_BASE_S * 2.0 ** (attempt - 1)
