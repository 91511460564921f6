"""The broker subjects that a service's user may use, derived from its access."""

from __future__ import annotations

from collections.abc import Iterator

from contracts.access import ACCESS, POSITION, REQUESTER, Access
from contracts.topology import CONSUMERS, FAILURES, HEALTH, REDELIVERY, Bucket, stream_of


def inbox(service: str) -> str:
    """The prefix of a service's reply subjects; no other user may subscribe to them."""
    return f"_INBOX.{service}"


def writable_buckets(service: str) -> tuple[Bucket, ...]:
    """The buckets that a service reads and writes: its own, and FAILURES if it has consumers."""
    consumes = any(consumer.service == service for consumer in CONSUMERS)
    return (*ACCESS[service].buckets, *((FAILURES,) if consumes else ()))


def may_publish(service: str) -> tuple[str, ...]:
    """The subjects that a service's broker user may publish to. Source: NATS ADR-1, ADR-8, ADR-31."""
    return tuple(_published(service, ACCESS[service]))


def may_subscribe(service: str) -> tuple[str, ...]:
    """The subjects that a service's broker user may subscribe to."""
    access = ACCESS[service]
    return (
        f"{inbox(service)}.>",
        *(f"{consumer.direct_subject}.*" for consumer in access.serves_directly),
        *(consumer.ownership_subject for consumer in CONSUMERS if consumer.service == service and consumer.costly),
        *((f"{POSITION}.*",) if access.awaits_position else ()),
    )


def _published(service: str, access: Access) -> Iterator[str]:
    for event in access.publishes:
        yield f"{event.SUBJECT}.*"
    for consumer in CONSUMERS:
        if consumer.service == service:
            yield consumer.dead_letter_subject
            if consumer.costly:
                yield consumer.ownership_subject
                yield f"{inbox(service)}.>"
            for stream in (stream_of(consumer.event), REDELIVERY):
                yield f"$JS.API.CONSUMER.MSG.NEXT.{stream.name}.{consumer.name}"
                yield f"$JS.API.CONSUMER.PAUSE.{stream.name}.{consumer.name}"
                yield f"$JS.ACK.{stream.name}.{consumer.name}.>"
    for stream in access.follows:
        yield f"$JS.API.CONSUMER.CREATE.{stream.name}"
        yield f"$JS.FC.{stream.name}.>"
    for consumer in access.sends_directly:
        yield f"{consumer.direct_subject}.*"
    for bucket in (*writable_buckets(service), *access.reads):
        yield f"$JS.API.STREAM.MSG.GET.KV_{bucket.name}"
        yield f"$JS.API.DIRECT.GET.KV_{bucket.name}.>"
    for bucket in (*writable_buckets(service), HEALTH):
        yield f"$KV.{bucket.name}.>"
        if bucket.purged:
            yield f"$JS.API.STREAM.PURGE.KV_{bucket.name}"
    for bucket, key in access.entries:
        yield f"$KV.{bucket.name}.{key}"
    if access.answers:
        yield f"{inbox(REQUESTER)}.>"
    if access.announces_position:
        yield f"{POSITION}.*"
    # Every service may read the state of streams and consumers.
    yield "$JS.API.INFO"
    yield "$JS.API.STREAM.INFO.*"
    yield "$JS.API.CONSUMER.INFO.*.*"
    for stream in access.log:
        yield f"$JS.API.STREAM.MSG.GET.{stream.name}"
        yield f"$JS.API.DIRECT.GET.{stream.name}"
        yield f"$JS.API.DIRECT.GET.{stream.name}.>"
