"""Settings of the investigator: concurrency, limits of a run, access to the web."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from analyses.submission import SUBMIT_CORRECTION
from kit.models.base import Limits
from kit.web.contact import ContactUrl, contact_url_field

MICRO_PER_USD = 1_000_000
_ORIGIN = "^https?://[^/@]+$"


class InvestigatorSettings(BaseSettings):
    """`OPENERRATA_INVESTIGATOR_*`."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_INVESTIGATOR_", frozen=True, extra="ignore")

    slots: int = Field(default=8, ge=1, description="investigations at once in this process, on the instance's keys")
    reader_slots: int = Field(default=6, ge=1, description="the same on readers' own keys")
    run_s: float = Field(default=3_600.0, gt=0, description="longest duration of one attempt; then the run ends")
    max_rounds: int = Field(default=150, ge=1, description="answers of the model in one run")
    max_tokens: int | None = Field(default=None, ge=1, description="tokens of one run, in and out together")
    max_cost_usd: float | None = Field(default=None, gt=0, description="money one run may cost")
    max_submissions: int = Field(default=50, ge=1, description="new claims that one run may submit")
    contact_url: ContactUrl = contact_url_field(
        "INVESTIGATOR", "where hosts of pages and pictures can reach the operator, part of the User-Agent"
    )
    pictures_s: float = Field(default=20.0, gt=0, description="longest wait for all pictures of a post together")
    picture_origin: str | None = Field(
        default=None,
        pattern=_ORIGIN,
        description="one origin whose pictures are fetched though it may be private",
    )
    page_origin: str | None = Field(
        default=None,
        pattern=_ORIGIN,
        description="one origin whose pages the model may read though it may be private",
    )

    @property
    def limits(self) -> Limits:
        """The limits of a run."""
        cost = None if self.max_cost_usd is None else round(self.max_cost_usd * MICRO_PER_USD)
        decisions = {SUBMIT_CORRECTION.name: self.max_submissions}
        return Limits(self.max_rounds, self.max_tokens, cost, decisions)
