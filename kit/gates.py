"""What the gates by code ask for. The validator judges by it, and the investigator names it as part of the variant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from contracts.v1.parts import GateName, GatePolicy, OpinionPolicy


class GateSettings(BaseSettings):
    """`OPENERRATA_VALIDATOR_GATE_*`: what the gates by code ask for. Lists have commas between items."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_VALIDATOR_GATE_", frozen=True, extra="ignore")

    off: Annotated[tuple[GateName, ...], NoDecode] = Field(default=(), description="gates that do not judge")
    families: int = Field(default=2, ge=1, description="independent sources that a correction must have")
    page_age_s: int = Field(default=86_400, ge=1, description="longest time between fetching a page and the judgement")
    ugc_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="more hosts where anybody writes, whose pages do not count"
    )

    @field_validator("off", "ugc_hosts", mode="before")
    @classmethod
    def _split(cls, given: object) -> object:
        if not isinstance(given, str):
            return given
        return tuple(each.strip().lower() for each in given.split(",") if each.strip())

    def policy(self, rules: str, own_hosts: Sequence[str], opinion: OpinionPolicy | None = None) -> GatePolicy:
        """What the facts say of it; `rules` is the version of the gates' code."""
        return GatePolicy(
            rules=rules,
            off=self.off,
            families=self.families,
            page_age_s=self.page_age_s,
            own_hosts=tuple(own_hosts),
            ugc_hosts=self.ugc_hosts,
            opinion=opinion,
        )
