"""Logs and metrics; one registry per process."""

from __future__ import annotations

import logging
import os
import sys
from typing import TextIO

import orjson
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Telemetry:
    """The metrics that every service has; services add their own to `registry`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.service = Gauge(
            "openerrata_service", "1 for each service that this process runs", ("service",), registry=self.registry
        )
        # Looking a metric up by its labels costs more than counting.
        self._deliveries: dict[tuple[str, str], Histogram] = {}
        self._facts: dict[str, Counter] = {}
        self._handled = Histogram(
            "openerrata_handled_seconds",
            "Time from delivery to acknowledgement of one message",
            ("consumer", "outcome"),
            buckets=BUCKETS_S,
            registry=self.registry,
        )
        self._published = Counter(
            "openerrata_published_total", "Facts sent to the log", ("subject",), registry=self.registry
        )
        self.position = Gauge(
            "openerrata_projector_position", "Last sequence in the read model", ("stream",), registry=self.registry
        )
        self.lag = Gauge(
            "openerrata_consumer_lag", "Messages waiting for a consumer", ("consumer",), registry=self.registry
        )
        self.oldest = Gauge(
            "openerrata_consumer_oldest_seconds",
            "Age of the oldest message a consumer has not acknowledged",
            ("consumer",),
            registry=self.registry,
        )
        self.paused = Gauge(
            "openerrata_consumer_paused",
            "1 while a consumer is paused after too many dead letters",
            ("consumer",),
            registry=self.registry,
        )
        self.dead = Gauge(
            "openerrata_dead_letters",
            "Dead letters that wait for an operator's decision",
            ("consumer",),
            registry=self.registry,
        )
        self.succeeded = Gauge(
            "openerrata_task_success_timestamp_seconds",
            "When an operator's task last succeeded; 0 if never",
            ("task",),
            registry=self.registry,
        )
        self.failing = Gauge(
            "openerrata_check_failing",
            "1 while a check of readiness fails: a server, or a loop of this process",
            ("check",),
            registry=self.registry,
        )
        self.free = Gauge(
            "openerrata_disk_free_bytes", "Free space on the disk of the embedded servers", registry=self.registry
        )
        self.last = Gauge("openerrata_stream_last", "Last sequence of a stream", ("stream",), registry=self.registry)

    def observe_delivery(self, consumer: str, outcome: str, seconds: float) -> None:
        """Record the outcome and the duration of a delivery."""
        found = self._deliveries.get((consumer, outcome))
        if found is None:
            found = self._deliveries[consumer, outcome] = self._handled.labels(consumer, outcome)
        found.observe(seconds)

    def count_published(self, subject: str) -> None:
        """Count a fact that was sent."""
        found = self._facts.get(subject)
        if found is None:
            found = self._facts[subject] = self._published.labels(subject)
        found.inc()

    def render(self) -> bytes:
        """The registry in Prometheus' text format."""
        return generate_latest(self.registry)


def configure_logging(stream: TextIO = sys.stderr, *, level: str = "info") -> None:
    """Log to `stream`: readable on a terminal, in colours unless NO_COLOR is set; one JSON object a line elsewhere."""
    terminal = stream.isatty()
    colors = not os.environ.get("NO_COLOR")
    renderer: structlog.typing.Processor = (
        # With `rich` installed the default shows the values of variables: keys, and strangers' words.
        structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)
        if terminal
        else structlog.processors.JSONRenderer(serializer=_json)
    )
    processors: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if not terminal:
        processors.append(structlog.processors.format_exc_info)
    structlog.configure(
        processors=[*processors, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=True,
    )
    libraries = logging.StreamHandler(stream)
    libraries.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *processors],
        )
    )
    logging.basicConfig(handlers=[libraries], level=logging.WARNING, force=True)
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # it logs each retry; kit.blobs logs the result


def _json(event: object, **options: object) -> str:
    return orjson.dumps(event, default=str).decode()
