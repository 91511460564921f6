"""The quality of audits and the catalogue, hour by hour."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from contracts.v1.codes import Code, Hour
from contracts.v1.event import OnceEvent
from contracts.v1.ids import metric_id


class MetricSampled(OnceEvent, subject="metric.sampled", key="metric_id"):
    """A metric at the beginning of an hour, over the 24 hours before it; only the first sample of an hour is stored.

    Shapes: `n` is the number of cases. `target` is what `value` should reach, or not exceed if `at_most`; None if the
    metric has no target, or too few cases.
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
        """The id of the metric's sample of the hour."""
        return metric_id(self.type, self.category, self.slot)
