"""What each service may reach, as data: whoever gives a process its logins and secrets gives it these and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True)
class Access:
    """`database`: the role it logs in as; `reader_keys`: it seals or opens readers' own keys with the master key;
    `provider_keys`: it spends the instance's own money; `internet`: it talks to sites or to model providers.
    """

    database: Literal["reader", "projector"] | None = None
    reader_keys: bool = False
    provider_keys: bool = False
    internet: bool = False


ACCESS: Final[dict[str, Access]] = {
    "verifier": Access(internet=True),
    "ingest": Access(),
    "selector": Access(database="reader"),
    "investigator": Access(database="reader", reader_keys=True, provider_keys=True, internet=True),
    "validator": Access(reader_keys=True, provider_keys=True, internet=True),
    "projector": Access(database="projector"),
    "gateway": Access(database="reader", reader_keys=True, internet=True),
}
