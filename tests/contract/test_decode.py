"""Bytes from the wire become the promised fact or are refused; nothing else can come of them."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import EVENTS, Envelope, Undecodable, decode, envelope_type
from tests.contract.schemas import examples

EXAMPLES = [example for event in EVENTS for example in examples(event).values()]
BODY = json.dumps(EXAMPLES[0]).encode()
SUBJECT = envelope_type(EVENTS[0]).model_validate(EXAMPLES[0]).event.subject()
SUBJECTS = [
    envelope_type(event).model_validate(example).event.subject()
    for event in EVENTS
    for example in examples(event).values()
]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    "subject",
    [
        "",
        ".",
        "errata",
        "errata.v1.observation.received",
        "errata.v2.observation.received.x",
        "errata.v1.observation.unheard_of.x",
        SUBJECT.replace("received", "Received"),
        f"{SUBJECT}.more",
        f"{SUBJECT[:-1]}x",
        "errata.v1.canonical.unavailable." + SUBJECT.rpartition(".")[2],
    ],
)
def test_another_subject_is_refused(subject: str) -> None:
    with pytest.raises(Undecodable):
        decode(subject, BODY)


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{}", b'"text"', b"\xff\xfe", b"{", BODY[:-1], BODY + b"}", b'{"event": 1}', b"[" * 10_000],
    ids=range(11),
)
def test_malformed_bytes_are_refused(body: bytes) -> None:
    with pytest.raises(Undecodable):
        decode(SUBJECT, body)


@pytest.mark.parametrize("length", range(0, len(BODY), 37))
def test_a_truncated_message_is_refused(length: int) -> None:
    with pytest.raises(Undecodable):
        decode(SUBJECT, BODY[:length])


def test_the_refusal_names_the_place_and_not_the_content() -> None:
    broken = json.loads(BODY)
    broken["event"]["observation"]["post"] = {"platform": "", "external_id": "a reader's secret"}
    with pytest.raises(Undecodable, match=r"event\.observation\.post\.platform") as caught:
        decode(SUBJECT, json.dumps(broken).encode())
    assert "secret" not in str(caught.value)


@given(st.sampled_from(SUBJECTS), st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(subject: str, body: bytes) -> None:
    with pytest.raises(Undecodable):
        decode(subject, body)


@given(st.integers(0, len(SUBJECTS) - 1), st.data())
def test_any_change_is_decoded_or_refused(which: int, data: st.DataObject) -> None:
    message_ = json.loads(json.dumps(EXAMPLES[which]))
    _spoil(message_, data)
    with suppress(Undecodable):
        assert isinstance(decode(SUBJECTS[which], json.dumps(message_).encode()), Envelope)


@given(st.text(max_size=60))
def test_any_subject_is_known_or_refused(subject: str) -> None:
    with pytest.raises(Undecodable):
        decode(subject, BODY)


def _spoil(value: Any, data: st.DataObject) -> None:
    """Replace or remove one thing somewhere in the message."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = data.draw(st.sampled_from(keys))
    if isinstance(value[key], dict | list) and value[key] and data.draw(st.booleans()):
        _spoil(value[key], data)
    elif isinstance(value, dict) and data.draw(st.booleans()):
        del value[key]
    else:
        value[key] = data.draw(json_values)
