"""Settings of a process, read once at start from `OPENERRATA_*`, never at import."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Final, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from contracts.transcript import Price
from contracts.v1.parts import GateName, GatePolicy, OpinionPolicy

PREFIX: Final = "OPENERRATA_"
_CHOICE = r"demo|(openai_responses|anthropic|chat_completions)(:\S+)?"
ModelChoice = Annotated[str, Field(pattern=rf"^({_CHOICE})$")]
AuditPrice = Annotated[Decimal, Field(ge=0, le=1_000, decimal_places=6)]
ModelOrAuto = Annotated[str, Field(pattern=rf"^(auto|{_CHOICE})$")]


class SettingsError(Exception):
    """The environment is not usable; the message names each variable and what is wrong with it."""


class Infrastructure(BaseSettings):
    """External servers. All None: embedded servers are started."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_", frozen=True, extra="ignore")

    nats_url: str | None = None
    nats_user: str | None = None
    nats_password: SecretStr | None = None
    nats_monitor_url: str | None = None
    nats_replicas: int = Field(default=1, ge=1, le=5)
    ack_wait_s: float | None = Field(
        default=None,
        ge=1,
        description="after how long the work of a silent worker is given to another; as declared if unset",
    )
    database_url: str | None = None
    database_reader_url: str | None = None
    database_projector_url: str | None = None
    database_operator_url: str | None = None
    database_curator_url: str | None = None
    database_notary_url: str | None = None
    s3_endpoint: str | None = None
    s3_access_key: str | None = None
    s3_secret_key: SecretStr | None = None
    s3_bucket: str = "openerrata"
    s3_region: str = "us-east-1"
    encryption_keys: SecretStr | None = None
    model: ModelOrAuto = "auto"
    demo_pace_s: float = Field(default=0.0, ge=0)
    stop_letters: int = Field(default=20, ge=0, description="dead letters after which a consumer pauses; 0: never")
    stop_within_s: float = Field(default=300.0, gt=0)
    stop_pause_s: float = Field(default=900.0, ge=1)
    ops_host: str = "127.0.0.1"
    ops_port: int | None = Field(default=None, ge=0, le=65_535)
    log_level: Literal["debug", "info", "warning", "error"] = "info"


class OpenAISettings(BaseSettings):
    """The provider's own variables, which its tools read too."""

    model_config = SettingsConfigDict(env_prefix="OPENAI_", frozen=True, extra="ignore")

    api_key: SecretStr | None = None
    base_url: str | None = None
    model_id: str = "gpt-5.4"
    max_response_tool_rounds: int = Field(default=150, ge=1)


class PriceSetting(BaseModel):
    """A model's price as price lists give it. Units: US dollars per million tokens, `search_usd` per search."""

    model_config = ConfigDict(extra="forbid")

    input_usd: Decimal = Field(ge=0)
    output_usd: Decimal = Field(ge=0)
    cached_usd: Decimal | None = Field(default=None, ge=0)
    cache_write_usd: Decimal | None = Field(default=None, ge=0)
    search_usd: Decimal = Field(default=Decimal(0), ge=0)

    def price(self) -> Price:
        """The same in millionths; what is left out costs as much as any input."""
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
    """The provider's own variables."""

    model_config = SettingsConfigDict(
        env_prefix="ANTHROPIC_", frozen=True, extra="ignore", protected_namespaces=("settings_customise_sources",)
    )

    api_key: SecretStr | None = None
    base_url: str | None = None
    model_id: str = "claude-sonnet-5-5"
    max_tokens: int = Field(default=64_000, ge=1_024)


class ChatSettings(BaseSettings):
    """A server that speaks chat completions."""

    model_config = SettingsConfigDict(
        env_prefix="OPENERRATA_CHAT_", frozen=True, extra="ignore", protected_namespaces=("settings_customise_sources",)
    )

    base_url: str | None = None
    api_key: SecretStr | None = None
    model_id: str = ""
    effort: str | None = None
    sees_pictures: bool = False


class GoogleSettings(BaseSettings):
    """Google's models, at the address where they speak chat completions."""

    model_config = SettingsConfigDict(env_prefix="GOOGLE_", frozen=True, extra="ignore")

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
        """What a stage names itself: provider and model."""
        return {
            1: (self.stage1_provider, self.stage1_model),
            2: (self.stage2_provider, self.stage2_model),
            3: (self.stage3_provider, self.stage3_model),
        }[number]


class AuditSettings(BaseSettings):
    """`OPENERRATA_AUDIT_*`: what an audit costs its account, and how long it may take.

    Units: `prices` are US dollars by `<provider>/<model>/<stage>`, of stage 2 for each new claim.
    """

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_AUDIT_", frozen=True, extra="ignore")

    prices: Mapping[Annotated[str, Field(pattern=r"^[^/]+/.+/stage[123]$")], AuditPrice] = Field(default_factory=dict)
    job_s: float = Field(default=900.0, gt=0, le=3_600, description="from a job's acceptance to its deadline")


class SearchSettings(BaseSettings):
    """The web search of models that have none of their own."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_SEARCH_", frozen=True, extra="ignore")

    engine: Literal["duckduckgo", "brave", "tavily"] = "duckduckgo"
    api_key: SecretStr | None = None


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


class LabelerSettings(BaseSettings):
    """`OPENERRATA_LABELER_*`: the labeler that this instance is; without a DID it is none.

    Shapes: `key` is the private key `#atproto_label` on secp256k1, 32 bytes in hexadecimal, which only the gateway
    needs.
    """

    model_config = SettingsConfigDict(
        env_prefix="OPENERRATA_LABELER_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    did: str | None = Field(default=None, pattern=r"^did:(plc:[a-z2-7]{24}|web:[a-z0-9.-]{4,253})$")
    key: SecretStr | None = None


class DisplaySettings(BaseSettings):
    """`OPENERRATA_DISPLAY_*`: whether approved claims are held before anybody is shown them, and how long.

    The same for gateway, validator and curator. Units: views are unique ones of a post a day.
    """

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_DISPLAY_", frozen=True, extra="ignore")

    hold: bool = False
    few_views: int = Field(default=100, ge=0)
    many_views: int = Field(default=10_000, ge=0)
    medium_s: float = Field(default=900.0, ge=0, le=86_400)
    high_s: float = Field(default=3_600.0, ge=0, le=86_400)
    second_look: bool = False

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.few_views > self.many_views or self.medium_s > self.high_s:
            raise ValueError("few_views and medium_s must not exceed many_views and high_s")
        return self


S = TypeVar("S", bound=BaseSettings)


def load(settings: type[S]) -> S:
    """Read settings from the environment.

    Raises: SettingsError: listing every variable that is wrong.
    """
    try:
        return settings()
    except ValidationError as error:
        prefix = settings.model_config.get("env_prefix", "")
        problems = [
            f"{prefix}{'_'.join(map(str, item['loc']))}".upper() + f": {item['msg']}"
            for item in error.errors(include_url=False, include_input=False)
        ]
        raise SettingsError("; ".join(problems)) from None


def variables(settings: Iterable[type[BaseSettings]]) -> frozenset[str]:
    """The environment variables that these classes read."""
    return frozenset(
        f"{each.model_config.get('env_prefix', '')}{name}".upper() for each in settings for name in each.model_fields
    )


def refuse_unknown(environment: Iterable[str], known: Collection[str]) -> None:
    """Check that every variable with the product's prefix is one that something reads.

    Raises: SettingsError: naming each that is not, with the nearest known one.
    """
    ours = {name.removeprefix(PREFIX) for name in known if name.startswith(PREFIX)}
    problems = []
    for name in sorted(environment):
        bare = name.upper().removeprefix(PREFIX)
        if name.upper().startswith(PREFIX) and bare not in ours:
            near = difflib.get_close_matches(bare, ours, n=1)
            problems.append(f"{name}: there is no such setting{f'; did you mean {PREFIX}{near[0]}?' if near else ''}")
    if problems:
        raise SettingsError("; ".join(problems))
