"""How many investigations one process runs at once, and how it fetches pictures."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class InvestigatorSettings(BaseSettings):
    """`OPENERRATA_INVESTIGATOR_*`."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_INVESTIGATOR_", frozen=True, extra="ignore")

    slots: int = Field(default=8, ge=1, description="investigations at once in this process")
    contact_url: str = Field(
        default="",
        description="where picture hosts can reach the operator, part of the User-Agent; Wikimedia asks for one",
    )
    pictures_s: float = Field(default=20.0, gt=0, description="longest wait for all pictures of a post together")
    picture_origin: str | None = Field(
        default=None,
        pattern="^https?://[^/@]+$",
        description="one origin whose pictures are fetched though it may be private",
    )
