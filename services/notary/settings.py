"""Settings of the notary: its key, who witnesses its notes, and how often it signs."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from kit.settings import SettingsError
from kit.web.contact import ContactUrl, contact_url_field
from tlog.errors import TlogError
from tlog.keys import Algorithm, SigningKey
from tlog.policy import Policy


class NotarySettings(BaseSettings):
    """`OPENERRATA_NOTARY_*`; without a key there is no decision log."""

    model_config = SettingsConfigDict(
        env_prefix="OPENERRATA_NOTARY_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    key: SecretStr | None = None
    previous_key: SecretStr | None = None
    witnesses: str = Field(
        default="",
        description="witnesses, groups and quorum in the lines of a tlog-policy, also separated by semicolons",
    )
    publish_s: float = Field(default=10.0, gt=0, description="seconds between two notes, if something was entered")
    batch: int = Field(default=1_000, ge=1, description="facts that are looked at in one transaction")
    contact_url: ContactUrl = contact_url_field(
        "NOTARY", "where operators of witnesses can reach the operator, part of the User-Agent"
    )


@dataclass(frozen=True, slots=True)
class Identity:
    """Who signs the log, and whose cosignatures make its notes valid. The keys' name is the log's.

    While a key is replaced, both sign: verifiers that know only the `previous` one have time to learn the other.
    """

    key: SigningKey
    policy: Policy
    previous: SigningKey | None = None

    @property
    def keys(self) -> tuple[SigningKey, ...]:
        """All keys that sign, the current one first."""
        return (self.key,) if self.previous is None else (self.key, self.previous)

    @classmethod
    def of(cls, settings: NotarySettings) -> Identity | None:
        """The identity from the settings, or None if there is no log. Raises: SettingsError."""
        if settings.key is None:
            return None
        key = _parse("OPENERRATA_NOTARY_KEY", settings.key)
        previous = None
        if settings.previous_key is not None:
            previous = _parse("OPENERRATA_NOTARY_PREVIOUS_KEY", settings.previous_key)
            if previous.name != key.name or previous == key:
                raise SettingsError(f"OPENERRATA_NOTARY_PREVIOUS_KEY: not another key of {key.name}")
        signed = [f"log {each.verifier}" for each in (key, previous) if each is not None]
        lines = [line.strip() for line in settings.witnesses.replace(";", "\n").splitlines()] or ["quorum none"]
        try:
            policy = Policy.parse("".join(f"{line}\n" for line in (*signed, *lines)).encode())
        except TlogError as error:
            raise SettingsError(f"OPENERRATA_NOTARY_WITNESSES: {error}") from error
        return cls(key, policy, previous)


def _parse(name: str, secret: SecretStr) -> SigningKey:
    try:
        key = SigningKey.parse(secret.get_secret_value())
    except TlogError as error:
        raise SettingsError(f"{name}: {error}; `openerrata log key` makes one") from error
    if key.algorithm is not Algorithm.ED25519:
        raise SettingsError(f"{name}: a log signs with Ed25519; `openerrata log key` makes such a key")
    return key
