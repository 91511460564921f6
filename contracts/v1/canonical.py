"""What the site itself answers about an observed post."""

from __future__ import annotations

from typing import ClassVar

from contracts.v1.event import Event
from contracts.v1.pages import CanonicalPage, Observation


class CanonicalFetched(Event):
    """The site served the page; `page.post` is the identity it states, which may differ from the observed one."""

    SUBJECT: ClassVar[str] = "errata.v1.canonical.fetched"

    observation: Observation
    page: CanonicalPage

    def key(self) -> str:
        return str(self.observation.observation_id)


class CanonicalUnavailable(Event):
    """The site could not confirm the page; `reason` is a short code, `detail` one sentence for an operator."""

    SUBJECT: ClassVar[str] = "errata.v1.canonical.unavailable"

    observation: Observation
    reason: str
    detail: str = ""

    def key(self) -> str:
        return str(self.observation.observation_id)
