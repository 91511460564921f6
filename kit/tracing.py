"""Optional traces: one span for each delivery; the correlation id is the trace id.

Without `OTEL_EXPORTER_OTLP_ENDPOINT` nothing is imported and nothing is recorded. A span is recorded when the work has
ended, without waiting for the collector; spans that the collector does not accept are lost.
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
    """Records spans."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("openerrata")

    def record(
        self, name: str, correlation: UUID, ended_at: datetime, seconds: float, outcome: str, **attributes: str | int
    ) -> None:
        """Record work that has just ended. Shapes: all spans of a correlation are siblings in the trace of that id."""
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
        """Send the remaining spans, for a few seconds at most."""
        self._provider.shutdown()


def make_spans(service: str) -> Spans | None:
    """The recorder of spans, None if no endpoint is set. The other `OTEL_…` variables are read by the library.

    Raises: SettingsError: the endpoint is set, but the extra `tracing` is not installed.
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
