"""Contradictions between what a reader sent and what the site says."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from contracts.v1.event import Event
from contracts.v1.parts import PostRef


class IntegrityAnomalyDetected(Event):
    """Observed and canonical values differ; the site's text was used, and the observation was accepted."""

    SUBJECT: ClassVar[str] = "errata.v1.integrity.anomaly_detected"
    KEY: ClassVar[str] = "post_id"
    IDENTITY: ClassVar[tuple[str, ...]] = ("observation_id", "kind")

    post_id: UUID
    post: PostRef
    observation_id: UUID
    kind: str
    observed: str
    canonical: str
