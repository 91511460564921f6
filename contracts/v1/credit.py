"""An account's credit for one month. The newest event has the whole state, so the stream can order all changes."""

from __future__ import annotations

from datetime import date
from typing import Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from contracts.v1.codes import MicroUsd, Month
from contracts.v1.event import OnceEvent
from contracts.v1.parts import Value

CreditEntry = Literal["RESERVED", "SETTLED", "RELEASED", "EXTRACTION", "ADJUSTED"]


class Reservation(Value):
    """Credit set aside for a job that has not ended. Units: millionths of a US dollar."""

    job_id: UUID
    micro_usd: MicroUsd


class CreditPosted(OnceEvent, subject="credit.posted", key="period_id"):
    """An entry in a period of an account, and the state after it; `follows` is the period's previous entry.

    Shapes: RESERVED, SETTLED and RELEASED name a job of mode CREDIT, EXTRACTION one of mode CACHE_ONLY; ADJUSTED
    has an `adjustment_id` instead, so that two corrections at the same time are distinct.
    `micro_usd` is the amount reserved, charged or released; for ADJUSTED what was added to the used amount, possibly
    negative; 0 for EXTRACTION. The state is `limit_micro_usd` (None: no limit), whether it is `hard`, `used_micro_usd`,
    the reservations in `open`, and how many `extractions` were made on `extraction_day` (UTC).
    """

    period_id: UUID
    account_id: UUID
    month: Month
    entry: CreditEntry
    job_id: UUID | None = None
    adjustment_id: UUID | None = None
    micro_usd: int
    limit_micro_usd: MicroUsd | None = None
    hard: bool
    used_micro_usd: MicroUsd
    open: tuple[Reservation, ...] = ()
    extraction_day: date | None = None
    extractions: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _names_its_job(self) -> Self:
        if (self.job_id is None, self.adjustment_id is not None) != (self.entry == "ADJUSTED",) * 2:
            raise ValueError("ADJUSTED has an adjustment_id, every other entry a job_id")
        return self

    def identity(self) -> str:
        return f"{self.job_id or self.adjustment_id}|{self.entry}"
