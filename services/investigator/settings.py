"""How many investigations one process runs at once."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class InvestigatorSettings(BaseSettings):
    """`OPENERRATA_INVESTIGATOR_*`."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_INVESTIGATOR_", frozen=True, extra="ignore")

    slots: int = Field(default=8, ge=1, description="investigations at once in this process")
