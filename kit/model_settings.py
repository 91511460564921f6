"""Settings of providers, models, their prices, and the web search for models that have none of their own."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from contracts.transcript import Price
from kit.settings import ModelChoice

AuditPrice = Annotated[Decimal, Field(ge=0, le=1_000, decimal_places=6)]


class OpenAISettings(BaseSettings):
    """OpenAI's own variables, which its tools read too."""

    model_config = SettingsConfigDict(env_prefix="OPENAI_", frozen=True, extra="ignore", env_ignore_empty=True)

    api_key: SecretStr | None = None
    base_url: str | None = None
    model_id: str = "gpt-5.4"
    max_response_tool_rounds: int = Field(default=150, ge=1)


class PriceSetting(BaseModel):
    """A model's price, as in price lists. Units: US dollars per million tokens, `search_usd` per search."""

    model_config = ConfigDict(extra="forbid")

    input_usd: Decimal = Field(ge=0)
    output_usd: Decimal = Field(ge=0)
    cached_usd: Decimal | None = Field(default=None, ge=0)
    cache_write_usd: Decimal | None = Field(default=None, ge=0)
    search_usd: Decimal = Field(default=Decimal(0), ge=0)

    def price(self) -> Price:
        """The price in millionths of a dollar; a missing price of cached tokens is that of other input."""
        return Price(
            input=_micro(self.input_usd),
            output=_micro(self.output_usd),
            cached=_micro(self.input_usd if self.cached_usd is None else self.cached_usd),
            cache_write=_micro(self.input_usd if self.cache_write_usd is None else self.cache_write_usd),
            search=_micro(self.search_usd),
        )


def _micro(usd: Decimal) -> int:
    return int(usd * 1_000_000)


class ModelSettings(BaseSettings):
    """Models by stage, failover, prices and timeouts.

    Shapes: `investigator_families` are the families of all models that propose claims, failover included.
    """

    model_config = SettingsConfigDict(
        env_prefix="OPENERRATA_", frozen=True, extra="ignore", protected_namespaces=("settings_customise_sources",)
    )

    investigator_model: ModelChoice | None = None
    validator_model: ModelChoice | None = None
    model_failover: ModelChoice | None = None
    investigator_families: Annotated[tuple[str, ...], NoDecode] = ()
    model_prices: Mapping[str, PriceSetting] = Field(default_factory=dict)
    model_silence_s: float = Field(default=300.0, gt=0, description="longest silence of a provider within an answer")
    model_call_s: float = Field(default=1_800.0, gt=0, description="longest time for one answer of a provider")
    model_run_s: float = Field(default=7_200.0, gt=0, description="longest time for all answers of one attempt")

    @field_validator("investigator_families", mode="before")
    @classmethod
    def _split(cls, given: object) -> object:
        return tuple(each.strip() for each in given.split(",") if each.strip()) if isinstance(given, str) else given

    def prices(self) -> dict[str, Price]:
        """The instance's own prices by model."""
        return {name: price.price() for name, price in self.model_prices.items()}


class AnthropicSettings(BaseSettings):
    """Anthropic's own variables."""

    model_config = SettingsConfigDict(
        env_prefix="ANTHROPIC_",
        frozen=True,
        extra="ignore",
        env_ignore_empty=True,
        protected_namespaces=("settings_customise_sources",),
    )

    api_key: SecretStr | None = None
    base_url: str | None = None
    model_id: str = "claude-sonnet-5-5"
    max_tokens: int = Field(default=64_000, ge=1_024)


class ChatSettings(BaseSettings):
    """A server that speaks chat completions."""

    model_config = SettingsConfigDict(
        env_prefix="OPENERRATA_CHAT_",
        frozen=True,
        extra="ignore",
        env_ignore_empty=True,
        protected_namespaces=("settings_customise_sources",),
    )

    base_url: str | None = None
    api_key: SecretStr | None = None
    model_id: str = ""
    effort: str | None = None
    sees_pictures: bool = False


class GoogleSettings(BaseSettings):
    """Google's models, at the address where they speak chat completions."""

    model_config = SettingsConfigDict(env_prefix="GOOGLE_", frozen=True, extra="ignore", env_ignore_empty=True)

    api_key: SecretStr | None = None
    base_url: str = "https://generativelanguage.googleapis.com/v1beta/openai/"


class LlmSettings(BaseSettings):
    """The models of audits by stage; providers' keys keep their own names.

    Units: `max_cost_per_request` is US dollars, by an estimate made before a request is sent.
    """

    model_config = SettingsConfigDict(env_prefix="LLM_", frozen=True, extra="ignore")

    primary_provider: Literal["anthropic", "openai", "google", "local"] = "anthropic"
    fallback_provider: Literal["anthropic", "openai", "google", "local"] | None = None
    stage1_provider: str | None = None
    stage1_model: str | None = None
    stage2_provider: str | None = None
    stage2_model: str | None = None
    stage3_provider: str | None = None
    stage3_model: str | None = None
    max_cost_per_request: Decimal = Field(default=Decimal("1.00"), gt=0)

    def of_stage(self, number: Literal[1, 2, 3]) -> tuple[str | None, str | None]:
        """The provider and the model that a stage's own settings name."""
        return {
            1: (self.stage1_provider, self.stage1_model),
            2: (self.stage2_provider, self.stage2_model),
            3: (self.stage3_provider, self.stage3_model),
        }[number]


class AuditSettings(BaseSettings):
    """`OPENERRATA_AUDIT_*`: what an audit costs its account, and how long it may take.

    Units: `prices` are US dollars by `<provider>/<model>/<stage>`; that of stage 2 is for each new claim.
    """

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_AUDIT_", frozen=True, extra="ignore")

    prices: Mapping[Annotated[str, Field(pattern=r"^[^/]+/.+/stage[123]$")], AuditPrice] = Field(default_factory=dict)
    job_s: float = Field(default=900.0, gt=0, le=3_600, description="from a job's acceptance to its deadline")


class SearchSettings(BaseSettings):
    """The web search for models that have none of their own."""

    model_config = SettingsConfigDict(
        env_prefix="OPENERRATA_SEARCH_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    engine: Literal["duckduckgo", "brave", "tavily"] = "duckduckgo"
    api_key: SecretStr | None = None
