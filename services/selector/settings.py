"""Settings of the selector: interval and daily budget."""

from __future__ import annotations

from decimal import Decimal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.selector.domain import Budget

MICRO = 1_000_000


class SelectorSettings(BaseSettings):
    """`OPENERRATA_SELECTOR_*`. `runs_per_day` 0 switches the selector off."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_SELECTOR_", frozen=True, extra="ignore")

    analysis: str = "FACT_CHECK"
    interval_s: float = Field(default=300.0, gt=0)
    runs_per_day: int = Field(default=100, ge=0, description="investigations requested per UTC day")
    usd_per_day: Decimal | None = Field(default=None, ge=0, description="spent on them per UTC day; unset: no limit")
    batch: int = Field(default=20, ge=1, description="most investigations requested in one round")
    patience_s: float = Field(default=300.0, ge=0, description="seconds overdue after which a run may be lost")

    @property
    def budget(self) -> Budget:
        """The budget of a day."""
        return Budget(self.runs_per_day, None if self.usd_per_day is None else int(self.usd_per_day * MICRO))
