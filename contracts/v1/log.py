"""The operator's decisions about the decision log itself."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from contracts.v1.event import OnceEvent
from contracts.v1.ids import log_id

Origin = Annotated[str, Field(pattern=r"^[a-z0-9.-]+(:[0-9]{1,5})?(/[a-z0-9._-]+)*$", max_length=200)]
"""The name of a log: a host and a path without a scheme, as in the first line of its notes."""
VerifierKey = Annotated[str, Field(pattern=r"^[a-z0-9.:/_-]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+={0,2}$", max_length=4_096)]
"""Name, id and public key of a signer in one line. Source: C2SP signed-note."""


class LogChanged(OnceEvent, subject="log.changed", key="log_id", identity=("follows",)):
    """The decision log begins with this fact, or is signed with other keys after it.

    Facts before OPENED are not in the log; `earlier` investigations among them ended with findings, which may still be
    retracted. `keys` are all keys that sign from now on; the first one is authoritative.
    """

    origin: Origin
    what: Literal["OPENED", "KEYS"]
    keys: tuple[VerifierKey, ...] = Field(min_length=1, max_length=4)
    earlier: int = Field(default=0, ge=0)

    @property
    def log_id(self) -> UUID:
        return log_id(self.origin)
