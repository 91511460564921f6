"""What the fold that concludes has open, for whoever has to see that it stands still.

An investigation that has its draft waits for verdicts and for the fold alone: minutes at most. Ages are taken when
somebody asks, so they grow also while the fold does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from prometheus_client import CollectorRegistry, Gauge

from contracts.v1 import Event, InvestigationDrafted, InvestigationRequested


class Waiting:
    """Since when each investigation is open, and since when it has its draft. Units: times of the log, UTC."""

    def __init__(self, registry: CollectorRegistry, now: Callable[[], datetime]) -> None:
        self._now = now
        self._open: dict[str, datetime] = {}
        self._drafted: dict[str, datetime] = {}
        self._position = Gauge("openerrata_conclude_position", "Last sequence that was folded", registry=registry)
        count = Gauge("openerrata_conclude_open", "Investigations that have not ended", registry=registry)
        count.set_function(lambda: len(self._open))
        oldest = Gauge(
            "openerrata_conclude_oldest_seconds",
            "Age of the oldest investigation that has not ended, since its request and since its draft",
            ("since",),
            registry=registry,
        )
        oldest.labels("requested").set_function(lambda: self._age(self._open))
        oldest.labels("drafted").set_function(lambda: self._age(self._drafted))

    def seen(self, sequence: int, key: str, event: Event, at: datetime) -> None:
        """A fact of an open investigation was folded."""
        self._position.set(sequence)
        self._open.setdefault(key, at)
        if isinstance(event, InvestigationDrafted):
            self._drafted.setdefault(key, at)
        elif isinstance(event, InvestigationRequested):  # another round has no draft yet
            self._drafted.pop(key, None)

    def passed(self, sequence: int) -> None:
        """A fact of an investigation that is over was folded."""
        self._position.set(sequence)

    def ended(self, key: str) -> None:
        """An investigation is over."""
        self._open.pop(key, None)
        self._drafted.pop(key, None)

    def clear(self) -> None:
        """The fold begins again."""
        self._open.clear()
        self._drafted.clear()

    def _age(self, since: dict[str, datetime]) -> float:
        return max(0.0, (self._now() - min(since.values())).total_seconds()) if since else 0.0
