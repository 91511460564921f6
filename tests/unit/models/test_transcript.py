"""The record leaves out what it has already, and gives it all back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contracts.transcript import Transcript, shorten

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["model", "messages", "tools", "input", "previous"])
BODIES = st.lists(
    st.dictionaries(NAMES, JSON, max_size=5).flatmap(
        lambda body: st.one_of(
            st.just(body), st.lists(JSON, max_size=4).map(lambda messages: body | {"messages": messages})
        )
    ),
    max_size=5,
)


def record(bodies: list[dict[str, object]]) -> Transcript:
    before: dict[str, object] = {}
    calls = []
    for body in bodies:
        calls.append(shorten(body, before))  # type: ignore[arg-type]  # its values are JSON
        before = body
    head = {"step": "FACT_CHECK/look", "protocol": "demo", "provider": "p", "model": "m", "instructions": "i"}
    return Transcript.model_validate({**head, "input": (), "calls": calls})


@given(BODIES)
def test_every_request_can_be_read_again(bodies: list[dict[str, object]]) -> None:
    again = Transcript.model_validate_json(record(bodies).model_dump_json())
    assert list(again.requests()) == bodies


def test_a_conversation_that_grows_is_written_once() -> None:
    said = [{"role": "user", "content": f"message {number}"} for number in range(5)]
    bodies: list[dict[str, object]] = [{"model": "m", "messages": said[: number + 1]} for number in range(5)]
    calls = record(bodies).calls
    assert [call.request.get("messages") for call in calls] == [[message] for message in said]
    assert [call.messages_kept for call in calls] == [0, 1, 2, 3, 4]
    assert all(call.same == ("model",) for call in calls[1:])
