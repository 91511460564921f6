"""Settings of the projector."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.projector.projections.views import VIEW_RULES, ViewRules


class ProjectorSettings(BaseSettings):
    """`OPENERRATA_PROJECTOR_*`. A change of the rules for views applies to new facts, and to all after a rebuild."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_PROJECTOR_", frozen=True, extra="ignore")

    ip_range_credit_cap: int = Field(default=VIEW_RULES.credit_cap, ge=0)
    corroborating_ranges: int = Field(default=VIEW_RULES.corroborating_ranges, ge=1)
    batch: int = Field(default=500, ge=1, le=5_000)

    @property
    def view_rules(self) -> ViewRules:
        """The limits on what views count."""
        return ViewRules(self.ip_range_credit_cap, self.corroborating_ranges)
