"""Contradictions between what a reader sent and what the site says."""

from __future__ import annotations

from uuid import UUID

from contracts.v1.event import Event
from contracts.v1.parts import PostRef


class IntegrityAnomalyDetected(
    Event, subject="integrity.anomaly_detected", key="post_id", identity=("observation_id", "kind")
):
    """Observed and canonical values differ; the site's text was used, and the observation was accepted."""

    post_id: UUID
    post: PostRef
    observation_id: UUID
    kind: str
    observed: str
    canonical: str
