"""Metrics of jobs that are not closed, by which a stuck fold is noticed.

Ages are computed when the metrics are read, so they grow even if the fold does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from prometheus_client import CollectorRegistry, Gauge

from contracts.v1 import Event


class OpenJobs:
    """When each open job was requested. Units: times of the log, UTC."""

    def __init__(self, registry: CollectorRegistry, now: Callable[[], datetime]) -> None:
        self._now = now
        self._since: dict[str, datetime] = {}
        self._position = Gauge(
            "openerrata_auditor_conclude_position", "Last sequence that the fold of jobs read", registry=registry
        )
        count = Gauge("openerrata_auditor_open_jobs", "Jobs that are not closed", registry=registry)
        count.set_function(lambda: len(self._since))
        oldest = Gauge(
            "openerrata_auditor_oldest_job_seconds", "Age of the oldest job that is not closed", registry=registry
        )
        oldest.set_function(self._age)

    def seen(self, sequence: int, key: str, event: Event, at: datetime) -> None:
        """A fact of an open job was folded."""
        self._position.set(sequence)
        self._since.setdefault(key, at)

    def passed(self, sequence: int) -> None:
        """A fact that concerns no open job was folded."""
        self._position.set(sequence)

    def ended(self, key: str) -> None:
        """A job is closed."""
        self._since.pop(key, None)

    def clear(self) -> None:
        """The fold starts again."""
        self._since.clear()

    def _age(self) -> float:
        oldest = min(self._since.values(), default=None)
        return 0.0 if oldest is None else max(0.0, (self._now() - oldest).total_seconds())
