"""What a fact of the stream JOBS can hold, read from the types of its fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from contracts.topology import ANALYST_SUBJECTS, ERRATA, JOBS, stream_of
from contracts.v1 import (
    EVENTS,
    AssertionAnalysisRequested,
    CreditPosted,
    EditMade,
    EntryPublished,
    Event,
    FlagResolved,
    JobEnded,
    JobIdempotencyKeyBound,
    LlmStageConfigured,
    RunFailed,
    RunStarted,
)
from kit.topology import stream_config
from tests.contract.schemas import examples, name_of

OF_JOBS = [event for event in EVENTS if stream_of(event) is JOBS]
NUMBERS = {"integer", "number", "boolean", "null"}
FORMATS = {"uuid", "date", "date-time"}
SENTENCES = ("the minister lied", "Sie log.", "vaccines are 95% effective", "ünwahr", "https://example.org/a b", "a\nb")
"""None may fit a string of a fact, in whole or at its beginning or end."""
PUBLIC = {"EntryPublished.wording"}
"""What everybody can read once the fact is there."""

Schema = Mapping[str, Any]  # JSON Schema has no narrower type


def leaves(schema: Schema, parts: Mapping[str, Schema], at: str) -> Iterator[tuple[str, Schema]]:
    """Every value that is no object or list, with its place."""
    schema = parts[schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else schema
    if "anyOf" in schema:
        for each in schema["anyOf"]:
            yield from leaves(each, parts, at)
    elif schema.get("type") == "object":
        assert "properties" in schema, f"{at} takes any names"
        for name, each in schema["properties"].items():
            yield from leaves(each, parts, f"{at}.{name}")
    elif schema.get("type") == "array":
        yield from leaves(schema["items"], parts, f"{at}[]")
    else:
        yield at, schema


def holds_words(schema: Schema) -> bool:
    """Whether a value could be a sentence."""
    if schema.get("type") in NUMBERS or schema.get("format") in FORMATS or "enum" in schema or "const" in schema:
        return False
    pattern = schema.get("pattern", "")
    anchored = pattern.startswith("^") and pattern.endswith("$")
    return not anchored or any(re.search(pattern, sentence) for sentence in SENTENCES)


@pytest.mark.requirement("FH-167")
@pytest.mark.parametrize("event", OF_JOBS, ids=name_of)
def test_a_fact_about_an_audit_holds_no_words(event: type[Event]) -> None:
    """FH-167: A fact of `JOBS` holds ids, hashes, numbers, moments, codes and `EphemeralRef`; the only names are those
    public by then (a published entry's wording, a cited source's domain, a labelled record's URI); nothing of `JOBS`
    reaches analysts' subjects or `/events`

    FH-167: Facts hold no words.
    """
    schema = event.model_json_schema()
    found = list(leaves(schema, schema.get("$defs", {}), event.__name__))
    assert found
    assert {at for at, each in found if holds_words(each)} <= PUBLIC


@pytest.mark.requirement("FH-167")
def test_nothing_of_audits_is_published_again() -> None:
    """FH-167: A fact of `JOBS` holds ids, hashes, numbers, moments, codes and `EphemeralRef`; the only names are those
    public by then (a published entry's wording, a cited source's domain, a labelled record's URI); nothing of `JOBS`
    reaches analysts' subjects or `/events`

    FH-167: Facts hold no words.
    """
    assert stream_config(JOBS, 1).republish is None
    assert stream_config(ERRATA, 1).republish is not None
    assert not [each for each in ANALYST_SUBJECTS for event in OF_JOBS if each.startswith(f"{event.SUBJECT}.")]


@pytest.mark.parametrize("field", ["status_code", "attempt"])
def test_a_number_is_no_text(field: str) -> None:
    example = examples(RunFailed)["full"]["event"]
    with pytest.raises(ValidationError, match=field):
        RunFailed.model_validate(example | {field: "the minister lied"})


@pytest.mark.parametrize("field", ["reason", "error_name"])
def test_a_providers_message_is_no_code(field: str) -> None:
    """It may repeat the article."""
    example = examples(RunFailed)["full"]["event"]
    with pytest.raises(ValidationError, match=field):
        RunFailed.model_validate(example | {field: "The content 'the minister lied' was refused"})


RIVALS: list[tuple[type[Event], dict[str, Any]]] = [
    (JobEnded, {"outcome": "CANCELED", "result": None}),
    (AssertionAnalysisRequested, {"requested_by": UUID(int=7)}),
    (RunStarted, {"worker": "auditor-2"}),
    (RunStarted, {"delivery_count": 9}),
    (LlmStageConfigured, {"model": "another"}),
    (JobIdempotencyKeyBound, {"job_id": UUID(int=7)}),
    (CreditPosted, {"job_id": UUID(int=7)}),
    (EntryPublished, {"by": UUID(int=7)}),
    (EditMade, {"edit_id": UUID(int=7)}),
    (FlagResolved, {"by": UUID(int=7)}),
    (FlagResolved, {"status": "DISMISSED"}),
    (CreditPosted, {"job_id": None, "adjustment_id": UUID(int=7), "entry": "ADJUSTED"}),
]
"""Events that two writers may publish behind the same event, with what differs."""


@pytest.mark.parametrize(("event", "other"), RIVALS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_rivals_event_is_no_repetition(event: type[Event], other: dict[str, Any]) -> None:
    """The stream confirms a repetition, whatever it expected, so a rival would take its own event for stored."""
    mine = event.model_validate(examples(event)["full"]["event"])
    rival = mine.model_copy(update=other)
    assert rival.subject() == mine.subject()
    assert rival.event_id() != mine.event_id()
