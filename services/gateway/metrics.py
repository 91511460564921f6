"""What the gateway counts. Labels come from the table of procedures only, never from what a client sent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


@dataclass(slots=True)
class Outcome:
    """How a request ended."""

    status: int = 500


class Metrics:
    """The gateway's own metrics in the process's registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seconds = Histogram(
            "openerrata_gateway_request_seconds",
            "Time from the first byte of a request to its reply",
            ("procedure",),
            buckets=BUCKETS_S,
            registry=registry,
        )
        self._requests = Counter(
            "openerrata_gateway_requests", "Requests by outcome", ("procedure", "status"), registry=registry
        )
        self._attested = Counter(
            "openerrata_gateway_attested",
            "Signatures of request bodies, a signal only",
            ("signature",),
            registry=registry,
        )

    @contextmanager
    def request(self, procedure: str) -> Iterator[Outcome]:
        """Count one request."""
        outcome = Outcome()
        started = time.perf_counter()
        try:
            yield outcome
        finally:
            self._seconds.labels(procedure).observe(time.perf_counter() - started)
            self._requests.labels(procedure, str(outcome.status)).inc()

    def attested(self, attested: bool | None) -> None:
        """Count one signature."""
        self._attested.labels("absent" if attested is None else "valid" if attested else "invalid").inc()
