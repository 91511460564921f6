"""Settings of the auditor: concurrency, receipts, and access to the web."""

from __future__ import annotations

from decimal import Decimal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from analyses.claims.labels import LOW_CONFIDENCE
from kit.web.contact import PUBLIC_URL, ContactUrl, contact_url_field


class AuditorSettings(BaseSettings):
    """`OPENERRATA_AUDITOR_*`."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_AUDITOR_", frozen=True, extra="ignore")

    slots: int = Field(default=4, ge=1, description="jobs at once in this process that are fetched and extracted")
    claim_slots: int = Field(default=4, ge=1, description="claims at once in this process that are analysed")
    assess_slots: int = Field(default=2, ge=1, description="articles at once in this process that are assessed")
    receipt_key: SecretStr | None = None
    public_url: str = Field(
        default="",
        pattern=r"^(https?://[^\s/]+/?)?$",
        validation_alias=AliasChoices("OPENERRATA_AUDITOR_PUBLIC_URL", PUBLIC_URL),
    )
    top_up: str = Field(
        default="Ask the operator of this instance for more credit.",
        description="what an account without credit reads in a result of cache-only mode",
    )
    pro_tier: str = Field(
        default="Ask the operator of this instance for the tier pro.", description="the same about a higher tier"
    )
    confidence_floor: Decimal = Field(
        default=LOW_CONFIDENCE, ge=0, le=1, description="confidence below which a verdict is Unclear"
    )
    contact_url: ContactUrl = contact_url_field(
        "AUDITOR", "where hosts of articles and sources can reach the operator, part of the User-Agent"
    )
    page_origin: str | None = Field(
        default=None,
        pattern="^https?://[^/@]+$",
        description="one origin whose pages are read though it may be private",
    )
