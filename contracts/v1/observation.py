"""Observations: what a reader's browser saw of a post."""

from __future__ import annotations

from contracts.v1.event import Event
from contracts.v1.pages import Observation


class ObservationEvent(Event):
    """Base of the events by which the gateway accepts an observation."""

    observation: Observation

    def key(self) -> str:
        return str(self.observation.observation_id)


class ObservationReceived(ObservationEvent, subject="observation.received"):
    """The gateway accepted an observation that is not yet verified with its site."""


class ObservationUnverifiable(ObservationEvent, subject="observation.unverifiable"):
    """The gateway accepted an observation of a site without a public source, which cannot be verified.

    It is stored only if ingest did not answer the direct request.
    """
