"""What an operator may change about the projector."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class ProjectorSettings(BaseSettings):
    """`OPENERRATA_PROJECTOR_*`. A changed cap applies to facts not yet applied, and to everything after a rebuild."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_PROJECTOR_", frozen=True, extra="ignore")

    ip_range_credit_cap: int = Field(default=10, ge=0)
    batch: int = Field(default=500, ge=1, le=5_000)
