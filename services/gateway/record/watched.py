"""What stops findings from being displayed: breakers, controls, and how much of each variant is displayed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from accuracy.bounds import upper_bound
from contracts.v1.breaker import BreakerState, BreakerTrigger
from contracts.v1.variant import VolumeState
from services.gateway.record.connection import Queries

_BREAKERS: Final = sql("""
    SELECT b.scope, b.state, b.triggers, b.cause, b.by, b.opened_at, b.changed_at,
        v.provider, v.model, q.version AS prompt_version
    FROM breaker b
    LEFT JOIN LATERAL (
        SELECT provider, model, prompt_hash FROM investigation WHERE variant = b.scope LIMIT 1
    ) v ON true
    LEFT JOIN prompt q ON q.hash = v.prompt_hash
    ORDER BY b.state = 'CLOSED', b.changed_at DESC, b.scope
""")
_VARIANTS: Final = sql("""
    SELECT variant, parts->>'provider' AS provider, parts->>'model' AS model,
        parts->>'prompt_version' AS prompt_version, state, quota, why, by, changed_at
    FROM variant ORDER BY changed_at DESC, variant
""")
_CONTROLS: Final = sql("""
    SELECT count(*) AS lists, count(opened_at) AS opened, CAST(coalesce(sum(size), 0) AS bigint) AS committed,
        (SELECT count(*) FROM control_run WHERE outcome IN ('CLEAN', 'FLAGGED')) AS ran,
        (SELECT count(*) FROM control_run WHERE outcome = 'FLAGGED') AS flagged
    FROM control_batch
""")
_WHICH: Final = sql("SELECT id FROM investigation WHERE id = ANY (CAST(:ids AS uuid[])) AND origin = 'CONTROL'")


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerShown:
    """What opened a breaker, with its numbers in words."""

    trigger: BreakerTrigger
    numbers: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerShown:
    """A breaker. Shapes: provider, model and prompt are those of a variant, and None for ALL and NEW."""

    scope: str
    state: BreakerState
    triggers: tuple[TriggerShown, ...]
    cause: str | None
    by: str
    opened_at: datetime | None
    changed_at: datetime
    provider: str | None
    model: str | None
    prompt_version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantShown:
    """How much of a variant is displayed. Units: `quota` in findings a day; None: any number."""

    variant: str
    provider: str
    model: str
    prompt_version: str
    state: VolumeState
    quota: int | None
    why: str
    by: str
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlCounts:
    """Controls. Shapes: `committed` counts the posts in all lists, `ran` and `flagged` those in opened lists."""

    lists: int = 0
    opened: int = 0
    committed: int = 0
    ran: int = 0
    flagged: int = 0

    @property
    def flagged_at_most(self) -> float | None:
        """The exact upper bound of the flagged share, at 95 % confidence; None if no control ran."""
        return upper_bound(self.flagged, self.ran) if self.ran else None


@dataclass(frozen=True, slots=True)
class WatchedRecord:
    """Every breaker that was ever open, every variant with a volume, and what controls say."""

    breakers: tuple[BreakerShown, ...] = ()
    variants: tuple[VariantShown, ...] = ()
    controls: ControlCounts = ControlCounts()


class WatchedQueries(Queries):
    """Queries of breakers, variants and controls."""

    async def read(self) -> WatchedRecord:
        """All breakers, variants and counts of controls; there are few of each."""
        controls = await self._one(ControlCounts, _CONTROLS)
        return WatchedRecord(
            tuple(await self._all(BreakerShown, _BREAKERS)),
            tuple(await self._all(VariantShown, _VARIANTS)),
            controls or ControlCounts(),
        )

    async def find_controls(self, investigations: Collection[UUID]) -> Collection[UUID]:
        """The controls among these investigations."""
        return {*await self._scalars(_WHICH, ids=list(investigations))}
