"""The investigator's view of the log."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from contracts.v1 import (
    VersionRegistered,
    VersionSeen,
    VersionVerified,
)
from contracts.v1.parts import InvestigationInput
from contracts.v1.version import VersionEvent
from kit.bus import Bus
from kit.history import history, latest, standing
from lifecycle.investigation import LoggedEvent
from services.investigator.pictures import Pictures
from services.investigator.ports import Blobs
from services.investigator.snapshot import look, with_markdown


class EventLog:
    """History and snapshots, read from the log each time."""

    def __init__(self, bus: Bus, texts: Blobs, pictures: Pictures) -> None:
        self._bus = bus
        self._texts = texts
        self._pictures = pictures

    async def history(self, investigation_id: UUID) -> Sequence[LoggedEvent]:
        """One investigation's own facts in order."""
        return await history(self._bus, str(investigation_id))

    async def snapshot(self, version_id: UUID) -> InvestigationInput | None:
        """The version's text, Markdown and pictures, with the best provenance and newest description the log has."""
        subjects = [f"{event.SUBJECT}.{version_id}" for event in (VersionRegistered, VersionVerified, VersionSeen)]
        found = await latest(self._bus, *subjects) or await standing(self._bus, *subjects)  # a replica may lag
        facts = [past.envelope.event for past in found]
        seen = look([fact for fact in facts if isinstance(fact, VersionEvent)])
        if seen is None:
            return None
        taken = await with_markdown(seen, self._texts)
        return taken.model_copy(update={"pictures": await self._pictures.gather(seen.occurrences)})
