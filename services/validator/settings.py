"""Settings of the validator: concurrency, and how sources are checked."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from kit.web.contact import ContactUrl, contact_url_field


class ValidatorSettings(BaseSettings):
    """`OPENERRATA_VALIDATOR_*`."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_VALIDATOR_", frozen=True, extra="ignore")

    slots: int = Field(default=4, ge=1, description="claims validated at once in this process")
    unchecked_sources: Literal["refuse", "allow"] = Field(
        default="refuse", description="whether a claim may rest on sources that could not be checked"
    )
    contact_url: ContactUrl = contact_url_field(
        "VALIDATOR", "where cited sites can reach the operator, part of the User-Agent"
    )
    page_s: float = Field(default=20.0, gt=0, description="longest wait for one cited page")
    page_bytes: int = Field(default=5_000_000, ge=1, description="longest cited page read")
    page_origin: str | None = Field(
        default=None,
        pattern="^https?://[^/@]+$",
        description="one origin whose pages are fetched though it may be private",
    )
