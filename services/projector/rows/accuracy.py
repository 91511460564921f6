"""Variants, breakers and controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from services.projector.rows.table import Table, columns_but, row


@row
class Variant:
    """The volume of a variant, as its newest event left it."""

    variant: str
    parts: Mapping[str, object]
    state: str
    quota: int | None
    step: int
    clean: int
    after_wrong: bool
    gate_tier: str
    since: datetime
    through: int
    why: str
    by: str
    announced_at: datetime
    changed_at: datetime
    sequence: int


@row
class Breaker:
    """The state of a breaker, as its newest event left it. Shapes: `triggers` since it opened last."""

    scope: str
    state: str
    triggers: Sequence[Mapping[str, object]]
    cause: str | None
    by: str
    quota: int | None
    opened_at: datetime | None
    since: datetime | None
    since_sequence: int
    changed_at: datetime
    sequence: int


@row
class ControlBatch:
    """A list of controls that was committed to."""

    id: UUID
    commitment: str
    size: int
    closes_at: datetime
    committed_at: datetime
    opened_at: datetime | None = None


@row
class ControlRun:
    """A control that was requested. Shapes: `salt` and `outcome` are set once its list is open."""

    investigation_id: UUID
    batch_id: UUID
    post_version_id: UUID
    requested_at: datetime
    salt: str | None = None
    outcome: str | None = None


VARIANTS: Final = Table("variant", Variant, ("variant",), columns_but(Variant, "variant", "announced_at"))
BREAKERS: Final = Table("breaker", Breaker, ("scope",), columns_but(Breaker, "scope"))
CONTROL_BATCHES: Final = Table("control_batch", ControlBatch, ("id",), ("opened_at",))
CONTROL_RUNS: Final = Table("control_run", ControlRun, ("investigation_id",), ("salt", "outcome"))
