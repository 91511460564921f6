"""Facts as the log holds them."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from contracts.v1 import Envelope, Event
from kit.history import StoredFact
from lifecycle.investigation import Investigation
from tests.support.factories import NOW

CORRELATION = UUID(int=1)


def entry(sequence: int, event: Event) -> StoredFact:
    """One fact at its place in the log."""
    return StoredFact(sequence, Envelope(id=event.event_id(), occurred_at=NOW, correlation=CORRELATION, event=event))


def logged(*events: Event, first: int = 1, apart: int = 1) -> list[StoredFact]:
    """Facts in the order of the log, from the sequence `first` on, `apart` sequences apart."""
    return [entry(first + apart * number, event) for number, event in enumerate(events)]


def lived(events: Sequence[Event], *, first: int = 1, apart: int = 1) -> Investigation | None:
    """The investigation that these facts are about."""
    return Investigation.fold(logged(*events, first=first, apart=apart))
