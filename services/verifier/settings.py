"""Settings of the verifier: time limits, politeness towards sites, caching."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field, create_model
from pydantic_settings import BaseSettings, SettingsConfigDict

from kit.settings import load
from kit.web.contact import ContactUrl, contact_url_field
from platforms import PLATFORMS

_WEB = "^https?://[^/@]+(/|$)"


class VerifierSettings(BaseSettings):
    """`OPENERRATA_VERIFIER_*`."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_VERIFIER_", frozen=True, extra="ignore")

    contact_url: ContactUrl = contact_url_field(
        "VERIFIER", "where sites can reach the operator, part of the User-Agent; Wikimedia asks for one"
    )
    slots: int = Field(
        default=60, ge=1, description="observations handled at once in this process; each site has an equal share"
    )
    timeout_s: float = Field(default=5.0, gt=0, description="longest wait for one answer of a site")
    deadline_s: float = Field(default=8.0, gt=0, description="longest wait of a reader for all tries together")
    max_bytes: int = Field(default=20_000_000, ge=1, description="longest answer read from a site")
    retries: int = Field(default=3, ge=0, description="tries after the first one failed in a way that may pass")
    retry_base_s: float = Field(default=0.2, ge=0, description="wait before the first retry; doubles each time")
    per_host: int = Field(default=4, ge=1, description="requests to one host at once")
    breaker_failures: int = Field(default=5, ge=1, description="failures in a row after which a host is left alone")
    breaker_pause_s: float = Field(default=15.0, ge=0, description="how long it is left alone")
    cached_pages: int = Field(default=4_096, ge=1, description="pages cached; one that never changes never expires")
    page_ttl_s: float = Field(default=300.0, ge=0, description="how long a page that can change is cached")
    failure_ttl_s: float = Field(default=5.0, ge=0, description="how long a failure is cached")
    refusal_ttl_s: float = Field(default=120.0, ge=0, description="how long a denial of a site is cached")


class EndpointSettings(BaseSettings):
    """`OPENERRATA_VERIFIER_<SITE>_URL`: where a site with a public source is asked."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_VERIFIER_", frozen=True, extra="ignore")


_PLACES: Final = {
    name: place
    for site in PLATFORMS
    if site.default_endpoint is not None
    for name, place in {
        site.name: (site.default_endpoint, site.endpoint_meaning),
        **site.further_endpoints,
    }.items()
}
_SETTINGS: Final = {f"{name.lower()}_url": name for name in _PLACES}
_FIELDS: Final[dict[str, Any]] = {  # pydantic types the fields of `create_model` so
    setting: (
        Annotated[str, Field(pattern=_WEB)] | None,
        Field(default=None, description=f"{_PLACES[name][1]} instead of {_PLACES[name][0]}; may be private"),
    )
    for setting, name in _SETTINGS.items()
}
Endpoints: Final = create_model("Endpoints", __base__=EndpointSettings, __module__=__name__, **_FIELDS)


def load_endpoints() -> dict[str, str]:
    """The addresses an operator set, by the name of a platform or of another place. Raises: SettingsError."""
    return {_SETTINGS[setting]: url for setting, url in load(Endpoints) if url is not None}
