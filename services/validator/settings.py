"""How many claims one process judges at once."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class ValidatorSettings(BaseSettings):
    """`OPENERRATA_VALIDATOR_*`."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_VALIDATOR_", frozen=True, extra="ignore")

    slots: int = Field(default=4, ge=1, description="claims judged at once in this process")
