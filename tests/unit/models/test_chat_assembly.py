"""What servers of chat completions put beside an answer goes back to them with it."""

from __future__ import annotations

from typing import Any

import pytest

from kit.models.chat_assembly import Assembly

CALL = {"index": 0, "id": "a", "function": {"name": "fetch_url", "arguments": "{}"}}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"reasoning_details": [{"type": "reasoning.text", "text": said, "index": 0, **more}]}


def summary(said: str) -> dict[str, Any]:
    return {"reasoning_details": [{"type": "reasoning.summary", "summary": said, "index": 0}]}


def encrypted(data: str) -> dict[str, Any]:
    return {"reasoning_details": [{"type": "reasoning.encrypted", "data": data, "index": 0}]}


@pytest.mark.parametrize(
    ("deltas", "thoughts"),
    [
        ([{}, {"reasoning_content": None, "reasoning": "Hm.", "reasoning_details": None}], {}),
        ([{"reasoning_content": "so "}, {"reasoning_content": "be it"}], {"reasoning_content": "so be it"}),
        ([{"reasoning_content": ""}, {"content": "Yes."}], {"reasoning_content": ""}),
        (
            [
                *(text("so ", format="x"), text("be it", signature="c2ln"), summary("It "), summary("is so.")),
                *(encrypted("a"), encrypted("b")),
            ],
            {
                "reasoning_details": [
                    *text("so be it", format="x", signature="c2ln")["reasoning_details"],
                    *summary("It is so.")["reasoning_details"],
                    *encrypted("a")["reasoning_details"],
                    *encrypted("b")["reasoning_details"],
                ]
            },
        ),
    ],
    ids=["none", "DeepSeek", "DeepSeek without any", "OpenRouter"],
)
def test_thoughts_go_back_as_they_came(deltas: list[dict[str, Any]], thoughts: dict[str, Any]) -> None:
    answer = Assembly(0)
    for delta in [*deltas, {"tool_calls": [CALL]}]:
        assert [*answer.feed({"choices": [{"delta": delta}]})] == []
    (call,) = answer.feed({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    assert {name: value for name, value in answer.message.items() if name not in ("role", "content")} == {
        "tool_calls": [call]
    } | thoughts
