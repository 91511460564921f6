"""What model servers are known to answer, and what a reader sees of it: a card, or a sentence that says what to do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from tests.extension.chromium import words
from tests.extension.loopback_model import VERDICT, Turn, refuses, says, searches

MOST_REQUESTS: Final = 7
SAID: Final = json.dumps(VERDICT)
OTHER: Final = json.dumps(VERDICT | {"verdict": "True"})
HOST: Final = "$host"
"""Stands for the model's host in a sentence."""


@dataclass(frozen=True)
class Case:
    """`shown` is what the card says, `requests` what the model is asked."""

    turns: tuple[Turn, ...]
    shown: tuple[str, ...]
    requests: int


def card(requests: int, *turns: Turn) -> Case:
    """The verdict is shown."""
    return Case(turns, (words("verdictFalse"), words("checkEstimate")), requests)


def failure(requests: int, key: str, *turns: Turn, advice: str = "") -> Case:
    """The sentence of a failure and its advice are shown."""
    return Case(turns, (words(key, HOST), advice or words(f"{key}Advice")), requests)


ANSWERS: Final[dict[str, Case]] = {
    "empty tool calls": card(1, says(SAID[:20], SAID[20:])),
    "empty ids": card(3, searches("one"), searches("two"), says(SAID)),
    "JSON beside an empty content": card(2, searches(), says(SAID, key="reasoning_content")),
    "an unconstrained answer": card(2, says("It is lower."), says(f"So: {SAID}")),
    "a refused format": card(3, says("It is lower."), refuses(400), says(SAID)),
    "thoughts": card(1, says(f"<think>Is it {OTHER}?</think>{SAID}")),
    "thoughts without an end": card(1, says(f"<think>Is it? {SAID}")),
    "prose": card(1, says(f"Here you are:\n```json\n{SAID}\n```\nAnything else?")),
    "two objects": card(1, says(f"{OTHER}\n{SAID}")),
    "an error that passes": card(2, refuses(503), says(SAID)),
    "calls without end": card(7, *[searches()] * 6, says(SAID)),
    "calls without end or tool": failure(7, "failUnparseable", searches(), advice=words("failUnparseableEmpty")),
    "no verdict": failure(2, "failUnparseable", says("Well.")),
    "a cut stream": failure(1, "failModelError", Turn(says(SAID[:20]).deltas, end="cut")),
    "a broken connection": failure(2, "failUnreachable", Turn(end="cut")),
    "401": failure(1, "failKeyRefused", refuses(401)),
    "402": failure(1, "failQuota", refuses(402)),
    "429": failure(1, "failQuota", refuses(429, "retry-after: 7"), advice=words("failQuotaWait", 7)),
    "500": failure(2, "failModelError", refuses(500)),
    "a refusal": failure(1, "failRefused", says("No.", finish="content_filter")),
}
