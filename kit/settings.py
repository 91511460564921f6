"""Settings of a process, read once at start from `OPENERRATA_*`, never at import."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, Final, Literal, Self, TypeVar

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from contracts.v1.gates import GateName, GatePolicy, OpinionPolicy

PREFIX: Final = "OPENERRATA_"
_CHOICE = r"demo|(openai_responses|anthropic|chat_completions)(:\S+)?"
ModelChoice = Annotated[str, Field(pattern=rf"^({_CHOICE})$")]
ModelOrAuto = Annotated[str, Field(pattern=rf"^(auto|{_CHOICE})$")]


class SettingsError(Exception):
    """The environment is invalid; the message names each variable and what is wrong with it."""


class Infrastructure(BaseSettings):
    """External servers, and process settings. If no server is named, embedded ones are started."""

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


class GateSettings(BaseSettings):
    """`OPENERRATA_VALIDATOR_GATE_*`: the requirements of the gates that decide by code. Lists are comma-separated."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_VALIDATOR_GATE_", frozen=True, extra="ignore")

    off: Annotated[tuple[GateName, ...], NoDecode] = Field(default=(), description="gates that do not judge")
    families: int = Field(default=2, ge=1, description="independent sources that a correction must have")
    page_age_s: int = Field(default=86_400, ge=1, description="longest time between fetching a page and the judgement")
    ugc_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="more hosts of user-generated content, whose pages do not count"
    )

    @field_validator("off", "ugc_hosts", mode="before")
    @classmethod
    def _split(cls, given: object) -> object:
        if not isinstance(given, str):
            return given
        return tuple(each.strip().lower() for each in given.split(",") if each.strip())

    def policy(self, rules: str, own_hosts: Sequence[str], opinion: OpinionPolicy | None = None) -> GatePolicy:
        """The policy as facts record it; `rules` is the version of the gates' code."""
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
    """`OPENERRATA_LABELER_*`: the labeler that this instance runs; without a DID it runs none.

    Shapes: `key` is the private key `#atproto_label` on secp256k1, 32 bytes in hexadecimal; only the gateway needs it.
    """

    model_config = SettingsConfigDict(
        env_prefix="OPENERRATA_LABELER_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    did: str | None = Field(default=None, pattern=r"^did:(plc:[a-z2-7]{24}|web:[a-z0-9.-]{4,253})$")
    key: SecretStr | None = None


class DisplaySettings(BaseSettings):
    """`OPENERRATA_DISPLAY_*`: whether approved claims are held before they are displayed, and for how long.

    Set them alike for gateway, validator and curator. Units: views are unique views of a post per day.
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

    Raises: SettingsError: a variable is invalid; the message lists all such variables.
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
    """Refuse variables with the product's prefix that nothing reads.

    Raises: SettingsError: there is one; the message lists all, each with the nearest known name.
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
