"""Tests name rows that exist and carry their titles, and the report tells which rows nobody proves."""

from __future__ import annotations

import re

import pytest

from tests.requirements import (
    LISTS,
    STATUS,
    Row,
    files_of_tests,
    marks,
    marks_in_typescript,
    outdated,
    proofs,
    report,
    rows,
    rows_in,
    unproved,
    with_titles,
)

TEST = '''"""1.2-06: Sixth."""
import pytest
@pytest.mark.requirement("1.2-03", "1.2-04")
def test_a() -> None:
    """First
    thing. """
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.requirement("1.2-05"))])
async def test_b(x: int) -> None:
    assert x
pytestmark = pytest.mark.requirement("1.2-06")
'''
KNOWN = {
    "1.2-03": Row("First thing", "shown"),
    "1.2-04": Row("Second thing", "partly: half of it"),
    "1.2-05": Row("Fifth", "shown"),
    "1.2-06": Row("Sixth", "shown"),
}


def test_every_mark_names_a_row_and_its_test_says_what_the_row_asks_for() -> None:
    found, wrong = proofs(files_of_tests(), rows())
    assert wrong == [], "python -m tests.requirements --write puts titles into docstrings"
    assert unproved(rows(), found) == []
    assert outdated(rows(), found) == [], "say in docs/requirements whether the row is shown, or which part of it"


def test_every_row_has_one_status_and_its_decision_exists() -> None:
    assert len(rows()) >= 457, "a row that does not hold any more says so; it is not deleted"
    for row, found in rows().items():
        status = STATUS.fullmatch(found.status)
        assert status is not None, (row, found.status)
        assert status[1] is None or (LISTS / status[1]).is_file(), (row, found.status)


def test_no_row_stands_twice() -> None:
    ids = [row for path in LISTS.glob("*.md") for row in re.findall(r"^\| (\S+-\d+) \|", path.read_text(), re.M)]
    assert len(ids) == len(set(ids))


def test_only_a_docstring_with_the_title_makes_a_mark_a_proof() -> None:
    found = {(mark.row, mark.test): mark.proves(KNOWN[mark.row].title) for mark in marks(TEST)}
    assert found == {
        ("1.2-03", "test_a"): True,
        ("1.2-04", "test_a"): False,
        ("1.2-05", "test_b"): False,
        ("1.2-06", "the whole module"): True,
    }


def test_tests_of_the_extension_name_row_and_title_at_once() -> None:
    text = """test(requirement('FS-9', 'At most six'), async () => {
describe(
  requirement(
    'FS-10',
    "The model's last",
  ),
requirement(ROW, 'x')"""
    found = {
        mark.row: (mark.proves("At most six"), mark.proves("The model's last")) for mark in marks_in_typescript(text)
    }
    assert found == {"FS-9": (True, False), "FS-10": (False, True)}


def test_titles_are_written_where_they_are_missing() -> None:
    written = with_titles(TEST, KNOWN)
    assert all(mark.proves(KNOWN[mark.row].title) for mark in marks(written))
    assert {(mark.row, mark.test) for mark in marks(written)} == {(mark.row, mark.test) for mark in marks(TEST)}
    assert with_titles(written, KNOWN) == written


def test_an_id_that_is_not_written_out_is_refused() -> None:
    with pytest.raises(ValueError, match="line 2"):
        list(marks("import pytest\nx = pytest.mark.requirement(ROW)"))


def test_rows_are_read_from_tables() -> None:
    table = "| row | title | status |\n|---|---|---|\n| 1.2-03 | First thing | shown |\n| TR-1 | Other | partly: a |\n"
    assert rows_in(table) == {"1.2-03": Row("First thing", "shown"), "TR-1": Row("Other", "partly: a")}


def test_the_report_names_gaps_and_counts() -> None:
    known = {"1.2-03": KNOWN["1.2-03"], "1.2-04": KNOWN["1.2-04"]}
    tests = {"1.2-03": ["a.py::test_a"]}
    assert list(report(known, tests, everything=False)) == [
        "1.2-04    Second thing (partly: half of it)",
        "1 of 2 rows are proved by tests, 1 not as they stand, 0 are planned",
    ]
    assert "          a.py::test_a" in report(known, tests, everything=True)


def test_a_planned_row_is_counted_and_listed_but_needs_no_test() -> None:
    known = {"FH-1": Row("First thing", "planned: gateway"), "FH-2": Row("Second thing", "shown")}
    assert unproved(known, {}) == ["FH-2"]
    assert list(report(known, {"FH-2": ["a.py::test_a"]}, everything=False)) == [
        "FH-1      First thing (planned: gateway)",
        "1 of 2 rows are proved by tests, 0 not as they stand, 1 are planned",
    ]


def test_a_row_that_a_test_proves_is_no_longer_planned() -> None:
    known = {"FH-1": Row("First thing", "planned: gateway"), "FH-2": Row("Second thing", "partly: half of it")}
    tests = {"FH-1": ["a.py::test_a"], "FH-2": ["a.py::test_b"]}
    assert outdated(known, tests) == ["FH-1 is proved by a.py::test_a and no longer planned"]
