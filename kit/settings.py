"""What a process must be told: addresses and secrets. Read once at start, from `OPENERRATA_*`, never at import."""

from __future__ import annotations

from typing import Literal, TypeVar

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

ModelChoice = Literal["auto", "demo", "openai_responses"]


class SettingsError(Exception):
    """The environment is not usable; the message names each variable and what is wrong with it."""


class Infrastructure(BaseSettings):
    """Servers that are given. All None means: bring embedded ones."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_", frozen=True, extra="ignore")

    nats_url: str | None = None
    nats_monitor_url: str | None = None
    nats_replicas: int = Field(default=1, ge=1, le=5)
    ack_wait_s: float | None = Field(
        default=None,
        ge=1,
        description="after how long the work of a silent worker is given to another; as declared if unset",
    )
    database_url: str | None = None
    s3_endpoint: str | None = None
    s3_access_key: str | None = None
    s3_secret_key: SecretStr | None = None
    s3_bucket: str = "openerrata"
    s3_region: str = "us-east-1"
    encryption_keys: SecretStr | None = None
    model: ModelChoice = "auto"
    demo_pace_s: float = Field(default=0.0, ge=0)
    ops_port: int | None = Field(default=None, ge=0, le=65_535)
    log_level: Literal["debug", "info", "warning", "error"] = "info"


class OpenAISettings(BaseSettings):
    """The provider's own variables, as every tool of theirs reads them."""

    model_config = SettingsConfigDict(env_prefix="OPENAI_", frozen=True, extra="ignore")

    api_key: SecretStr | None = None
    base_url: str | None = None
    model_id: str = "gpt-5.4"
    max_response_tool_rounds: int = Field(default=150, ge=1)


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
