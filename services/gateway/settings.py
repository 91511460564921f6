"""The gateway's settings. The defaults suit one instance without a proxy."""

from __future__ import annotations

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

_RATE = r"^[1-9][0-9]{0,6}/[1-9][0-9]{0,6}$"


class GatewaySettings(BaseSettings):
    """`OPENERRATA_GATEWAY_*`. `trusted_proxies` must be correct: too high a number lets readers forge their address."""

    model_config = SettingsConfigDict(
        env_prefix="OPENERRATA_GATEWAY_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    host: str = "127.0.0.1"
    port: int = Field(default=8787, ge=0, le=65_535)
    connections: int = Field(default=8_192, ge=1)
    header_timeout_s: float = Field(default=5.0, gt=0, le=60)
    public_url: str = Field(default="", pattern=r"^(https?://[^\s/]+/?)?$")
    cors_origins: str = Field(default="", pattern=r"^(https?://[^\s/,]+(,https?://[^\s/,]+)*)?$")
    trusted_proxies: int = Field(default=0, ge=0, le=10)
    hmac_secret: SecretStr = SecretStr("openerrata-attestation-v1")
    analysis: str = "FACT_CHECK"
    observe_timeout_s: float = Field(default=40.0, gt=0)
    catch_up_timeout_s: float = Field(default=10.0, gt=0)
    body_timeout_s: float = Field(default=30.0, gt=0)
    body_silence_s: float = Field(default=5.0, gt=0)
    new_bytes_per_day: int = Field(default=256 * 1024 * 1024, ge=1024 * 1024)
    free_bytes: int = Field(default=512 * 1024 * 1024, ge=0)
    database_connections: int = Field(default=5, ge=1, description="for the extension's procedures and keys")
    page_connections: int = Field(default=5, ge=1, description="for public pages and their search")
    graphql_connections: int = Field(default=5, ge=1, description="for GraphQL and the public.* procedures")
    page_wait_s: float = Field(default=3.0, gt=0, description="for a free connection of pages or GraphQL, else 503")
    remember_observations: int = Field(default=10_000, ge=0)
    remember_observations_s: float = Field(default=60.0, ge=0)
    remember_results_bytes: int = Field(default=32 * 1024 * 1024, ge=0)
    instance_keys_fresh_s: float = Field(default=3.0, ge=0, le=5)
    instance_keys_denied_s: float = Field(default=1.0, ge=0, le=60)
    jobs: bool = False
    jobs_rate: str = Field(default="60/3600", pattern=_RATE, description="jobs in seconds, per account")
    estimates_rate: str = Field(default="120/3600", pattern=_RATE, description="estimates in seconds, per account")
    reads_rate: str = Field(default="600/60", pattern=_RATE, description="other requests in seconds, per account")
    rights_rate: str = Field(default="10/86400", pattern=_RATE, description="withdrawals in seconds, per network")
    changes_rate: str = Field(default="60/3600", pattern=_RATE, description="edits and flags in seconds, per account")
    retry_cooldown_s: float = Field(default=600.0, ge=0, description="between a failure and a new request")
    retries_per_day: int = Field(default=3, ge=0, description="per version, within 24 hours")
    key_checks_burst: int = Field(default=5, ge=1)
    key_checks_every_s: float = Field(default=10.0, gt=0)
    own_key_runs: int = Field(default=4, ge=1, description="under way at once on readers' keys, per network")
    events_clients: int = Field(default=200, ge=0)
    events_clients_per_network: int = Field(default=20, ge=1)
    events_connects_burst: int = Field(default=40, ge=1)
    events_connects_every_s: float = Field(default=1.0, gt=0)
    events_heartbeat_s: float = Field(default=15.0, gt=0)
    events_stall_s: float = Field(default=20.0, gt=0)


class CatalogueSettings(BaseSettings):
    """`OPENERRATA_CATALOGUE`: whether claims and publishers have public pages; claims need the job API, too."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_", frozen=True, extra="ignore")

    catalogue: bool = False
