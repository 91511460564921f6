"""Apply contracts.topology to a broker, and refuse a broker without the guarantees that we need."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import nats.errors
import nats.js.errors
from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    KeyValueConfig,
    PersistMode,
    RePublish,
    RetentionPolicy,
    StorageType,
    StoreCompression,
    StreamConfig,
)
from pydantic import BaseModel, ValidationError

from contracts.topology import (
    BUCKETS,
    CONSUMERS,
    ERRATA,
    REDELIVERY,
    STORED,
    STREAMS,
    Bucket,
    Consumer,
    Stream,
    stream_of,
)
from contracts.v1 import PREFIX
from kit.bus import Bus
from kit.servers import split_addresses

DUPLICATE_WINDOW_S = 120
STREAM_EXISTS = 10058
STREAM_FIELDS = (
    "subjects",
    "max_age",
    "num_replicas",
    "duplicate_window",
    "allow_direct",
    "allow_atomic",
    "republish",
    "compression",
)
"""The fields of a stream that are compared with the declaration."""


class UnsafeBroker(Exception):
    """The broker may lose messages that it acknowledged."""


class TopologyMissing(Exception):
    """Streams, consumers or buckets are not as this version of the code needs them."""


class _JetStream(BaseModel):
    sync_always: bool = False


class _Monitor(BaseModel):
    """The part of the monitoring response that is used."""

    config: _JetStream


@dataclass(frozen=True)
class Difference:
    """One deviation from the declaration. `wanted` and `found` are short texts for operators."""

    thing: str
    wanted: str
    found: str


def stream_config(stream: Stream, replicas: int) -> StreamConfig:
    """The configuration of a stream: on disk, uncompressed, never truncated silently, readable by subject.

    With compression, replicas of NATS 2.15.1 could no longer read their data after being killed and restarted (`s2:
    unsupported input`), and two of three together lost the stream.

    Single messages can be deleted, because the law may demand that a post is erased; `openerrata ledger verify` finds
    any other gap in a stream of facts.
    """
    return StreamConfig(
        name=stream.name,
        subjects=list(stream.subjects),
        retention=RetentionPolicy.WORK_QUEUE if stream.work else RetentionPolicy.LIMITS,
        storage=StorageType.FILE,
        discard=DiscardPolicy.NEW,
        max_age=stream.max_age_s or None,
        num_replicas=replicas,
        duplicate_window=DUPLICATE_WINDOW_S,
        allow_direct=True,
        allow_atomic=stream.atomic or None,
        compression=StoreCompression.NONE,
        republish=RePublish(src=f"{PREFIX}>", dest=f"{STORED}.{PREFIX}>") if stream is ERRATA else None,
    )


def consumer_config(
    consumer: Consumer, ack_wait_s: float | None = None, *, is_redelivery: bool = False
) -> ConsumerConfig:
    """The configuration of a consumer. Deliveries are unlimited: after a last one the server would drop the message.

    `ack_wait_s` overrides the consumer's own. `is_redelivery`: the twin that receives its redeliveries.
    """
    return ConsumerConfig(
        name=consumer.name,
        durable_name=consumer.name,
        filter_subject=consumer.redelivery_subject if is_redelivery else consumer.filter,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=ack_wait_s or consumer.ack_wait_s,
        max_deliver=-1,
        max_ack_pending=consumer.max_ack_pending,
        deliver_policy=DeliverPolicy.ALL,
    )


async def apply(bus: Bus, *, replicas: int = 1, ack_wait_s: float | None = None) -> list[Difference]:
    """Change the broker to match the declaration, and return the differences there were."""
    changed = [item async for item in find_differences(bus, replicas=replicas, ack_wait_s=ack_wait_s)]
    names = {item.thing for item in changed}
    js = bus.jetstream
    for stream in STREAMS:
        if f"stream {stream.name}" in names:
            await _put_stream(js, stream_config(stream, replicas))
    for consumer, stream, is_redelivery in _consumers():
        if _name(consumer, is_redelivery) in names:
            await js.add_consumer(stream.name, consumer_config(consumer, ack_wait_s, is_redelivery=is_redelivery))
    for bucket in BUCKETS:
        if f"bucket {bucket.name}" in names:
            await _put_bucket(js, bucket, replicas)
    return changed


async def find_differences(
    bus: Bus, *, replicas: int = 1, ack_wait_s: float | None = None
) -> AsyncIterator[Difference]:
    """Compare the broker with the declaration."""
    js = bus.jetstream
    for stream in STREAMS:
        wanted = stream_config(stream, replicas)
        try:
            found = (await js.stream_info(stream.name)).config
        except nats.js.errors.NotFoundError:
            yield Difference(f"stream {stream.name}", ", ".join(stream.subjects), "missing")
            continue
        for field in STREAM_FIELDS:
            want, have = getattr(wanted, field) or 0, getattr(found, field) or 0
            if want != have:
                yield Difference(f"stream {stream.name}", f"{field}={want}", f"{field}={have}")
    for consumer, stream, is_redelivery in _consumers():
        target = consumer_config(consumer, ack_wait_s, is_redelivery=is_redelivery)
        try:
            config = (await js.consumer_info(stream.name, consumer.name)).config
        except nats.js.errors.NotFoundError:
            yield Difference(_name(consumer, is_redelivery), target.filter_subject or "", "missing")
            continue
        for field in ("filter_subject", "ack_wait", "max_ack_pending"):
            if getattr(target, field) != getattr(config, field):
                yield Difference(
                    _name(consumer, is_redelivery),
                    f"{field}={getattr(target, field)}",
                    f"{field}={getattr(config, field)}",
                )
    for bucket in BUCKETS:
        try:
            ttl_s = (await (await js.key_value(bucket.name)).status()).ttl or 0
        except nats.js.errors.NotFoundError:
            yield Difference(f"bucket {bucket.name}", f"ttl={bucket.ttl_s}s", "missing")
            continue
        if ttl_s != bucket.ttl_s:
            yield Difference(f"bucket {bucket.name}", f"ttl={bucket.ttl_s}s", f"ttl={ttl_s:g}s")


async def read_ack_floor(bus: Bus, consumer: Consumer) -> int:
    """The sequence up to which all messages of a consumer are settled: none is in progress or will be redelivered."""
    found = await bus.jetstream.consumer_info(stream_of(consumer.event).name, consumer.name)
    return found.ack_floor.stream_seq if found.ack_floor is not None else 0


async def require(bus: Bus, *, replicas: int = 1, ack_wait_s: float | None = None) -> None:
    """Refuse a broker that is not as declared.

    Raises: TopologyMissing: with the first difference and the command that fixes it.
    """
    async for item in find_differences(bus, replicas=replicas, ack_wait_s=ack_wait_s):
        raise TopologyMissing(
            f"{item.thing}: wanted {item.wanted}, found {item.found}; run `openerrata topology apply`"
        )


async def require_durable(bus: Bus, monitor_urls: str | None) -> None:
    """Refuse a broker that acknowledges before it has written to disk.

    No stream may be configured to write later. Each server of the comma-separated monitoring addresses that answers
    must have `sync_interval: always`, and one must answer, also with replicas: a power cut may hit all of them.

    Raises: UnsafeBroker: with what to change.
    """
    for stream in _stream_names():
        if (await bus.jetstream.stream_info(stream)).config.persist_mode == PersistMode.ASYNC:
            raise UnsafeBroker(
                f"stream {stream} acknowledges before it has written to disk, whatever its server's configuration: "
                "set its persist_mode to default (a stream must be made anew for that), or pass --unsafe-broker"
            )
    if monitor_urls is None:
        raise UnsafeBroker(
            "cannot tell whether the broker writes before it acknowledges: set OPENERRATA_NATS_MONITOR_URL to the "
            "monitoring address of each of its nodes, or pass --unsafe-broker"
        )
    unsafe = await _find_unsafe(split_addresses(monitor_urls))
    if unsafe:
        raise UnsafeBroker(
            f"the broker acknowledges before it has written to disk, by {', '.join(unsafe)}: set "
            "`jetstream { sync_interval: always }` on each node and restart them one by one, or pass --unsafe-broker"
        )


def _stream_names() -> Iterator[str]:
    """The declared streams, and those of the buckets."""
    yield from (stream.name for stream in STREAMS)
    yield from (f"KV_{bucket.name}" for bucket in BUCKETS)


def _consumers() -> Iterator[tuple[Consumer, Stream, bool]]:
    """Each durable consumer with its stream: the consumers of facts, and their twins for redeliveries."""
    for consumer in CONSUMERS:
        yield consumer, stream_of(consumer.event), False
        yield consumer, REDELIVERY, True


def _name(consumer: Consumer, is_redelivery: bool) -> str:
    return f"consumer {consumer.name}" + (f" on {REDELIVERY.name}" if is_redelivery else "")


async def _find_unsafe(monitor_urls: list[str]) -> list[str]:
    """The servers that answer and acknowledge before writing. Raises: UnsafeBroker: none answers."""
    found = {url: await _read_monitor(url) for url in monitor_urls}
    answers = {url: each for url, each in found.items() if isinstance(each, _Monitor)}
    if not answers:
        raise UnsafeBroker(
            "cannot tell whether the broker writes before it acknowledges: what OPENERRATA_NATS_MONITOR_URL names does "
            f"not answer as a broker's monitoring address ({', '.join(type(each).__name__ for each in found.values())})"
        )
    return [url for url, each in answers.items() if not each.config.sync_always]


async def _read_monitor(url: str) -> _Monitor | Exception:
    import httpx

    try:
        # A proxy would see the address. The broker itself is trusted by the same certificates.
        async with httpx.AsyncClient(timeout=5.0, trust_env=False, verify=ssl.create_default_context()) as client:
            answer = await client.get(f"{url.rstrip('/')}/jsz", params={"config": "true"})
        return _Monitor.model_validate_json(answer.raise_for_status().content)
    except (httpx.HTTPError, httpx.InvalidURL, ValidationError) as error:
        return error


async def _put_stream(js: JetStreamContext, config: StreamConfig) -> None:
    try:
        await js.add_stream(config)
    except nats.js.errors.BadRequestError as error:
        if error.err_code != STREAM_EXISTS:
            raise
        await js.update_stream(config)


async def _put_bucket(js: JetStreamContext, bucket: Bucket, replicas: int) -> None:
    try:
        await js.create_key_value(
            KeyValueConfig(bucket=bucket.name, ttl=bucket.ttl_s or None, history=1, replicas=replicas)
        )
    except nats.js.errors.BadRequestError as error:
        if error.err_code != STREAM_EXISTS:
            raise
        info = await js.stream_info(f"KV_{bucket.name}")
        info.config.max_age = bucket.ttl_s or None
        await js.update_stream(info.config)
