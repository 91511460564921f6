"""What each service may reach, as data: its logins, secrets and broker permissions are derived from this."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from contracts.topology import (
    AGAIN,
    CONCLUDE_MARK,
    CONSUMERS,
    ERRATA,
    FAILURES,
    HEALTH,
    INGEST_OBSERVATION_RECEIVED,
    LEADERS,
    MARKS,
    PAGES,
    USER_KEYS,
    VIEWS,
    Bucket,
    Consumer,
    Stream,
    stream_of,
)
from contracts.v1 import (
    CanonicalFetched,
    CanonicalUnavailable,
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    ClaimValidationStarted,
    Event,
    IntegrityAnomalyDetected,
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
    ObservationReceived,
    PostViewed,
    VersionRegistered,
    VersionSeen,
    VersionVerified,
)

POSITION: Final = "errata-position"
"""Under this and the name of a stream the projector announces how far it is."""
WAITS: Final = "gateway"
"""The service that waits for what others answer, at addresses of its own."""


@dataclass(frozen=True)
class Access:
    """`database`: the role it logs in as; `reader_keys`: it seals or opens readers' own keys with the master key;
    `provider_keys`: it spends the instance's own money; `internet`: it talks to sites or to model providers.

    On the broker: the events it publishes, the streams it follows in their order, the consumers it sends requests to
    directly or takes requests for, the buckets and single entries it writes, the buckets it reads besides, and whether
    it answers the gateway, announces the projector's position or listens to it.
    """

    database: Literal["reader", "projector"] | None = None
    reader_keys: bool = False
    provider_keys: bool = False
    internet: bool = False
    publishes: tuple[type[Event], ...] = ()
    follows: tuple[Stream, ...] = ()
    asks: tuple[Consumer, ...] = ()
    takes: tuple[Consumer, ...] = ()
    buckets: tuple[Bucket, ...] = ()
    reads: tuple[Bucket, ...] = (MARKS,)
    entries: tuple[tuple[Bucket, str], ...] = ()
    answers: bool = False
    announces: bool = False
    listens: bool = False


ACCESS: Final[dict[str, Access]] = {
    "verifier": Access(
        internet=True, publishes=(CanonicalFetched, CanonicalUnavailable), buckets=(PAGES,), answers=True
    ),
    "ingest": Access(
        publishes=(VersionRegistered, VersionVerified, VersionSeen, IntegrityAnomalyDetected),
        takes=(INGEST_OBSERVATION_RECEIVED,),
        answers=True,
    ),
    "selector": Access(database="reader", publishes=(InvestigationRequested, InvestigationFailed), buckets=(LEADERS,)),
    "investigator": Access(
        database="reader",
        reader_keys=True,
        provider_keys=True,
        internet=True,
        publishes=(
            InvestigationStarted,
            InvestigationAdvanced,
            InvestigationDrafted,
            InvestigationRetryScheduled,
            InvestigationCompleted,
            InvestigationFailed,
            ClaimProposed,
            ClaimRetained,
        ),
        follows=(ERRATA,),
        buckets=(USER_KEYS,),
        entries=((MARKS, CONCLUDE_MARK),),
    ),
    "validator": Access(
        reader_keys=True,
        provider_keys=True,
        internet=True,
        publishes=(
            ClaimValidationStarted,
            ClaimApproved,
            ClaimRejected,
            ClaimValidationRetryScheduled,
            ClaimValidationFailed,
        ),
        follows=(ERRATA,),
        reads=(USER_KEYS, MARKS),
    ),
    "projector": Access(database="projector", follows=(ERRATA, VIEWS), announces=True),
    "gateway": Access(
        database="reader",
        reader_keys=True,
        internet=True,
        publishes=(ObservationReceived, PostViewed, InvestigationRequested),
        follows=(ERRATA,),
        asks=(INGEST_OBSERVATION_RECEIVED,),
        buckets=(USER_KEYS,),
        listens=True,
    ),
}


def inbox(service: str) -> str:
    """The prefix of a service's reply subjects; no other user may subscribe to them."""
    return f"_INBOX.{service}"


def keeps(service: str) -> tuple[Bucket, ...]:
    """The buckets that a service reads and writes: its own, and where it counts failures if it takes messages."""
    takes = any(consumer.service == service for consumer in CONSUMERS)
    return (*ACCESS[service].buckets, *((FAILURES,) if takes else ()))


def may_publish(service: str) -> tuple[str, ...]:
    """The subjects that a service's user of the broker may publish to. Source: NATS ADR-1, ADR-8, ADR-31."""
    return tuple(_published(service, ACCESS[service]))


def may_hear(service: str) -> tuple[str, ...]:
    """The subjects that a service's user of the broker may subscribe to."""
    access = ACCESS[service]
    return (
        f"{inbox(service)}.>",
        *(f"{consumer.direct}.*" for consumer in access.takes),
        *(consumer.in_hand for consumer in CONSUMERS if consumer.service == service and consumer.costly),
        *((f"{POSITION}.*",) if access.listens else ()),
    )


def _published(service: str, access: Access) -> Iterator[str]:
    for event in access.publishes:
        yield f"{event.SUBJECT}.*"
    for consumer in CONSUMERS:
        if consumer.service == service:
            yield consumer.dead
            if consumer.costly:
                yield consumer.in_hand
                yield f"{inbox(service)}.>"
            for stream in (stream_of(consumer.event), AGAIN):
                yield f"$JS.API.CONSUMER.MSG.NEXT.{stream.name}.{consumer.name}"
                yield f"$JS.API.CONSUMER.PAUSE.{stream.name}.{consumer.name}"
                yield f"$JS.ACK.{stream.name}.{consumer.name}.>"
    for stream in access.follows:
        yield f"$JS.API.CONSUMER.CREATE.{stream.name}"
        yield f"$JS.FC.{stream.name}.>"
    for consumer in access.asks:
        yield f"{consumer.direct}.*"
    for bucket in (*keeps(service), *access.reads):
        yield f"$JS.API.STREAM.MSG.GET.KV_{bucket.name}"
        yield f"$JS.API.DIRECT.GET.KV_{bucket.name}.>"
    for bucket in (*keeps(service), HEALTH):
        yield f"$KV.{bucket.name}.>"
    for bucket, key in access.entries:
        yield f"$KV.{bucket.name}.{key}"
    if access.answers:
        yield f"{inbox(WAITS)}.>"
    if access.announces:
        yield f"{POSITION}.*"
    # Everybody may look: at what there is, how far each consumer is, and at facts that are stored.
    yield "$JS.API.INFO"
    yield "$JS.API.STREAM.INFO.*"
    yield "$JS.API.CONSUMER.INFO.*.*"
    yield f"$JS.API.STREAM.MSG.GET.{ERRATA.name}"
    yield f"$JS.API.DIRECT.GET.{ERRATA.name}"
    yield f"$JS.API.DIRECT.GET.{ERRATA.name}.>"
