"""Cases with known answers for each rule of a verdict; the extension's tests run the same files."""

from __future__ import annotations

from typing import Final

import pytest

from tests.contract.verdict import FOLDER
from tests.support.verdicts import twin
from tests.support.verdicts.given import LIMITS, SCHEMA, Case, cases

PROMPT: Final = (FOLDER / "prompt.txt").read_text()


def each(name: str) -> pytest.MarkDecorator:
    """One test for each case of a file."""
    found = cases(name)
    return pytest.mark.parametrize("case", found, ids=[str(case.get("name", n)) for n, case in enumerate(found)])


@each("salvage")
def test_an_answer_is_read(case: Case) -> None:
    assert twin.salvage(case["said"]) == case["answer"]


@each("sources")
def test_sources_are_results(case: Case) -> None:
    assert twin.keep_returned(case["given"], case["returned"]) == {"kept": case["kept"], "dropped": case["dropped"]}


@each("backfill")
def test_sources_are_backfilled(case: Case) -> None:
    found = twin.check_sources({"verdict": case["verdict"], "sources": case["given"]}, case["returned"])
    assert (found["sources"], found["backfilled"]) == (case["sources"], case["backfilled"])


@each("caps")
def test_confidence_is_capped(case: Case) -> None:
    found = twin.apply_caps(case["verdict"], case["confidence"], case["evidence"])
    assert found == {"confidence": case["left"], "caps": case["caps"]}


@each("bands")
def test_a_band_that_does_not_fit_is_warned_of(case: Case) -> None:
    assert twin.warn_of_band(case["verdict"], case["confidence"], case["families"]) == case["warning"]


@each("families")
def test_families_are_counted(case: Case) -> None:
    assert twin.count_families(case["hits"]) == case["families"]


@each("context")
def test_context_follows_the_prompt(case: Case) -> None:
    assert twin.context_block(case["moment"], case["zone"]) == case["block"]
    assert twin.system_message(case["prompt"], case["moment"], case["zone"]) == case["system"]


def test_the_prompt_says_what_the_rules_say() -> None:
    """The text and the code cannot drift apart: fields, words, bands and caps are looked up in it."""
    for word in (*SCHEMA["properties"], *SCHEMA["properties"]["verdict"]["enum"]):
        assert f'"{word}"' in PROMPT, word
    for band in ("90 to 100", "75 to 89", "60 to 74", "40 to 59", "20 to 39", "0 to 19"):
        assert f"\n{band}: " in PROMPT
    for cap in sorted({f"at most {most} if" for most in LIMITS["caps"].values()}):
        assert cap in PROMPT
    for duty in (
        "take no side",
        "web_search",
        "differ in their wording",
        "one JSON object",
        "None of the limits applies",
    ):
        assert duty in PROMPT


@pytest.mark.parametrize(
    "case", [case for case in cases("loop") if case["end"]["at"] == "done"], ids=lambda c: c["name"]
)
def test_the_card_of_a_whole_check(case: Case) -> None:
    """What the last reply and the results make, whichever requests led there."""
    card, reply = case["end"]["card"], case["replies"][-1]
    answer = twin.salvage_reply(reply.get("content", ""), reply.get("reasoning", ""))
    assert answer is not None
    searches = [event["search"] for event in case["events"] if event["at"] == "found"]
    returned = [hit for search in searches for hit in search["results"] or []]
    checked = twin.check_sources(answer, returned)
    evidence = {
        "post": case["post"],
        "returned": returned,
        "sources": checked["sources"],
        "searches": sum(search["results"] is not None for search in searches),
        "today": "2026-11-22" if "zone" not in case["settings"] else "2026-11-23",
    }
    capped = twin.apply_caps(answer["verdict"], answer["confidence"], evidence)
    warning = twin.warn_of_band(answer["verdict"], answer["confidence"], twin.count_families(checked["sources"]))
    assert card == {
        **{field: answer[field] for field in ("verdict", "summary", "claims", "caveats")},
        "modelConfidence": answer["confidence"],
        "confidence": capped["confidence"],
        "capsApplied": capped["caps"],
        "warnings": [warning] if warning else [],
        "sources": checked["sources"],
        "sourcesBackfilled": checked["backfilled"],
        "dropped": checked["dropped"],
        "searches": searches,
        "prompt": {"version": "own", "sha256": "f00"},
        "model": "small",
        "engine": case["settings"].get("engine", "duckduckgo"),
    }
