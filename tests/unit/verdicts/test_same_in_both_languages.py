"""The extension and its twin in Python read 10,000 generated replies alike, down to the code point.

The extension's sources run as they are, in the Node that the tests bring.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from analyses.surrogates import well_formed
from tests.contract.schemas import ROOT
from tests.support.verdicts import twin
from tests.support.verdicts.generated import Generator
from tests.support.verdicts.given import Case

NODE: Final = Path(sys.executable).with_name("node")
TWIN: Final = ROOT / "tests" / "support" / "verdicts" / "twin.mjs"
SEEDS: Final = range(1, 11)
REPLIES: Final = 1_000
"""Replies of each seed."""


def in_node(calls: list[list[Any]]) -> list[Any]:
    """What the extension answers to calls."""
    done = subprocess.run(
        [NODE, "--no-warnings", TWIN],
        input=json.dumps(calls) + "\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def in_python(calls: list[list[Any]]) -> list[Any]:
    """What the twin answers."""
    functions: dict[str, Callable[..., Any]] = {
        "salvage": twin.salvage,
        "salvageReply": twin.salvage_reply,
        "checkSources": twin.check_sources,
        "countFamilies": twin.count_families,
        "applyCaps": twin.apply_caps,
        "warnOfBand": twin.warn_of_band,
        "contextBlock": twin.context_block,
        "cut": lambda text, most: text[:most],
        "fold": twin.fold,
    }
    return [functions[name](*given) for name, *given in calls]


def calls_of(generate: Generator) -> Iterator[list[Any]]:
    """One reply, and all that becomes of it."""
    reply = generate.reply()
    returned: list[Case] = generate.hits()
    verdict, confidence = generate.verdict(), generate.number(100)
    evidence = {
        "post": generate.text(),
        "returned": returned,
        "sources": returned[: generate.number(3)],
        "searches": generate.number(2),
        "today": "2026-11-22",
    }
    answer = twin.salvage(reply) or {"verdict": verdict, "sources": None if confidence < 50 else []}
    yield ["salvage", reply]
    yield ["salvageReply", reply if confidence < 50 else generate.text(3), reply]
    yield ["checkSources", answer, returned]
    yield ["countFamilies", returned]
    yield ["applyCaps", verdict, confidence, evidence]
    yield ["warnOfBand", verdict, confidence, generate.number(3)]
    yield ["contextBlock", *generate.moment()]
    yield ["cut", well_formed(generate.text()), generate.number(20)]
    yield ["fold", generate.text()]


@pytest.mark.parametrize("seed", SEEDS)
def test_generated_replies_are_read_alike(seed: int) -> None:
    generate = Generator(seed)
    drawn = [call for _ in range(REPLIES) for call in calls_of(generate)]
    calls = json.loads(json.dumps(drawn))  # joins halves of pairs that were drawn one after the other
    mine, theirs = in_python(calls), in_node(calls)
    different = [(call, one, other) for call, one, other in zip(calls, mine, theirs, strict=True) if one != other]
    assert different[:3] == [], f"seed {seed}: {len(different)} differences"
    read = sum(answer is not None for call, answer in zip(calls, mine, strict=True) if call[0] == "salvage")
    print(f"seed {seed}: {REPLIES} replies, {read} with a verdict, {len(calls)} results, 0 differences")
    assert REPLIES // 5 < read < REPLIES * 4 // 5, "the generator makes both kinds"
