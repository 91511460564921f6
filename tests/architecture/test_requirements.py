"""Tests name rows that exist, and the report tells which rows nobody shows."""

from __future__ import annotations

import re

import pytest

from tests.requirements import DECIDED, HERE, IDS, marks, report, rows, rows_in, shown

TEST = """
import pytest
@pytest.mark.requirement("1.2-03", "1.2-04")
def test_a(): ...
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.requirement("1.2-05"))])
async def test_b(x): ...
pytestmark = pytest.mark.requirement("1.2-06")
"""


def test_every_row_named_by_a_test_exists() -> None:
    assert sorted(shown(HERE.rglob("test_*.py")).keys() - rows().keys()) == []


def test_the_list_of_ids_is_that_of_the_document() -> None:
    assert list(rows_in(IDS.read_text())) == list(rows())


def test_a_row_that_is_decided_otherwise_exists_and_has_its_test_and_its_decision() -> None:
    decided = rows_in(DECIDED.read_text())
    assert decided.keys() <= rows().keys()
    assert decided.keys() <= shown(HERE.rglob("test_*.py")).keys()
    links = re.findall(r"\]\(([^)]+)\)", DECIDED.read_text())
    assert links
    assert [link for link in links if not (DECIDED.parent / link).is_file()] == []


def test_marks_are_found_wherever_they_stand() -> None:
    assert sorted(marks(TEST)) == [
        ("1.2-03", "test_a"),
        ("1.2-04", "test_a"),
        ("1.2-05", "test_b"),
        ("1.2-06", "the whole module"),
    ]


def test_an_id_that_is_not_written_out_is_refused() -> None:
    with pytest.raises(ValueError, match="line 2"):
        list(marks("import pytest\nx = pytest.mark.requirement(ROW)"))


def test_rows_are_read_from_tables_and_from_lists() -> None:
    table = "| id | requirement |\n|---|---|\n| 1.2-03 | First thing | yes |\n| 2.4.1-10 | Other | no |\n"
    assert rows_in(table) == {"1.2-03": "First thing", "2.4.1-10": "Other"}
    assert rows_in("1.2-03\n2.4.1-10\n") == {"1.2-03": "", "2.4.1-10": ""}


def test_the_report_names_gaps_and_counts() -> None:
    known = {"1.2-03": "First thing", "1.2-04": "Other"}
    tests = {"1.2-03": ["a.py::test_a"]}
    assert list(report(known, tests, everything=False)) == ["1.2-04    Other", "1 of 2 rows are shown by tests"]
    assert "          a.py::test_a" in report(known, tests, everything=True)
