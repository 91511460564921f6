"""What a tool was asked, in the words of every provider."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.gates import MEANINGS, REASONS
from services.gateway.public.site.audit_page import describe_gates, find_questions
from services.gateway.public.site.naming import describe_gate
from services.gateway.record.runs import GateOutcome
from tests.support.record_rows import a_candidate, a_check

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(("{", "[1", '{"query": 1}', '["q"]')),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("query", "action", "input", "arguments", "url", "x")), inner, max_size=4)
    ),
)


PASSED = [GateOutcome(gate=name, outcome="PASS", code=None) for name in ("satire", "assertion")]
STOPPED = GateOutcome(gate="time", outcome="FAIL", code="MAY_HAVE_BEEN_TRUE")


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"type": "web_search_call", "action": {"type": "search", "query": "moon"}}, ["moon"]),
        ({"action": {"type": "search", "queries": ["a", "b"]}}, ["a", "b"]),
        ({"action": {"type": "open_page", "url": "https://e.example"}}, ["https://e.example"]),
        ({"name": "fetch_url", "arguments": '{"url": "https://e.example"}'}, ["https://e.example"]),
        ({"type": "server_tool_use", "name": "web_search", "input": {"query": "moon"}}, ["moon"]),
        ({"function": {"name": "search", "arguments": '{"query": "moon"}'}}, ["moon"]),
        ({"arguments": "{not json"}, []),
        ("words", []),
        ([], []),
    ],
)
def test_what_was_asked(payload: Any, words: list[str]) -> None:
    assert list(find_questions(payload)) == words


@pytest.mark.parametrize(
    ("state", "gate", "retained", "checks", "gates", "said"),
    [
        ("APPROVED", None, None, ["found", "missing"], [], ["passed", "found on 1 of 2 pages", "not asked", "passed"]),
        ("APPROVED", None, None, [], PASSED, ["passed", "not looked up", "passed 2 of 2", "passed"]),
        ("APPROVED", None, UUID(int=1), [], [], ["passed: the words still stand there", *["as before"] * 3]),
        ("REJECTED", "rule", None, [], [], ["stopped", "not reached", "not reached", "not reached"]),
        ("REJECTED", "sources", None, [], [], ["passed", "stopped", "not reached", "not reached"]),
        ("REJECTED", "time", None, [], [*PASSED, STOPPED], ["passed", "passed", "stopped", "not reached"]),
        ("REJECTED", "model", None, [], PASSED, ["passed", "passed", "passed 2 of 2", "stopped"]),
        ("REJECTED", "other", None, [], [], ["–", "–", "–", "–"]),
        ("FAILED", None, None, [], [], ["–", "–", "–", "–"]),
        ("PENDING", None, None, [], [], ["–", "–", "–", "–"]),
    ],
)
def test_what_each_gate_said(
    state: str, gate: str | None, retained: UUID | None, checks: list[str], gates: list[GateOutcome], said: list[str]
) -> None:
    candidate = replace(a_candidate(state, gate, retained), gates=tuple(gates))
    assert describe_gates(candidate, [a_check(status) for status in checks]) == said


def test_gates_are_told_in_words() -> None:
    assert describe_gate(PASSED[0]) == MEANINGS["satire"]
    assert describe_gate(STOPPED) == REASONS["MAY_HAVE_BEEN_TRUE"]
    assert describe_gate(GateOutcome(gate="later", outcome="FAIL", code="OF_A_LATER_VERSION")) == "OF_A_LATER_VERSION"


@given(JSON)
def test_whatever_was_recorded_is_read_or_left(payload: Any) -> None:
    assert all(isinstance(text, str) for text in find_questions(payload))
