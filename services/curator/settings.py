"""Settings of the curator: how often it sweeps and compares labels, and its access to receivers of webhooks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from contracts.v1.codes import Word
from kit.settings import DisplaySettings, SettingsError
from kit.web.contact import ContactUrl, contact_url_field


class CuratorSettings(BaseSettings):
    """`OPENERRATA_CURATOR_*`."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_CURATOR_", frozen=True, extra="ignore")

    sweep_s: float = Field(default=3_600.0, gt=0, description="seconds between two deletions of expired texts")
    labels_s: float = Field(default=25.0, gt=0, description="seconds between two comparisons of labels with findings")
    watch_s: float = Field(default=10.0, gt=0, description="seconds between two looks at what may open a breaker")
    variants: Literal["off", "on"] = Field(
        default="off", description="whether a new variant has to earn what is displayed of it"
    )
    controls: Path | None = Field(
        default=None, description="folder of the lists of controls, which only the curator's user may read"
    )
    controls_a_day: int = Field(default=5, ge=0, description="controls that are requested in 24 hours")
    renewals_a_day: int = Field(
        default=0, ge=0, description="analyses in 24 hours that may be bought for stale entries of the catalogue"
    )
    initial_scores: Mapping[Word, Annotated[int, Field(ge=0, le=100)]] = Field(
        default_factory=dict,
        description="what publishers of a type begin with, beside journal 70 and unknown 30, as a JSON object",
    )
    webhook_slots: int = Field(default=8, ge=1, description="webhooks at once in this process that are sent")
    contact_url: ContactUrl = contact_url_field(
        "CURATOR", "where receivers of webhooks can reach the operator, part of the User-Agent"
    )
    webhook_origin: str | None = Field(
        default=None,
        pattern="^https://[^/@]+$",
        description="one origin, by a public name, that gets webhooks though its address may be private",
    )


def require_holds(settings: CuratorSettings, display: DisplaySettings) -> None:
    """Refuse to earn volume without holds: a finding beyond it would be seen for a moment. Raises: SettingsError."""
    if settings.variants == "on" and not display.hold:
        raise SettingsError(
            "OPENERRATA_CURATOR_VARIANTS is on, which needs OPENERRATA_DISPLAY_HOLD=true: what a variant has not "
            "earned is held back before anybody sees it"
        )
