"""The gateway's ports. Every outage is raised as `Unavailable`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from contracts.accounts import WITHOUT_ACCOUNT, Right
from contracts.rpc.errors import ErrorName, OpenErrataCode
from contracts.rpc.public import PublicResult
from contracts.rpc.status import VersionKey
from contracts.v1 import Event, InvestigationRequested, OnceEvent
from contracts.v1.parts import ClaimPayload, Provenance, PublishedClaim, TextRef
from services.gateway.domain import Failure, InstanceKey


class Refused(Exception):
    """The request is rejected; the message is for the caller."""

    def __init__(self, name: ErrorName, message: str, code: OpenErrataCode | None = None) -> None:
        super().__init__(message)
        self.name = name
        self.message = message
        self.code = code


class Unavailable(Exception):
    """A dependency does not answer; the caller may retry."""


@contextmanager
def or_unavailable(dependency: str, *errors: type[Exception]) -> Iterator[None]:
    """Raise Unavailable, which names the dependency, in place of these errors."""
    try:
        yield
    except errors as error:
        raise Unavailable(f"{dependency}: {error}") from error


class ObservationRejected(Exception):
    """Ingest rejected this observation for good."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller. `instance_key_hash` is set only for an active key, `user_key` is whatever was sent."""

    address: str
    user_agent: str = ""
    instance_key_hash: str | None = None
    user_key: str = ""
    instance_key_rights: frozenset[Right] = frozenset(WITHOUT_ACCOUNT)

    def has_right(self, right: Right) -> bool:
        """Whether the caller's instance key has this right."""
        return self.instance_key_hash is not None and right in self.instance_key_rights


@dataclass(frozen=True, slots=True)
class Call:
    """One request: its caller, its correlation through all services, and its signature (None: unsigned).

    `supports_optional_fields`: the client accepts optional fields. `body` is what it sent.
    """

    caller: Caller
    correlation: UUID
    attested: bool | None = None
    supports_optional_fields: bool = False
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Prior:
    """The newest verified result of another version of the same post."""

    investigation_id: UUID
    claims: tuple[PublishedClaim, ...]


@dataclass(frozen=True, slots=True)
class Complete:
    """A finished investigation, with the findings that stand now."""

    investigation_id: UUID
    provenance: Provenance
    claims: tuple[PublishedClaim, ...]
    checked_at: datetime


@dataclass(frozen=True, slots=True)
class Running:
    """An investigation that is queued or under way, with its candidates so far.

    `accepts_key`: it waits for its first attempt and was requested on a reader's own key.
    """

    investigation_id: UUID
    status: Literal["PENDING", "PROCESSING"]
    provenance: Provenance
    pending: tuple[ClaimPayload, ...] = ()
    confirmed: tuple[ClaimPayload, ...] = ()
    prior: Prior | None = None
    accepts_key: bool = False


@dataclass(frozen=True, slots=True)
class FailedRun:
    """An investigation that failed."""

    investigation_id: UUID
    provenance: Provenance
    failure: Failure


InvestigationState = Complete | Running | FailedRun


@dataclass(frozen=True, slots=True)
class VersionView:
    """What the read model has about a version. `correlation` is that of its first observation.

    `views` counts the post's distinct readers, `corroborations` those who vouch for the text of the result.
    """

    post_id: UUID
    complete: Complete | None
    prior: Prior | None
    correlation: UUID | None = None
    views: int = 0
    corroborations: int = 0


@dataclass(frozen=True, slots=True)
class Eligibility:
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

    async def eligibility(self, version_id: UUID) -> Eligibility | None: ...

    async def claim_counts(self, keys: Sequence[VersionKey]) -> Sequence[int | None]:
        """Findings per version, None where nothing is finished. Shapes: one per key, in order."""

    async def knows_post(self, post_id: UUID) -> bool:
        """Whether the read model has a version of this post."""

    async def erased_posts(self) -> frozenset[UUID]:
        """The posts that were erased on request."""


class Documents(Protocol):
    """Finished investigations as JSON documents. Raises: Unavailable."""

    async def document(self, investigation_id: UUID) -> PublicResult | None: ...


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event with its sequence."""

    event: Event
    sequence: int


class Facts(Protocol):
    """The log. Raises: Unavailable."""

    async def publish(self, event: Event, correlation: UUID) -> int:
        """Store an event; returns its sequence."""

    async def publish_once(self, event: OnceEvent, correlation: UUID) -> StoredEvent:
        """Store a once-event; returns it, or the one that was stored instead."""

    async def latest_request(self, investigation_id: UUID) -> InvestigationRequested:
        """The newest request of a run."""

    async def request(self, event: Event, correlation: UUID) -> StoredEvent:
        """Send an event and wait for the event that answers it. Raises: ObservationRejected."""

    async def wait_for_projection(self, sequence: int) -> None:
        """Return once the read model has applied everything up to `sequence`."""


class Copies(Protocol):
    """Archived pages of sources, as fetched. Raises: Unavailable."""

    async def copy(self, sha256: str) -> bytes | None: ...


class LookupObjects(Protocol):
    """The documents of private look-ups. Raises: Unavailable."""

    async def get(self, name: str) -> bytes | None: ...


class Texts(Protocol):
    """The store of long texts. Raises: Unavailable."""

    async def put_text(self, text: str) -> TextRef: ...


class UserKeys(Protocol):
    """Readers' own keys, encrypted and stored for minutes. Raises: Unavailable."""

    async def attach(self, investigation_id: UUID, attachment: UUID | None, api_key: str) -> bool:
        """Store a key for a run under its request's `attachment`; False if a key is stored already, which stays."""

    async def discard(self, investigation_id: UUID, attachment: UUID | None) -> None:
        """Delete a key that its run does not use."""


@dataclass(frozen=True, slots=True)
class KeyVerdict:
    """What the provider says about a key; `message` is empty only if it is valid."""

    status: Literal["valid", "format_invalid", "authenticated_restricted", "invalid", "error"]
    message: str = ""


class KeyProbe(Protocol):
    """Minimal requests to the model provider."""

    async def probe(self, api_key: str) -> KeyVerdict: ...


class KeyRegister(Protocol):
    """The operator's instance keys by hash; keys of a closed account are not active. Raises: Unavailable."""

    async def active(self) -> Mapping[str, InstanceKey]: ...

    async def find(self, key_hash: str) -> InstanceKey | None: ...


class Space(Protocol):
    """The servers' free space. Raises: Unavailable."""

    async def free_bytes(self) -> float:
        """The least free space that this process can see; infinite if none is reported."""


class HealthChecks(Protocol):
    """Checks of the gateway's dependencies."""

    async def find_failing(self) -> tuple[str, ...]:
        """Names of failing dependencies without which no request is served."""

    async def find_degraded(self) -> tuple[str, ...]:
        """Names of failing dependencies without which some requests are not served."""
