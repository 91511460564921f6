"""The types of the client understand what the server's types say, and a newer server too."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from contracts.jobs.problems import PROBLEMS
from contracts.jobs.requests import AnalyzeRequest
from openerrata_client import Options
from openerrata_client import types as client_types
from openerrata_client.results import read_result
from openerrata_client.types import ADVICE, AnalysedClaim, FullResult, JobView
from tests.support.job_answers import FakeJob, accepted, credit, estimate, repeated, result_of, uuid_of, view_of

JOB = FakeJob("01ARZ3NDEKTSV4RRFFQ69G5FAV", AnalyzeRequest(input_text="A text."))


@pytest.mark.parametrize(
    "document", [accepted(JOB), repeated(JOB), estimate(), view_of(JOB), credit()], ids=lambda each: type(each).__name__
)
def test_what_the_server_says_is_understood(document: BaseModel) -> None:
    said = json.loads(document.model_dump_json())
    read = getattr(client_types, type(document).__name__).read(document.model_dump_json())
    assert read.received == said
    assert set(type(read).model_fields) == set(type(document).model_fields)
    again = json.loads(read.model_dump_json())
    assert _plain(again) == _plain(said)


def _plain(value: Any) -> Any:  # JSON
    """Without what the two may spell otherwise: money as text, fields that are absent."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value) if value.endswith("Z") else float(value)
        except ValueError:
            return value
    return value


def test_a_result_is_read_whole() -> None:
    result = read_result(json.dumps(result_of(JOB.id)).encode())
    assert isinstance(result, FullResult)
    first = result.claims[0]
    assert isinstance(first, AnalysedClaim)
    assert first.scenarios[0].evidence.supporting[0].source_url == "https://light.example/sky"
    assert result.cost_breakdown.stage2_new_claims == Decimal("0.162")


words = st.text(min_size=1, max_size=20)


@given(field=words, word=words)
def test_a_newer_server_is_understood(field: str, word: str) -> None:
    """Fields and words of enumerations may be new."""
    said = json.loads(view_of(JOB).model_dump_json())
    if field in JobView.model_fields:
        field = f"new_{field}"
    said["status"] = word
    said["options"]["depth"] = word
    said["options"][f"new_{field}"] = 1
    read = JobView.read(json.dumps({**said, field: {"anything": [1]}}))
    assert (read.status, read.options.depth) == (word, word)


def test_a_misspelt_option_is_an_error_before_anything_is_sent() -> None:
    with pytest.raises(ValidationError, match="max_claim"):
        Options(max_claim=3)  # type: ignore[call-arg]  # that is the mistake


def test_there_is_advice_for_every_problem() -> None:
    assert {code: kind.advice for code, kind in PROBLEMS.items()} == dict(ADVICE)
    assert uuid_of(JOB)
