"""What breakers and earned volume do to a finding that is published now."""

from __future__ import annotations

from accuracy.breaker import Effect
from contracts.v1 import ClaimApproved
from kit.clock import Clock
from services.curator.breaking import find_effect
from services.curator.record.volumes import SqlVolumes
from services.curator.record.watched import SqlWatchRecord


class Effects:
    """Combines breakers and volume. Raises: Outage: the tables could not be read now."""

    def __init__(self, record: SqlWatchRecord, volumes: SqlVolumes, clock: Clock, *, announces: bool) -> None:
        self._record = record
        self._volumes = volumes
        self._clock = clock
        self._announces = announces

    async def current_effect(self, variant: str) -> Effect:
        """The stricter of both effects: SUSPEND displays nothing, HOLD nothing that is not displayed yet."""
        return max(find_effect(await self._record.breakers(), variant), await self._find_volume_effect(variant))

    async def of_approval(self, approval: ClaimApproved) -> Effect:
        """The same for an approved claim; a claim whose run is not in the tables counts as an unknown variant."""
        return await self.current_effect(await self._record.variant_of(approval.investigation_id) or "")

    async def _find_volume_effect(self, variant: str) -> Effect:
        now = self._clock.now()
        known = next((each for each in await self._volumes.known() if each.variant == variant), None)
        if known is None:
            return Effect.HOLD if self._announces else Effect.NONE
        if known.quota is None:
            return Effect.NONE
        is_used_up = await self._volumes.shown_on(variant, known.since, now) >= known.quota
        return Effect.HOLD if is_used_up else Effect.NONE
