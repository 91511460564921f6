"""What operators see of the claim cache and of evidence. Labels are codes of ours, never what a model wrote."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

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
        """A claim that was looked up."""
        self._looks.labels(outcome.lower()).inc()

    def count_shared_key(self) -> None:
        """An assertion that only its guard keeps apart from another."""
        self._shared.inc()

    def count_evidence(self, kept: int, dropped: DroppedEvidence) -> None:
        """The evidence of an analysis."""
        self._kept.inc(kept)
        for reason, count in dropped:
            self._dropped.labels(reason).inc(count)
