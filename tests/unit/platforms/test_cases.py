"""Our own cases, in the form of the recorded ones: a clone without those still tests every rule.

That they do is shown by the lines of the rules that they run, and for rules that are tables, by the entries they hold.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import pytest

from kit import addresses
from kit.web import addresses as web_addresses
from kit.web import url
from platforms import identity, text, wikipedia_identity, wikipedia_text
from tests.conformance.kinds import KINDS
from tests.conformance.run import run_file

CASES = Path(__file__).parents[2] / "cases"
RULES = (text, identity, wikipedia_identity, wikipedia_text, addresses, web_addresses, url)
ASKED_BY_NO_KIND = {"word_count", "fit_occurrences", "Url.authority", "Url.origin", "Url.__str__"}
BOUND = "raise UnparseableHtml("
"""Limits of work, on documents too large for a file of cases."""


@pytest.mark.requirement("2.8-05", "2.10-05", "3.2-04", "3.8-01", "3.8-02", "3.8-03", "3.9-09", "3.9-10", "3.9-13")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_our_cases_pass(kind: str) -> None:
    """2.8-05: The version hash follows its formula.
    2.10-05: IP range cap.
    3.2-04: Occurrence set dedup and order.
    3.8-01: Text is normalised as the table says.
    3.8-02: A space where a block begins.
    3.8-03: Scripts and styles are no text.
    3.9-09: Wikipedia namespace filter.
    3.9-10: Wikipedia excluded sections.
    3.9-13: Sections are left out in other languages too.
    """
    report = run_file(CASES / f"{kind}.json")
    assert report.failed == [], report.line()
    assert report.total > (3 if kind == "wikipedia_pages" else 10)


def test_our_cases_run_every_line_of_the_rules() -> None:
    ran: dict[str, set[int]] = {str(module.__file__): set() for module in RULES}

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        lines = ran.get(frame.f_code.co_filename)
        if lines is None:
            return None
        lines.add(frame.f_lineno)
        return trace

    for function in chain(*(vars(module).values() for module in RULES)):
        if hasattr(function, "cache_clear"):  # what another test was answered would be answered without a line
            function.cache_clear()
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for kind in sorted(KINDS):
            run_file(CASES / f"{kind}.json")
    finally:
        sys.settrace(before)
    missed = {
        f"{module.__name__}:{line} in {function}"
        for module in RULES
        for function, line in lines_of(module)
        if function not in ASKED_BY_NO_KIND and line not in ran[str(module.__file__)]
    }
    assert missed == set()


def lines_of(module: ModuleType) -> Iterator[tuple[str, int]]:
    """Every line that a function of the module runs, by the function's name."""
    source = Path(str(module.__file__)).read_text()
    shown = source.splitlines()
    for code in nested(compile(source, str(module.__file__), "exec")):
        if code.co_name == code.co_qualname == "<genexpr>":  # it makes a table when the module is imported
            continue
        for _, _, line in code.co_lines():
            if line and line != code.co_firstlineno and not shown[line - 1].strip().startswith(BOUND):
                yield code.co_qualname, line


def nested(code: CodeType) -> Iterator[CodeType]:
    """The code of functions, also of those inside classes and functions."""
    for inner in (constant for constant in code.co_consts if isinstance(constant, CodeType)):
        if inner.co_flags & 0x2:  # a function's; a class body's is run when the module is imported
            yield inner
        yield from nested(inner)


def test_our_cases_hold_every_character_that_is_replaced() -> None:
    given = set(chain(*(case["input"] for case in json.loads((CASES / "normalize.json").read_text())["cases"])))
    spaces = {character for character in map(chr, range(0x10000)) if re.match(f"[{text.JS_SPACE}]", character)}
    assert {character for character, _ in text.REPLACEMENTS} | spaces <= given
