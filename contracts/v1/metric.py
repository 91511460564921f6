"""How well audits and the catalogue do, hour by hour."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from contracts.v1.codes import Code, Hour
from contracts.v1.event import OnceEvent
from contracts.v1.ids import metric_id


class MetricSampled(OnceEvent, subject="metric.sampled", key="metric_id"):
    """A metric at the beginning of an hour, over the 24 hours before it; the first sample of an hour stands.

    Shapes: `n` is how many were counted. `target` is what `value` should reach, or stay below where `at_most`; None:
    it is only watched, or too few were counted.
    """

    slot: Hour
    type: Code
    category: Code
    value: float
    target: float | None = None
    at_most: bool = False
    n: int = Field(ge=1)

    @property
    def metric_id(self) -> UUID:
        """That of the metric and the hour."""
        return metric_id(self.type, self.category, self.slot)
