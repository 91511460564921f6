"""The report is the same bytes for the same result, and nothing in a result becomes mark-up."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pydantic import JsonValue

from analyses.claims.report import escape, write_report
from tests.support.audit_cases import HOSTILE, Case, read_cases


class Reported(Case):
    name: str
    result: dict[str, JsonValue]
    markdown: list[str]


CASES = read_cases("report", list[Reported])
FULL = CASES[0].result
MARKS = (
    *(
        "*",
        "**a**",
        "_a_",
        "`",
        "<b>",
        "&lt;",
        "[a](b)",
        "![",
        "](<x>)",
        "# ",
        "- ",
        "1. ",
        "1) ",
        "= ",
        "> ",
        "\n",
        " ",
    ),
    *("\\", "http://a.example", "www.a.example", "a@b.example", "| a |", "~~a~~", "$a$", "<!--"),
)
MARKUP = HOSTILE | st.lists(st.sampled_from(MARKS), max_size=8).map("".join)
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
SECTIONS = [
    "Verdict",
    "Summary",
    "Claims",
    "Claims without an analysis",
    "More claims",
    "Fallacies",
    "Disclaimers",
    "Models and cost",
    "Receipt",
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.requirement("FH-18")
def test_the_report_of_a_result(case: Reported) -> None:
    """FH-18: The report is Markdown, a pure function of the result."""
    report = write_report(case.result)
    assert report.splitlines() == case.markdown
    assert report.endswith("\n")
    assert write_report(json.loads(json.dumps(case.result, sort_keys=True))) == report


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.requirement("FH-18")
def test_sections_stand_in_their_order(case: Reported) -> None:
    """FH-18: The report is Markdown, a pure function of the result."""
    assert [line[3:] for line in write_report(case.result).splitlines() if line.startswith("## ")] == SECTIONS


def test_a_fallacy_without_a_place_has_no_empty_brackets() -> None:
    fallacy: JsonValue = {"type": "straw_man", "severity": "minor", "why": "It was not said.", "location": ""}
    report = write_report({**FULL, "article_holistic_assessment": {"fallacies": [fallacy]}})
    assert "- straw\\_man, minor: It was not said.\n" in report


def kinds(tokens: list[Token]) -> list[str]:
    """What a renderer makes of a report, without its texts."""
    found = [each.type for token in tokens for each in (token, *(token.children or ()))]
    return [each for each in found if each not in ("text", "text_special")]


def strings(value: JsonValue, text: str) -> JsonValue:
    """A result whose words are all the same text; what code chose stays."""
    match value:
        case dict():
            fixed = ("source_url", "status", "receipt", "recommended_scenario", "scenario_id")
            return {key: each if key in fixed else strings(each, text) for key, each in value.items()}
        case list():
            return [strings(each, text) for each in value]
        case str():
            return text
        case _:
            return value


def report_of(text: str) -> str:
    """The report of a whole result that says nothing but this."""
    result = strings(FULL, text)
    assert isinstance(result, dict)
    return write_report(result)


PLAIN = kinds(PARSER.parse(report_of("words")))


@given(MARKUP)
@example("\ud800")
@pytest.mark.requirement("FH-18", "FH-175")
def test_nothing_in_a_result_becomes_mark_up(text: str) -> None:
    """FH-18: The report is Markdown, a pure function of the result.
    FH-175: A model's hints never outrank words, evidence and formulas.
    """
    report = report_of(f"a {text} b")
    report.encode()
    assert kinds(PARSER.parse(report)) == PLAIN
    assert not re.search(r"(?<![\\(<])https?://|(?<!\\)@", report.replace("](<http", ""))


@given(MARKUP)
def test_an_escaped_text_is_one_line_of_plain_text(text: str) -> None:
    escaped = escape(text)
    assert "\n" not in escaped
    assert kinds(PARSER.parse(escaped)) in ([], ["paragraph_open", "inline", "paragraph_close"])


@given(st.dictionaries(st.sampled_from(sorted(FULL)), st.none() | HOSTILE | st.just([])))
def test_a_result_with_gaps_has_a_report(result: dict[str, JsonValue]) -> None:
    assert write_report(result).startswith("# Audit: ")


def test_how_much_was_known_is_a_paragraph_behind_the_verdict() -> None:
    coverage: JsonValue = {"claims_total": 1, "claims_cached": 1, "claims_missing": 0, "coverage_percent": 100}
    report = write_report({**FULL, "cache_coverage": coverage})
    assert "\n\n1 of 1 claims were known already (100 %).\n\n" in report


@pytest.mark.parametrize("url", ["javascript:alert(1)", "ftp://a.example/", "", "http://", "\ud800"])
def test_only_web_pages_are_linked(url: str) -> None:
    metadata: JsonValue = {"article_metadata": {"title": "T", "source_url": url}}
    assert "](" not in write_report({"claim_extraction": metadata})
