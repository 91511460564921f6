"""The gateway's metrics. Labels come from the table of procedures only, never from what a client sent."""

from __future__ import annotations

from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Histogram

BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The gateway's metrics in the process's registry; series are cached, since every request is counted."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seconds = Histogram(
            "openerrata_gateway_request_seconds",
            "Time from the first byte of a request to its reply",
            ("procedure", "status"),
            buckets=BUCKETS_S,
            registry=registry,
        )
        attested = Counter(
            "openerrata_gateway_attested",
            "Signatures of request bodies, a signal only",
            ("signature",),
            registry=registry,
        )
        self._attested = {
            None: attested.labels("absent"),
            True: attested.labels("valid"),
            False: attested.labels("invalid"),
        }
        refused = Counter(
            "openerrata_gateway_refused_observations",
            "New observations that were not taken: too much from one network, or no room",
            ("why",),
            registry=registry,
        )
        self._refused = {why: refused.labels(why) for why in ("quota", "space")}
        self._series: dict[tuple[str, int], Histogram] = {}

    def request(self, procedure: str, status: int, seconds: float) -> None:
        """Count one request."""
        series = self._series.get((procedure, status))
        if series is None:
            series = self._series[procedure, status] = self._seconds.labels(procedure, str(status))
        series.observe(seconds)

    def refused(self, why: Literal["quota", "space"]) -> None:
        """Count one observation that was not admitted."""
        self._refused[why].inc()

    def attested(self, attested: bool | None) -> None:
        """Count one signature."""
        self._attested[attested].inc()
