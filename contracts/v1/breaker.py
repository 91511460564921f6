"""Breakers, which stop findings from being displayed: all of them, or those of one variant."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from contracts.v1.event import OnceEvent

BreakerState = Literal["OPEN", "HALF_OPEN", "CLOSED"]
BreakerTrigger = Literal[
    "FALSE_FLAG",
    "WRONG_AT_HIGH_EXPOSURE",
    "SECOND_FALSE_FLAG",
    "EVIDENCE",
    "MANY_RETRACTIONS",
    "UNUSUAL_APPROVE_RATE",
    "QUOTE_NOT_IN_PAGE",
    "NO_NOTE",
    "NO_QUORUM",
]
BreakerScope = Annotated[str, Field(pattern="^(ALL|NEW|[0-9a-f]{64})$")]
"""The findings that a breaker stops. ALL: every one; NEW: those that are not displayed yet; else those of a variant."""


class BreakerChanged(OnceEvent, subject="breaker.changed", key="scope", identity=("follows",)):
    """A breaker opened, became half open, or closed. Without such an event it is closed.

    OPEN names the `trigger`, with its `numbers` in words; the same breaker may open further for another trigger.
    HALF_OPEN and CLOSED name the `cause` that was found and removed. `by`: the service or the person that decided.
    Units: `quota` is how many findings a day its variants may have at first after it closed.
    """

    scope: BreakerScope
    state: BreakerState
    trigger: BreakerTrigger | None = None
    numbers: str | None = Field(default=None, min_length=1, max_length=300)
    cause: str | None = Field(default=None, min_length=1, max_length=500)
    by: str = Field(min_length=1, max_length=40)
    quota: int | None = Field(default=None, ge=0)
