"""Whatever is sent, nothing is stored or charged but for a request that is valid."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from contracts.v1 import CreditPosted, JobRequested
from tests.support.job_api import ARTICLE, analyze, opened, problem
from tests.unit.gateway.fakes import Bench

EXAMPLES: Final = 250
"""Of each kind of body."""
LIMITS: Final = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
)
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
NEARLY: Final = st.fixed_dictionaries(
    {},
    optional={
        "input_type": st.sampled_from(["url", "text", "pdf", None, 1]),
        "input_url": st.none() | st.sampled_from(["https://example.org/", "http://127.0.0.1/", "x", ""]) | JSON,
        "input_text": st.none() | st.text(max_size=30) | JSON,
        "options": st.dictionaries(
            st.sampled_from(
                ["browsing", "depth", "max_claims", "scenarios_per_claim", "cache_preference", "context_aware_analysis"]
            ),
            st.sampled_from(["on", "off", "deep", "cache_only", True, 1, 5, 11, 2.5, "5", None]),
            max_size=4,
        )
        | JSON,
        "client": st.dictionaries(st.sampled_from(["request_id", "source_label", "webhook_url"]), JSON, max_size=3),
        "extra": JSON,
    },
)


@pytest.fixture
def bench() -> Bench:
    """One for all bodies of a test; each leaves it empty."""
    return opened(jobs_rate="1000000/1")


async def check(bench: Bench, body: bytes, **headers: str) -> None:
    """A clear refusal that stores nothing, or one job and one entry."""
    bench.jobs.facts.clear()
    bench.words.texts.clear()
    response = await analyze(bench, body, **headers)
    if response.status_code == 202:
        assert len(bench.jobs.of(JobRequested)) == len(bench.jobs.of(CreditPosted)) == len(bench.words.texts) == 1
        return
    assert 400 <= response.status_code < 500, response.text
    problem(response, response.json()["error"]["code"])
    assert (bench.jobs.facts, bench.words.texts) == ([], {})


@LIMITS
@given(st.binary(max_size=200))
@example(b"")
@example(b"null")
@example(b'{"input_text": "\xed\xa0\x80"}')
@example(b'{"input_text": "\\ud800"}')
@example(b'{"input_text": "a", "input_text": "b"}')
@example(b"[" * 100_000)
@example(b'{"input_text":' * 10_000)
async def test_bytes(bench: Bench, body: bytes) -> None:
    await check(bench, body)


@LIMITS
@given(JSON)
async def test_json(bench: Bench, body: Any) -> None:
    await check(bench, json.dumps(body).encode())


@LIMITS
@given(NEARLY)
async def test_nearly_valid_bodies(bench: Bench, body: Any) -> None:
    await check(bench, json.dumps(body).encode())


@LIMITS
@given(st.text(st.characters(max_codepoint=126, min_codepoint=32), max_size=300))
async def test_idempotency_keys(bench: Bench, key: str) -> None:
    await check(bench, json.dumps(ARTICLE).encode(), idempotency_key=key)


@pytest.mark.requirement("FH-29")
async def test_a_body_that_is_too_large_is_413() -> None:
    """FH-29: Errors have one shape and never hold an article's words."""
    bench = opened()
    problem(await analyze(bench, b"x" * 600_000), "PAYLOAD_TOO_LARGE")
    assert bench.jobs.facts == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (ARTICLE | {"options": {"max_claims": 11}}, "options.max_claims: Input should be less than or equal to 10"),
        ({"input_text": "A.", "Secret words": 1, "why": 2}, "…: Extra inputs are not permitted; why: Extra inputs"),
        (b'{"input_text": "A\\u0000"}', "The request is not valid. a string holds a NUL."),
    ],
)
async def test_what_is_not_valid_is_said_in_the_message(bench: Bench, body: object, said: str) -> None:
    response = await analyze(bench, body)
    problem(response, "VALIDATION_ERROR")
    assert said in response.json()["detail"]
