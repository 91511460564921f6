"""Reads the log for the investigator."""

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
from kit.history import read_history, read_latest, read_latest_from_leader
from lifecycle.investigation import LoggedEvent
from services.investigator.pictures import Pictures
from services.investigator.ports import Blobs
from services.investigator.snapshot import add_markdown, choose_snapshot


class EventLog:
    """Histories and snapshots, read from the log each time."""

    def __init__(self, bus: Bus, texts: Blobs, pictures: Pictures) -> None:
        self._bus = bus
        self._texts = texts
        self._pictures = pictures

    async def history(self, investigation_id: UUID) -> Sequence[LoggedEvent]:
        return await read_history(self._bus, str(investigation_id))

    async def snapshot(self, version_id: UUID) -> InvestigationInput | None:
        """The version's text, Markdown and pictures, with the best provenance and the newest metadata."""
        subjects = [f"{event.SUBJECT}.{version_id}" for event in (VersionRegistered, VersionVerified, VersionSeen)]
        found = await read_latest(self._bus, *subjects)
        found = found or await read_latest_from_leader(self._bus, *subjects)  # a replica may lag
        facts = [past.envelope.event for past in found]
        snapshot = choose_snapshot([fact for fact in facts if isinstance(fact, VersionEvent)])
        if snapshot is None:
            return None
        input_ = await add_markdown(snapshot, self._texts)
        return input_.model_copy(update={"pictures": await self._pictures.gather(snapshot.occurrences)})
