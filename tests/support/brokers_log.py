"""The log as an investigator sees it, read from a real broker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from contracts.v1.parts import InvestigationInput
from kit.bus import Bus
from kit.history import StoredFact, read_history
from tests.support.factories import snapshot


@dataclass
class BrokersLog:
    """Reads history from the broker; the version is fixed. `asked` counts the reads."""

    bus: Bus
    asked: int = 0

    async def history(self, investigation_id: UUID) -> Sequence[StoredFact]:
        found = await read_history(self.bus, str(investigation_id))
        self.asked += 1
        return found

    async def snapshot(self, version_id: UUID) -> InvestigationInput | None:
        return snapshot()
