"""How often posts are picked, and how many a day."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class SelectorSettings(BaseSettings):
    """`OPENERRATA_SELECTOR_*`. `budget_per_day` 0 switches the selector off."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_SELECTOR_", frozen=True, extra="ignore")

    analysis: str = "FACT_CHECK"
    interval_s: float = Field(default=300.0, gt=0)
    budget_per_day: int = Field(default=100, ge=0)
    batch: int = Field(default=20, ge=1, description="most investigations requested in one round")
