"""Metrics of the claim cache, evidence and open jobs. Labels are our own codes, never a model's words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge

from contracts.v1 import Event
from contracts.v1.assertion import DroppedEvidence
from contracts.v1.job import LookOutcome


class AuditorMetrics:
    """Counters in the process's registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._looks = Counter(
            "openerrata_auditor_lookups_total", "Claims by what their look-up led to", ("outcome",), registry=registry
        )
        self._shared = Counter(
            "openerrata_auditor_shared_keys_total",
            "New assertions whose published key another assertion has",
            registry=registry,
        )
        self._kept = Counter("openerrata_auditor_evidence_total", "Evidence whose quotes stand", registry=registry)
        self._dropped = Counter(
            "openerrata_auditor_evidence_dropped_total", "Evidence that does not stand", ("reason",), registry=registry
        )
        for reason in DroppedEvidence.model_fields:
            self._dropped.labels(reason)

    def count_look(self, outcome: LookOutcome) -> None:
        """Count a claim that was looked up."""
        self._looks.labels(outcome.lower()).inc()

    def count_shared_key(self) -> None:
        """Count an assertion that differs from another only by its guard."""
        self._shared.inc()

    def count_evidence(self, kept: int, dropped: DroppedEvidence) -> None:
        """Count the evidence of an analysis."""
        self._kept.inc(kept)
        for reason, count in dropped:
            self._dropped.labels(reason).inc(count)


class OpenJobs:
    """When each open job was requested, which shows a stuck fold. Units: times of the log, UTC.

    Ages are computed when the metrics are read, so they grow even if the fold does nothing.
    """

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
