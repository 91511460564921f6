"""The AsyncAPI document: current, whole, and true to what is on the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from contracts.cloudevents import HEADERS, SOURCE, cloud_headers
from contracts.v1 import EVENTS, decode
from services.gateway.public.stream.question import SHOWN
from tests.contract.asyncapi import asyncapi, document
from tests.contract.schemas import examples, name_of

NOW = datetime(2026, 3, 4, 5, 6, 7, 89_000, tzinfo=UTC)


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        for name, value in part.items():
            if name == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def at(found: Any, pointer: str) -> Any:
    for name in pointer.removeprefix("#/").split("/"):
        found = found[name]
    return found


def test_the_committed_document_is_current() -> None:
    for path, text in asyncapi().items():
        assert path.read_text() == text, "run `python -m tests.contract.write`"


def test_every_reference_leads_somewhere() -> None:
    found = document()
    pointers = set(references(found))
    assert len(pointers) > 2 * len(EVENTS)
    assert all(at(found, pointer) is not None for pointer in pointers)


def test_every_event_has_its_channel_and_analysts_have_theirs() -> None:
    found = document()
    assert [channel["address"] for channel in found["channels"].values()] == [
        f"{event.SUBJECT}.{{key}}" for event in EVENTS
    ]
    marked = {name for name, channel in found["channels"].items() if "tags" in channel}
    assert {f"errata.v1.{name}" for name in marked} == set(SHOWN)
    overt = {name for name, channel in found["channels"].items() if len(channel["servers"]) == 2}
    assert overt == marked


def test_every_event_is_told_by_somebody() -> None:
    operations = document()["operations"].values()
    told = {operation["channel"]["$ref"] for operation in operations if operation["action"] == "send"}
    assert told == {f"#/channels/{name_of(event)}" for event in EVENTS}


def test_headers_are_as_documented_and_as_cloudevents_wants_them() -> None:
    trait = document()["components"]["messageTraits"]["cloudEvent"]["headers"]
    for event in EVENTS:
        stored = examples(event)["full"]
        key = event.model_validate(stored["event"]).key()
        envelope = decode(f"{event.SUBJECT}.{key}", json.dumps(stored).encode())
        headers = cloud_headers(envelope.event, envelope.event.subject(), str(envelope.id), NOW)
        assert list(headers) == trait["required"] == list(HEADERS)
        assert headers["ce-type"] == event.SUBJECT
        assert headers["ce-subject"] == key
        assert UUID(headers["ce-id"]) == envelope.id
        assert (headers["ce-specversion"], headers["ce-source"]) == ("1.0", SOURCE)
        assert headers["ce-time"] == "2026-03-04T05:06:07.089000+00:00"
        assert all(value.isascii() and value.isprintable() for value in headers.values())
