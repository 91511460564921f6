"""When things happened, by the name of the moment: the clock says it in a live run, the record in a repeated one.

A provider that asked the clock itself would give a repeated run another transcript, and so another hash in its event.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from contracts.transcript import Transcript
from kit.clock import Clock


class Stamps(Protocol):
    """Tells the time of a moment."""

    def at(self, moment: str) -> datetime:
        """The time of a moment; each is asked for once."""
        ...


class LiveStamps:
    """Every moment is now."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def at(self, moment: str) -> datetime:
        """The current time."""
        return self._clock.now()


class RecordedStamps:
    """Moments of a run on record. One that is not there is told by `then`, or has the time of the last one that is."""

    def __init__(self, transcript: Transcript, then: Stamps | None = None) -> None:
        self._then = then
        self._times: dict[str, datetime] = {}
        for number, call in enumerate(transcript.calls):
            self._note(asked(number), call.started_at)
            self._note(answered(number), call.completed_at)
        for place, research in enumerate(transcript.research):
            self._note(researched(place), research.started_at)
            self._note(found(place), research.completed_at)

    def at(self, moment: str) -> datetime:
        """The time on record."""
        known = self._times.get(moment)
        if known is None and self._then is not None:
            return self._then.at(moment)
        return known or max(self._times.values(), default=datetime.min)

    def _note(self, moment: str, time: datetime | None) -> None:
        if time is not None:
            self._times[moment] = time


def asked(call: int) -> str:
    """A call was made."""
    return f"call {call} asked"


def answered(call: int) -> str:
    """A call had ended."""
    return f"call {call} answered"


def researched(place: int) -> str:
    """We began to look something up for the model."""
    return f"research {place} begun"


def found(place: int) -> str:
    """We had looked it up."""
    return f"research {place} ended"
