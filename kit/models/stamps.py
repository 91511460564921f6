"""Timestamps by name: from the clock in a live run, from the record in a replay.

If code read the clock directly, a replay would have another transcript, and so another hash in its event.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Protocol

from contracts.transcript import Transcript
from kit.clock import Clock

Moment = Literal["call asked", "call answered", "research begun", "research ended"]


class Stamps(Protocol):
    """A source of timestamps."""

    def time_of(self, moment: Moment, number: int) -> datetime:
        """The time of a moment of the call or look-up with this number; called once for each."""


class LiveStamps:
    """Times from the clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def time_of(self, moment: Moment, number: int) -> datetime:
        """The current time."""
        return self._clock.now()


class RecordedStamps:
    """Times of a recorded run. An unrecorded moment gets its time from `then`, or else the last recorded time."""

    def __init__(self, transcript: Transcript, then: Stamps | None = None) -> None:
        self._then = then
        self._times: dict[tuple[Moment, int], datetime] = {}
        for number, call in enumerate(transcript.calls):
            self._note("call asked", number, call.started_at)
            self._note("call answered", number, call.completed_at)
        for number, research in enumerate(transcript.research):
            self._note("research begun", number, research.started_at)
            self._note("research ended", number, research.completed_at)

    def time_of(self, moment: Moment, number: int) -> datetime:
        """The time on record."""
        time = self._times.get((moment, number))
        if time is None and self._then is not None:
            return self._then.time_of(moment, number)
        return time or max(self._times.values(), default=datetime.min)

    def _note(self, moment: Moment, number: int, time: datetime | None) -> None:
        if time is not None:
            self._times[moment, number] = time
