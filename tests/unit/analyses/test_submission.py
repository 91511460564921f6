"""Reading what a model hands in: strictly, and with an answer it can act on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.kinds import InvalidSubmission
from analyses.submission import LONG_CHARACTERS, MAX_SOURCES, QUOTE_CHARACTERS, SHORT_CHARACTERS
from analyses.submission import parse_correction as parse
from contracts.v1.parts import Source

SOURCE = {"url": "https://example.org/a", "title": "A", "snippet": "words of a page"}
GOOD: dict[str, Any] = {"text": "t", "context": "a t b", "summary": "s", "reasoning": "r", "sources": [SOURCE]}


def test_a_complete_submission_is_read() -> None:
    claim = parse(json.dumps(GOOD | {"text": " t ", "sources": [SOURCE, SOURCE | {"url": "HTTP://b.example/?q=1#x"}]}))
    assert claim.text == "t"
    assert claim.sources == (
        Source(**SOURCE),
        Source(url="HTTP://b.example/?q=1#x", title="A", snippet="words of a page"),
    )


@pytest.mark.parametrize(
    "url",
    ["", "ftp://a.example", "javascript:alert(1)", "https://", "https:// a.example", "//a.example", "a.example",
     "https://a.example/a b", "https:///path", "https://?q", "https://a.example\nx", "data:text/html,https://a.example"],
)  # fmt: skip
def test_a_source_must_be_a_web_page(url: str) -> None:
    with pytest.raises(InvalidSubmission, match=r"sources\.0\.url"):
        parse(json.dumps(GOOD | {"sources": [SOURCE | {"url": url}]}))


@pytest.mark.parametrize("field", sorted(GOOD))
def test_every_field_is_needed_and_named_in_the_answer(field: str) -> None:
    without = {name: value for name, value in GOOD.items() if name != field}
    for bad in (without, GOOD | {field: None}, GOOD | {field: ""}):
        with pytest.raises(InvalidSubmission, match=field):
            parse(json.dumps(bad))


@pytest.mark.parametrize("arguments", ["", "{", "null", "[]", '"text"', '{"text": "\\ud800"}', json.dumps(GOOD) + "x"])
def test_what_is_no_json_object_is_refused(arguments: str) -> None:
    with pytest.raises(InvalidSubmission):
        parse(arguments)


@pytest.mark.parametrize("bad", [{"text": "a\x00b"}, {"reasoning": "\x00"}, {"verdict": "false"}, {"sources": []}])
def test_what_the_database_cannot_hold_or_nobody_asked_for_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidSubmission):
        parse(json.dumps(GOOD | bad))


def test_the_answer_does_not_repeat_what_was_handed_in() -> None:
    with pytest.raises(InvalidSubmission) as raised:
        parse(json.dumps(GOOD | {"sources": [SOURCE | {"url": "secret-words"}]}))
    assert "secret-words" not in str(raised.value)
    assert raised.value.__context__ is None


@given(st.text())
def test_any_text_is_read_or_refused(arguments: str) -> None:
    with pytest.raises(InvalidSubmission):
        parse(arguments)


@given(st.dictionaries(st.sampled_from([*GOOD, "more"]), st.recursive(st.text() | st.none(), st.lists, max_leaves=3)))
def test_any_object_is_read_or_refused(given_fields: dict[str, object]) -> None:
    with pytest.raises(InvalidSubmission):
        parse(json.dumps(given_fields))


@pytest.mark.parametrize(
    ("field", "most"),
    [
        ("text", QUOTE_CHARACTERS),
        ("context", QUOTE_CHARACTERS),
        ("summary", SHORT_CHARACTERS),
        ("reasoning", LONG_CHARACTERS),
    ],
)
def test_a_model_that_goes_on_and_on_is_told_to_be_brief(field: str, most: int) -> None:
    assert parse(json.dumps(GOOD | {field: "x" * most}))
    with pytest.raises(InvalidSubmission, match=f"{field}.*{most}"):
        parse(json.dumps(GOOD | {field: "x" * (most + 1)}))


def test_sources_are_limited_in_number_and_length() -> None:
    assert parse(json.dumps(GOOD | {"sources": [SOURCE] * MAX_SOURCES}))
    long = {"url": f"https://example.org/{'x' * 9_000}"}, {"title": "x" * 2_001}, {"snippet": "x" * 4_001}
    for sources in ([SOURCE] * (MAX_SOURCES + 1), *([SOURCE | each] for each in long)):
        with pytest.raises(InvalidSubmission, match="sources"):
            parse(json.dumps(GOOD | {"sources": sources}))


@pytest.mark.requirement("2.4.2-03")
@pytest.mark.parametrize(
    ("snippet", "told"),
    [("No.", "at least 3 whole words"), ("[...] Bats [...]", "at least 3"), ("word and word ... " * 13, "at most 12")],
    ids=["too short", "too short in pieces", "too many pieces"],
)
def test_a_quotation_that_can_be_found_nowhere_can_be_mended(snippet: str, told: str) -> None:
    """In review it would be refused, where the model hears nothing of it.

    2.4.2-03: Claims rest on the text, with pictures too.
    """
    with pytest.raises(InvalidSubmission, match=rf"sources\.1\.snippet: .*{told}") as raised:
        parse(json.dumps(GOOD | {"sources": [SOURCE, SOURCE | {"snippet": snippet}]}))
    assert "Bats" not in str(raised.value)
