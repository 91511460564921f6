"""Timestamps by name: from the clock in a live run, from the record in a replay.

With a direct use of the clock a replay would have another transcript, and so another hash in its event.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from contracts.transcript import Transcript
from kit.clock import Clock


class Stamps(Protocol):
    """A source of timestamps."""

    def time_of(self, moment: str) -> datetime:
        """The time of a named moment; called once for each."""


class LiveStamps:
    """Every moment is now."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def time_of(self, moment: str) -> datetime:
        """The current time."""
        return self._clock.now()


class RecordedStamps:
    """Times of a recorded run. A moment without one is passed to `then`, or has the last recorded time."""

    def __init__(self, transcript: Transcript, then: Stamps | None = None) -> None:
        self._then = then
        self._times: dict[str, datetime] = {}
        for number, call in enumerate(transcript.calls):
            self._note(call_started(number), call.started_at)
            self._note(call_ended(number), call.completed_at)
        for place, research in enumerate(transcript.research):
            self._note(research_started(place), research.started_at)
            self._note(research_ended(place), research.completed_at)

    def time_of(self, moment: str) -> datetime:
        """The time on record."""
        time = self._times.get(moment)
        if time is None and self._then is not None:
            return self._then.time_of(moment)
        return time or max(self._times.values(), default=datetime.min)

    def _note(self, moment: str, time: datetime | None) -> None:
        if time is not None:
            self._times[moment] = time


def call_started(call: int) -> str:
    """The name of a call's start."""
    return f"call {call} asked"


def call_ended(call: int) -> str:
    """The name of a call's end."""
    return f"call {call} answered"


def research_started(place: int) -> str:
    """The name of a lookup's start."""
    return f"research {place} begun"


def research_ended(place: int) -> str:
    """The name of a lookup's end."""
    return f"research {place} ended"
