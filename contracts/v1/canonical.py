"""The site's own answers about an observed post."""

from __future__ import annotations

from contracts.v1.event import Event
from contracts.v1.pages import CanonicalPage, Observation


class CanonicalFetched(Event, subject="canonical.fetched"):
    """The site served the page; `page.post` is the identity it states, which may differ from the observed one."""

    observation: Observation
    page: CanonicalPage

    def key(self) -> str:
        return str(self.observation.observation_id)


class CanonicalUnavailable(Event, subject="canonical.unavailable"):
    """The site could not confirm the page; `reason` is a short code, `detail` one sentence for an operator."""

    observation: Observation
    reason: str
    detail: str = ""

    def key(self) -> str:
        return str(self.observation.observation_id)
