"""Examples are the contract by example: today's code reads them, yesterday's readers and tomorrow's writers agree."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from contracts.v1 import EVENTS, CreditPosted, Event, FlagRaised, JobEnded, JobExtracted, decode, envelope_type
from tests.contract.schemas import EXAMPLES, examples, name_of, relied_on
from tests.support.envelopes import encode

NAMED = [
    pytest.param(event, example, id=f"{name_of(event)}-{name}")
    for event in EVENTS
    for name, example in examples(event).items()
]

EXCLUDED: dict[type[Event], frozenset[str]] = {
    CreditPosted: frozenset({"adjustment_id"}),  # it has `job_id`
    JobExtracted: frozenset({"memo_of"}),  # it has `end`
    FlagRaised: frozenset({"claim_sha256"}),  # it has `url_sha256`
    JobEnded: frozenset({"code"}),  # it has `result`
}
"""Fields that the full example cannot have beside another one."""
NEEDED: dict[type[Event], frozenset[str]] = {CreditPosted: frozenset({"job_id"})}
"""Fields of the minimal example of which one or another is required."""


def subject_of(event: type[Event], example: Any) -> str:
    """Where the example would lie, worked out without decoding it."""
    return envelope_type(event).model_validate(example).event.subject()


@pytest.mark.parametrize(("event", "example"), NAMED)
def test_an_example_survives_a_round_trip(event: type[Event], example: dict[str, Any]) -> None:
    subject = subject_of(event, example)
    envelope = decode(subject, json.dumps(example).encode())
    assert type(envelope.event) is event
    assert decode(subject, encode(envelope)) == envelope
    assert _holds(json.loads(encode(envelope)), example)


@pytest.mark.parametrize(("event", "example"), NAMED)
def test_an_example_names_its_own_id(event: type[Event], example: dict[str, Any]) -> None:
    """The ids in the files are golden: if this fails, stored facts would be told again under other ids."""
    assert str(envelope_type(event).model_validate(example).event.event_id()) == example["id"]


def test_ids_of_all_examples_differ() -> None:
    counted = Counter(example["id"] for event in EVENTS for example in examples(event).values())
    assert counted.most_common(1)[0][1] == 1


@pytest.mark.parametrize(("event", "example"), NAMED)
def test_fields_of_a_later_version_are_passed_over(event: type[Event], example: dict[str, Any]) -> None:
    later = copy.deepcopy(example)
    for thing in list(_objects(later)):
        thing["a_field_of_a_later_version"] = {"with": ["parts"]}
    metadata = (later["event"].get("observation") or later["event"].get("sighting") or {}).get("metadata", {})
    metadata.pop("a_field_of_a_later_version", None)
    subject = subject_of(event, example)
    assert decode(subject, json.dumps(later).encode()) == decode(subject, json.dumps(example).encode())


@pytest.mark.parametrize("event", EVENTS, ids=name_of)
def test_examples_show_all_and_the_least(event: type[Event]) -> None:
    shown = examples(event)
    fields = event.model_fields
    assert set(shown["full"]) == {"id", "occurred_at", "correlation", "cause", "event"}
    assert set(shown["minimal"]) == {"id", "occurred_at", "correlation", "event"}
    filled = {name for example in shown.values() for name in example["event"]}
    assert filled == set(fields), "the full example fills every field; where two exclude each other, another one does"
    assert shown["full"]["event"].keys() >= set(fields) - EXCLUDED.get(event, frozenset())
    required = {name for name, field in fields.items() if field.is_required()}
    assert set(shown["minimal"]["event"]) == required | NEEDED.get(event, frozenset())


def test_messages_that_others_have_written_can_still_be_read() -> None:
    for revision, files in relied_on(EXAMPLES).items():
        by_name = {f"{name_of(event)}.json": event for event in EVENTS}
        for name, text in files.items():
            for example in json.loads(text).values():
                envelope = envelope_type(by_name[name]).model_validate(example)
                assert str(envelope.event.event_id()) == example["id"], f"{revision} {name}"


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for each in list(value.values()):
            yield from _objects(each)
    elif isinstance(value, list):
        for each in value:
            yield from _objects(each)


def _holds(whole: Any, part: Any) -> bool:
    """Whether everything in `part` is in `whole`, which may have defaults filled in."""
    if isinstance(part, dict):
        return all(name in whole and _holds(whole[name], value) for name, value in part.items())
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(_holds, whole, part))
    return bool(whole == part)
