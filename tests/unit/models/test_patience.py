"""A word is a word and a ping is none, however the bytes are cut."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.models.timeouts import ActivityDetector, Deadlines, Timeouts
from tests.support.virtual import run_virtually

STREAM = "text/event-stream; charset=utf-8"
PINGS = (
    b": keep-alive\n\n",
    b":\r\n",
    b'event: ping\ndata: {"type": "ping"}\n\n',
    b'event: keepalive\r\ndata: {"type":"keepalive","sequence_number":7}\r\n\r\n',
    b"data:\n\n",
    b"\n",
)
WORDS = (
    b'data: {"type": "response.in_progress"}\n\n',
    b'event: x\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"ping"}}\n\n',
    b'data: {"choices": [{"delta": {"content": "{\\"type\\": \\"ping\\"}"}}]}\n\n',
    b"data: [DONE]\n\n",
    b"data: " + b"x" * 1000,
)


def heard(data: bytes, cuts: list[int]) -> bool:
    """Whether anything was heard in the bytes, which come in these pieces."""
    listener = ActivityDetector(STREAM)
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    said = [listener.has_content(data[a:b]) for a, b in pairwise(places)]
    return any(said)


CUTS = st.lists(st.integers(0, 10_000), max_size=6)


@given(st.lists(st.sampled_from(PINGS), max_size=6), CUTS)
def test_what_only_keeps_a_stream_open_is_silence(pings: list[bytes], cuts: list[int]) -> None:
    assert not heard(b"".join(pings), cuts)


@given(st.lists(st.sampled_from(PINGS), max_size=4), st.sampled_from(WORDS), CUTS)
def test_a_word_among_pings_is_heard(pings: list[bytes], word: bytes, cuts: list[int]) -> None:
    assert heard(b"".join([*pings, word]), cuts)


@pytest.mark.parametrize(("data", "said"), [(b" \n", False), (b"", False), (b" {", True)])
def test_of_a_document_anything_but_blanks_is_heard(data: bytes, said: bool) -> None:
    assert ActivityDetector("application/json").has_content(data) is said


def test_all_calls_of_an_attempt_share_its_time() -> None:
    async def run() -> list[float]:
        deadlines, ends = Deadlines(Timeouts(call_s=6, run_s=10)), []
        for _ in range(3):
            ends.append(deadlines.begin_call())
            await asyncio.sleep(5)  # on a clock of its own, which waits for nothing
        return ends

    assert run_virtually(run()) == [6, 10, 10]
