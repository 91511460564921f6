"""A reader's browser saw a post."""

from __future__ import annotations

from typing import ClassVar

from contracts.v1.event import Event
from contracts.v1.parts import Observation


class ObservationReceived(Event):
    """The gateway accepted what a reader's browser saw; nothing has been checked against the site yet.

    Where a site has no public source it is stored only if ingest could not answer it at once.
    """

    SUBJECT: ClassVar[str] = "errata.v1.observation.received"

    observation: Observation

    def key(self) -> str:
        return str(self.observation.observation_id)
