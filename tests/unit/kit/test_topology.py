"""How streams and consumers are declared: nothing is forgotten, shortened or given up on silently."""

from __future__ import annotations

import pytest
from nats.js.api import AckPolicy, DiscardPolicy, RetentionPolicy, StorageType

from contracts.topology import CONSUMERS, ERRATA, JOBS, REDELIVERY, STREAMS, VIEWS, Consumer
from contracts.v1 import EVENTS
from kit.dead_letters import DeadLetter, Origin
from kit.topology import consumer_config, stream_config


def covers(pattern: str, subject: str) -> bool:
    """Whether a stream's pattern takes a subject."""
    return pattern.endswith(".>") and subject.startswith(pattern.removesuffix(">"))


def test_streams_lie_on_disk_and_refuse_rather_than_forget() -> None:
    for stream in STREAMS:
        config = stream_config(stream, 3)
        assert (config.storage, config.discard, config.num_replicas) == (StorageType.FILE, DiscardPolicy.NEW, 3)
        assert config.allow_direct
        assert not config.max_msgs
        assert not config.max_bytes


def test_only_jobs_take_batches() -> None:
    assert [stream.name for stream in STREAMS if stream_config(stream, 1).allow_atomic] == [JOBS.name]


def test_only_views_grow_old() -> None:
    assert [stream.name for stream in STREAMS if stream_config(stream, 1).max_age] == [VIEWS.name]


def test_a_fact_can_be_erased_and_work_goes_once_it_is_done() -> None:
    assert not stream_config(ERRATA, 1).deny_delete
    kept = {stream.name: stream_config(stream, 1).retention for stream in STREAMS}
    assert [name for name, retention in kept.items() if retention is RetentionPolicy.WORK_QUEUE] == [REDELIVERY.name]


def test_every_fact_lies_in_exactly_one_stream() -> None:
    for event in EVENTS:
        subject = f"{event.SUBJECT}.x"
        assert len([p for stream in STREAMS for p in stream.subjects if covers(p, subject)]) == 1


@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda consumer: consumer.name)
def test_the_broker_never_gives_up_on_a_message(consumer: Consumer) -> None:
    config = consumer_config(consumer)
    assert config.max_deliver == -1
    assert config.ack_policy is AckPolicy.EXPLICIT
    assert config.durable_name == config.name


def test_a_dead_letter_says_where_it_came_from_in_one_line_each() -> None:
    letter = DeadLetter("a-consumer", "line one\n  line two" + "x" * 900, Origin("ERRATA", 7, "errata.v1.a.b.c"), 3)
    headers = letter.headers("id-1")
    assert headers["Nats-Msg-Id"] == "id-1"
    assert headers["Errata-Reason"].startswith("line one line two")
    assert len(headers["Errata-Reason"]) == 500
    assert (headers["Errata-Stream"], headers["Errata-Sequence"], headers["Errata-Delivery-Count"]) == (
        "ERRATA",
        "7",
        "3",
    )
    assert not any("\n" in value for value in headers.values())
