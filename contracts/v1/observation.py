"""Observations: what a reader's browser saw of a post."""

from __future__ import annotations

from typing import ClassVar

from contracts.v1.event import Event
from contracts.v1.pages import Observation


class ObservationEvent(Event):
    """Base of the events by which the gateway accepts an observation."""

    observation: Observation

    def key(self) -> str:
        return str(self.observation.observation_id)


class ObservationReceived(ObservationEvent):
    """The gateway accepted an observation, which is not verified with the site yet."""

    SUBJECT: ClassVar[str] = "errata.v1.observation.received"


class ObservationUnverifiable(ObservationEvent):
    """The gateway accepted an observation of a site without a public source, which cannot be verified.

    It is stored only if ingest did not answer the direct request.
    """

    SUBJECT: ClassVar[str] = "errata.v1.observation.unverifiable"
