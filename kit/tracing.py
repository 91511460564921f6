"""Traces on request: one span for each delivery, and the correlation is the trace, so a trace is one story.

Without `OTEL_EXPORTER_OTLP_ENDPOINT` nothing is imported and nothing is recorded. A span is written when the work has
ended and never waits for the collector; what the collector does not take is lost.
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kit.settings import SettingsError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_LOW: Final = (1 << 64) - 1


class Spans:
    """Where spans go."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("openerrata")

    def record(
        self, name: str, correlation: UUID, ended_at: datetime, seconds: float, outcome: str, **attributes: str | int
    ) -> None:
        """Write what has just ended. Shapes: all spans of a correlation are siblings in the trace of that id."""
        from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context
        from opentelemetry.trace.status import Status, StatusCode

        root = SpanContext(
            correlation.int, correlation.int & _LOW or 1, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)
        )
        ended_ns = round(ended_at.timestamp() * 1e9)
        span = self._tracer.start_span(
            name,
            context=set_span_in_context(NonRecordingSpan(root)),
            attributes={"openerrata.outcome": outcome, **attributes},
            start_time=ended_ns - round(seconds * 1e9),
        )
        if outcome not in ("ok", "retry", "stale"):
            span.set_status(Status(StatusCode.ERROR, outcome))
        span.end(end_time=ended_ns)

    def close(self) -> None:
        """Send what is left, for a few seconds at most."""
        self._provider.shutdown()


def spans(service: str) -> Spans | None:
    """Where spans go, or None if nobody wants any. The provider's own variables (`OTEL_…`) say everything else.

    Raises: SettingsError: they are wanted, but the extra `tracing` is not installed.
    """
    if not os.environ.get(ENDPOINT):
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise SettingsError(f"{ENDPOINT} is set, but openerrata[tracing] is not installed") from error
    provider = TracerProvider(resource=Resource.create({"service.name": service}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=5)))
    return Spans(provider)
