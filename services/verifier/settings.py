"""How patient, how polite and how forgetful the verifier is."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from kit.web.contact import ContactUrl, contact

_WEB = "^https?://[^/@]+(/|$)"


class VerifierSettings(BaseSettings):
    """`OPENERRATA_VERIFIER_*`."""

    model_config = SettingsConfigDict(env_prefix="OPENERRATA_VERIFIER_", frozen=True, extra="ignore")

    lesswrong_url: str | None = Field(
        default=None, pattern=_WEB, description="GraphQL address to use instead of LessWrong's own; may be private"
    )
    wikipedia_url: str | None = Field(
        default=None,
        pattern=_WEB,
        description="api.php address to use instead of https://{language}.wikipedia.org/w/api.php; may be private",
    )
    substack_url: str | None = Field(
        default=None,
        pattern=_WEB,
        description="origin to ask for Substack posts instead of https://{publication}.substack.com; may be private",
    )
    contact_url: ContactUrl = contact(
        "VERIFIER", "where sites can reach the operator, part of the User-Agent; Wikimedia asks for one"
    )
    slots: int = Field(
        default=48, ge=1, description="observations handled at once in this process; each site has an equal share"
    )
    timeout_s: float = Field(default=5.0, gt=0, description="longest wait for one answer of a site")
    deadline_s: float = Field(default=8.0, gt=0, description="longest wait of a reader for all tries together")
    max_bytes: int = Field(default=20_000_000, ge=1, description="longest answer read from a site")
    retries: int = Field(default=3, ge=0, description="tries after the first one failed in a way that may pass")
    retry_base_s: float = Field(default=0.2, ge=0, description="wait before the first retry; doubles each time")
    per_host: int = Field(default=4, ge=1, description="requests to one host at once")
    breaker_failures: int = Field(default=5, ge=1, description="failures in a row after which a host is left alone")
    breaker_pause_s: float = Field(default=15.0, ge=0, description="how long it is left alone")
    cached_pages: int = Field(default=4_096, ge=1, description="pages remembered; a Wikipedia revision never expires")
    page_ttl_s: float = Field(default=300.0, ge=0, description="how long a page that can change is believed")
    failure_ttl_s: float = Field(default=5.0, ge=0, description="how long a failure is believed")
    refusal_ttl_s: float = Field(
        default=120.0, ge=0, description="how long it is believed that a site does not show a page to the public"
    )

    @property
    def endpoints(self) -> dict[str, str]:
        """The addresses an operator set, by platform name."""
        given = {"LESSWRONG": self.lesswrong_url, "WIKIPEDIA": self.wikipedia_url, "SUBSTACK": self.substack_url}
        return {name: url for name, url in given.items() if url}
