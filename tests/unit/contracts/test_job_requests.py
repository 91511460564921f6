"""What the job API takes: the limits of every option, exactly one input, and no key that it does not know."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

from contracts.jobs.requests import AnalyzeRequest, ClientLabels, ConfigureRequest, Options

URL = "https://example.org/article"
SEED = {
    "input_type": "url",
    "input_url": URL,
    "input_text": None,
    "options": {
        "browsing": "on",
        "depth": "standard",
        "max_claims": 5,
        "scenarios_per_claim": 2,
        "max_evidence_per_scenario": 6,
        "context_aware_analysis": True,
        "cache_preference": "prefer_cache",
    },
    "client": {"request_id": "optional-client-tracking-id", "source_label": "optional"},
}


def analyze(body: object) -> AnalyzeRequest:
    return AnalyzeRequest.model_validate_json(json.dumps(body))


def test_the_seeds_body_is_read_and_its_options_are_the_defaults() -> None:
    assert analyze(SEED).options == Options() == analyze({"input_url": URL}).options


@pytest.mark.requirement("FH-2")
@pytest.mark.parametrize("kind", [None, "url", "text"])
@pytest.mark.parametrize("given", [(), ("url",), ("text",), ("url", "text")])
@pytest.mark.parametrize("absent", ["left out", "null"])
def test_exactly_one_input_is_given(kind: str | None, given: tuple[str, ...], absent: str) -> None:
    """FH-2: Exactly one of `input_url`, `input_text` is filled; `input_type` may be absent and is then inferred. Both,
    neither or a mismatch is 400.

    FH-2: Exactly one of address and text is given; a missing input type is inferred.
    """
    values = {"url": URL, "text": "The sky is blue."}
    body: dict[str, JsonValue] = {f"input_{name}": values[name] for name in given}
    if absent == "null":
        body |= {f"input_{name}": None for name in values if name not in given}
    if kind is not None:
        body["input_type"] = kind
    if len(given) == 1 and kind in (None, given[0]):
        assert analyze(body).input_kind == given[0]
    else:
        with pytest.raises(ValidationError):
            analyze(body)


LIMITS = [("max_claims", 1, 10, 5), ("scenarios_per_claim", 1, 5, 2), ("max_evidence_per_scenario", 3, 10, 6)]


@pytest.mark.requirement("FH-5", "FH-6", "FH-7")
@pytest.mark.parametrize(("option", "least", "most", "usual"), LIMITS)
def test_numbers_have_limits_and_are_never_clamped(option: str, least: int, most: int, usual: int) -> None:
    """FH-5: `options.max_claims` integer 1…10, default 5; out of range is 400, never clamped.
    FH-6: `options.scenarios_per_claim` integer 1…5, default 2.
    FH-7: `options.max_evidence_per_scenario` integer 3…10, default 6.

    FH-5: `max_claims` is 1 to 10, 5 by default, and never clamped.
    FH-6: `scenarios_per_claim` is 1 to 5, 2 by default.
    FH-7: `max_evidence_per_scenario` is 3 to 10, 6 by default.
    """
    assert getattr(analyze({"input_url": URL}).options, option) == usual
    for value in range(least, most + 1):
        assert getattr(analyze({"input_url": URL, "options": {option: value}}).options, option) == value
    for wrong in (least - 1, most + 1, least + 0.5, 2.5, str(least), "5", True, None, [least], -1, 10**30):
        with pytest.raises(ValidationError):
            analyze({"input_url": URL, "options": {option: wrong}})


@pytest.mark.requirement("FH-9")
@pytest.mark.parametrize(
    ("option", "accepted"),
    [
        ("cache_preference", {"prefer_cache", "allow_partial", "skip_cache", "cache_only"}),
        ("browsing", {"on", "off"}),
        ("depth", {"standard", "deep"}),
    ],
)
def test_words_are_of_a_list(option: str, accepted: set[str]) -> None:
    """FH-9: `options.cache_preference` is `prefer_cache` (default), `allow_partial`, `skip_cache`, `cache_only`.

    FH-9: `cache_preference` is one of four words.
    """
    for value in accepted:
        assert getattr(analyze({"input_url": URL, "options": {option: value}}).options, option) == value
    for wrong in (*(value.upper() for value in accepted), "another", "", None, True):
        with pytest.raises(ValidationError):
            analyze({"input_url": URL, "options": {option: wrong}})


@pytest.mark.parametrize("wrong", ["true", 1, None, "on"])
def test_the_switch_is_a_boolean(wrong: JsonValue) -> None:
    with pytest.raises(ValidationError):
        analyze({"input_url": URL, "options": {"context_aware_analysis": wrong}})


@pytest.mark.parametrize("where", [(), ("options",), ("client",)])
def test_an_unknown_key_is_an_error_everywhere(where: tuple[str, ...]) -> None:
    body: dict[str, JsonValue] = {"input_url": URL, "options": {}, "client": {}}
    analyze(body)
    inner = body
    for step in where:
        inner = inner[step]  # type: ignore[assignment]  # objects of the body above
    inner["another"] = 1
    with pytest.raises(ValidationError):
        analyze(body)


@pytest.mark.parametrize(
    "wrong", [{"options": None}, {"client": None}, {"input_type": None}, {"client": {"request_id": None}}]
)
def test_what_may_be_absent_may_not_be_null(wrong: dict[str, JsonValue]) -> None:
    with pytest.raises(ValidationError):
        analyze({"input_url": URL, **wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "example.org",
        "/article",
        "ftp://example.org/",
        "javascript:alert(1)",
        "https://",
        "https://e.org/" + "a" * 2_048,
    ],
)
def test_an_address_is_absolute_http_and_not_too_long(wrong: str) -> None:
    with pytest.raises(ValidationError):
        analyze({"input_url": wrong})
    with pytest.raises(ValidationError):
        analyze({"input_url": URL, "client": {"webhook_url": wrong}})


def test_a_long_address_is_counted_in_characters() -> None:
    assert analyze({"input_url": "https://e.org/" + "a" * 2_034}).input_url
    with pytest.raises(ValidationError, match="at most 2048 characters"):
        analyze({"input_url": "https://e.org/" + "a" * 2_035})


def test_a_webhook_is_https() -> None:
    analyze({"input_url": "http://example.org/", "client": {"webhook_url": "https://example.org/hook"}})
    with pytest.raises(ValidationError):
        analyze({"input_url": URL, "client": {"webhook_url": "http://example.org/hook"}})


@pytest.mark.parametrize("label", ["request_id", "source_label"])
def test_labels_have_a_length(label: str) -> None:
    analyze({"input_url": URL, "client": {label: "ä" * 255}})
    for wrong in ("a" * 256, 1, ["a"]):
        with pytest.raises(ValidationError):
            analyze({"input_url": URL, "client": {label: wrong}})


def test_an_absent_label_is_not_written() -> None:
    assert ClientLabels(request_id="one").model_dump_json() == '{"request_id":"one"}'


@pytest.mark.requirement("FH-24")
@pytest.mark.parametrize(
    ("field", "accepted", "refused"),
    [
        ("stage", ["stage1", "stage2", "stage3"], ["stage4", "extract", 1, None]),
        ("max_tokens", [1, 200_000], [0, 200_001, 1.5, "1", None]),
        ("temperature", [0, 0.3, 2], [-0.1, 2.1, "0", None]),
        ("provider", ["openai"], ["", None, 1]),
        ("model", ["a-model"], ["", None, 1]),
    ],
)
def test_a_model_is_configured_within_limits(field: str, accepted: list[JsonValue], refused: list[JsonValue]) -> None:
    """FH-24: `POST /admin/v1/llm/configure` takes `stage`, `provider`, `model`, `max_tokens`, `temperature` and answers
    `message`, `stage`, `previous`, `current`, `cost_impact`.

    FH-24: An admin configures a model stage and reads what it costs.
    """
    body = {"stage": "stage2", "provider": "openai", "model": "a-model", "max_tokens": 16_384, "temperature": 0.3}
    for value in accepted:
        ConfigureRequest.model_validate_json(json.dumps(body | {field: value}))
    for value in refused:
        with pytest.raises(ValidationError):
            ConfigureRequest.model_validate_json(json.dumps(body | {field: value}))
    with pytest.raises(ValidationError):
        ConfigureRequest.model_validate_json(json.dumps({name: each for name, each in body.items() if name != field}))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_whatever_is_sent_is_read_or_refused(body: JsonValue) -> None:
    with pytest.raises(ValidationError):
        analyze(body)
