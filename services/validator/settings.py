"""Settings of the validator: concurrency, how sources are checked and the second opinion."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from contracts.v1.parts import ModelName
from kit.model_settings import ModelSettings
from kit.settings import ModelChoice, SettingsError
from kit.web.contact import PUBLIC_URL, ContactUrl, contact_url_field

_FAMILY: Final = "OPENERRATA_VALIDATOR_OPINION_FAMILY"
_PROPOSERS: Final = "OPENERRATA_INVESTIGATOR_FAMILIES"
_FAMILIES: Final = {"openai": "openai", "openai_responses": "openai", "anthropic": "anthropic"}
"""The families of providers that serve only one."""


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
    public_url: str = Field(
        default="",
        pattern=r"^(https?://[^\s/]+/?)?$",
        validation_alias=AliasChoices("OPENERRATA_VALIDATOR_PUBLIC_URL", PUBLIC_URL),
        description="where the instance's public pages are; pages that name its host rest on it and are no sources",
    )

    @property
    def own_hosts(self) -> tuple[str, ...]:
        """The host of the public pages; empty for a numeric address, by which no page names us."""
        host = urlsplit(self.public_url).hostname or ""
        return () if not host or host == "localhost" or host[-1].isdigit() or ":" in host else (host,)


class OpinionSettings(BaseSettings):
    """`OPENERRATA_VALIDATOR_OPINION_*`: the second opinion; without a model there is none."""

    model_config = SettingsConfigDict(
        env_prefix="OPENERRATA_VALIDATOR_OPINION_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    model: ModelChoice | None = Field(default=None, description="`provider` or `provider:model` of the second opinion")
    family: str = Field(default="", description="the family of that model, by a name that you give it")
    base_url: str | None = Field(default=None, description="its server of chat completions, if not the usual one")
    api_key: SecretStr | None = Field(default=None, description="the key of that server")
    logprobs: bool = Field(default=True, description="whether that server gives the probabilities of tokens")
    calibration: Path | None = Field(default=None, description="answers whose truth is known, which set the thresholds")

    def require_other_family(self, proposer: ModelName, models: ModelSettings) -> None:
        """Refuse an opinion of the proposer's own family, whose errors it would share. Raises: SettingsError."""
        family = self.family.strip().casefold()
        if not family:
            raise SettingsError(f"{_FAMILY} is not set: name the family of the model of second opinions")
        failover = models.model_failover
        providers = [proposer.provider, *([failover.partition(":")[0]] if failover else [])]
        proposers = models.investigator_families or tuple(_FAMILIES.get(provider, "") for provider in providers)
        if "" in proposers:
            raise SettingsError(f"{_PROPOSERS} is not set: name the families of the models that propose claims")
        if family in map(str.casefold, proposers):
            raise SettingsError(
                f"{_FAMILY} and {_PROPOSERS} are both {self.family}: a second opinion must come from another family of "
                "models than the claims, whose errors it would share"
            )
