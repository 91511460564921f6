"""What the procedures need of the world. Everything that can go wrong out there arrives as `Unavailable`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from contracts.rpc.errors import ErrorName, OpenErrataCode
from contracts.rpc.public import PublicResult
from contracts.rpc.status import VersionKey
from contracts.v1 import Event, InvestigationRequested, OnceEvent
from contracts.v1.parts import ClaimPayload, Provenance, PublishedClaim, TextRef
from kit.clock import Clock
from services.gateway.domain import Failure


class Refused(Exception):
    """The caller asked for something it cannot have; the message is for the caller."""

    def __init__(self, name: ErrorName, message: str, code: OpenErrataCode | None = None) -> None:
        super().__init__(message)
        self.name = name
        self.message = message
        self.code = code


class Unavailable(Exception):
    """Something we depend on does not answer; asking again later is right."""


class RefusedForGood(Exception):
    """A service behind us says that this observation can never be accepted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. `instance_key_hash` is set only for an active key, `user_key` is whatever was sent."""

    address: str
    user_agent: str = ""
    instance_key_hash: str | None = None
    user_key: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One request: who asks, the id that follows it through all services, and its signature (None: unsigned).

    `reads_more`: the client understands optional fields. `body` is what it sent.
    """

    caller: Caller
    correlation: UUID
    attested: bool | None = None
    reads_more: bool = False
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Prior:
    """The newest verified result of another version of the same post."""

    investigation_id: UUID
    claims: tuple[PublishedClaim, ...]


@dataclass(frozen=True, slots=True)
class Complete:
    """A finished investigation: it never changes again."""

    investigation_id: UUID
    provenance: Provenance
    claims: tuple[PublishedClaim, ...]
    checked_at: datetime


@dataclass(frozen=True, slots=True)
class Running:
    """An investigation that is queued or under way, with its candidates so far.

    `takes_key`: it waits for its first attempt and was asked for on a reader's own key.
    """

    investigation_id: UUID
    status: Literal["PENDING", "PROCESSING"]
    provenance: Provenance
    pending: tuple[ClaimPayload, ...] = ()
    confirmed: tuple[ClaimPayload, ...] = ()
    prior: Prior | None = None
    takes_key: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """An investigation that failed."""

    investigation_id: UUID
    provenance: Provenance
    failure: Failure


InvestigationState = Complete | Running | Broken


@dataclass(frozen=True, slots=True)
class VersionView:
    """What a reader of a version is shown. `correlation` is the id under which the version came to be known.

    `views` are the post's distinct readers, `corroborations` those who vouch for the text of the result.
    """

    post_id: UUID
    complete: Complete | None
    prior: Prior | None
    correlation: UUID | None = None
    views: int = 0
    corroborations: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """What decides whether a version is investigated."""

    post_id: UUID
    word_count: int
    provenance: Provenance
    investigation: InvestigationState | None
    correlation: UUID | None = None


class Reads(Protocol):
    """The read model, by key. Raises: Unavailable."""

    async def view(self, version_id: UUID) -> VersionView | None: ...

    async def investigation(self, investigation_id: UUID) -> InvestigationState | None: ...

    async def standing(self, version_id: UUID) -> Standing | None: ...

    async def claim_counts(self, keys: Sequence[VersionKey]) -> Sequence[int | None]:
        """Findings per version, None where nothing is finished. Shapes: one per key, in order."""
        ...

    async def public(self, investigation_id: UUID) -> PublicResult | None: ...

    async def forgotten(self) -> frozenset[UUID]:
        """The posts that were erased on request; few, as erasures are rare."""
        ...


@dataclass(frozen=True, slots=True)
class Answered:
    """The fact that came of a question, and where it stands in the log."""

    event: Event
    sequence: int


class Facts(Protocol):
    """The log. Raises: Unavailable."""

    async def tell(self, event: Event, correlation: UUID) -> int:
        """Store a fact; its sequence."""
        ...

    async def tell_once(self, event: OnceEvent, correlation: UUID) -> Answered:
        """Store a fact that has one place in the log; it, or the one that stands there already."""
        ...

    async def requested(self, investigation_id: UUID) -> InvestigationRequested:
        """The newest request for a run that is under way."""
        ...

    async def ask(self, event: Event, correlation: UUID, *, directly: bool = False) -> Answered:
        """Store a fact and wait for what comes of it. Raises: RefusedForGood.

        `directly`: only who answers needs it, so it is stored only if no answer can be had at once.
        """
        ...

    async def caught_up(self, sequence: int) -> None:
        """Return once the read model shows everything up to `sequence`."""
        ...


class Copies(Protocol):
    """Pages as they came when somebody went to look at a source. Raises: Unavailable."""

    async def copy(self, sha256: str) -> bytes | None: ...


class Texts(Protocol):
    """Where long texts lie. Raises: Unavailable."""

    async def put_text(self, text: str) -> TextRef: ...


class UserKeys(Protocol):
    """Readers' own keys, encrypted and short-lived. Raises: Unavailable."""

    async def attach(self, investigation_id: UUID, attachment: UUID | None, api_key: str) -> bool:
        """Keep a key for a run under the name by which its request speaks of it; False if one is there, which stays."""
        ...

    async def discard(self, investigation_id: UUID, attachment: UUID | None) -> None:
        """Forget the key of a run that does not use it."""
        ...


@dataclass(frozen=True, slots=True)
class KeyVerdict:
    """What the provider says about a key; `message` is empty only if it is valid."""

    status: Literal["valid", "format_invalid", "authenticated_restricted", "invalid", "error"]
    message: str = ""


class KeyProbe(Protocol):
    """A tiny call to the model provider."""

    async def probe(self, api_key: str) -> KeyVerdict: ...


class KeyRegister(Protocol):
    """Instance keys as the operator keeps them. Raises: Unavailable."""

    async def active(self) -> frozenset[str]: ...

    async def is_active(self, key_hash: str) -> bool: ...


class Space(Protocol):
    """Room for what is stored. Raises: Unavailable."""

    async def free_bytes(self) -> float:
        """The least of what is left anywhere this process can see; infinite if nothing says how much there is."""
        ...


class Vitals(Protocol):
    """What the gateway works with."""

    async def broken(self) -> tuple[str, ...]:
        """Names of what does not answer now and without which nobody is served."""
        ...

    async def lacking(self) -> tuple[str, ...]:
        """The same of that without which some things cannot be taken."""
        ...


__all__ = [
    "Answered",
    "Broken",
    "Call",
    "Caller",
    "Clock",
    "Complete",
    "Copies",
    "Facts",
    "InvestigationState",
    "KeyProbe",
    "KeyRegister",
    "KeyVerdict",
    "Prior",
    "Reads",
    "Refused",
    "RefusedForGood",
    "Running",
    "Space",
    "Standing",
    "Texts",
    "Unavailable",
    "UserKeys",
    "VersionView",
    "Vitals",
]
