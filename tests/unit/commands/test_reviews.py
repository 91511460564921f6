"""`openerrata reviews`: the sheet that goes out, the one that comes back, and what is refused at once."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner

from accuracy.facts import Verdict
from services.__main__ import main
from services.commands.reviews.samples import SheetLine
from services.commands.reviews.sheet import BadSheet, GivenVerdict, parse_sheet, write_sheet

ONE, OTHER = UUID(int=1), UUID(int=2)


def written(*lines: SheetLine) -> str:
    file = io.StringIO()
    write_sheet(file, lines)
    return file.getvalue()


def test_a_sheet_comes_back_with_verdicts_filled_in() -> None:
    sheet = written(
        SheetLine(ONE, "https://o.example/investigations/1#finding-1", 'He said, "no"\nand left.', "He said yes."),
        SheetLine(OTHER, "https://o.example/investigations/2#finding-3", "Two.", "Three."),
    )
    assert parse_sheet(sheet.encode()) == [], "nothing is reviewed yet"
    rows = list(csv.DictReader(io.StringIO(sheet)))
    assert rows[0]["quote"] == 'He said, "no"\nand left.'
    filled = sheet.removesuffix(",\n") + ", wrong\n"
    assert parse_sheet(b"\xef\xbb\xbf" + filled.encode()) == [GivenVerdict(4, OTHER, Verdict.WRONG)]


@pytest.mark.parametrize("words", ["=HYPERLINK(1)", "+1", "-1 degree", "@SUM(A1)", "\t=1"])
def test_no_spreadsheet_runs_the_words_of_a_post(words: str) -> None:
    (row,) = csv.DictReader(io.StringIO(written(SheetLine(ONE, "/investigations/1", words, words))))
    assert (row["quote"], row["correction"]) == (f"'{words}", f"'{words}")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("claim,opinion\n", "line 1: there is no column verdict"),
        ("", "line 1: there is no column claim and no column verdict"),
        (f"claim,verdict\n{ONE},RIGHT\nsomething,RIGHT\n", "line 3: 'something' is not a claim's id"),
        (f"claim,verdict\n{ONE},TRUE\n", "line 2: 'TRUE' is none of RIGHT, PARTLY, WRONG"),
        (f"claim,verdict\n{ONE},RIGHT\n{ONE},WRONG\n", "line 3: line 2 has another verdict on the same claim"),
        (f'claim,verdict\n{ONE},"RIGHT\n', "line 2: unexpected end of data"),
    ],
)
def test_what_is_wrong_is_said_by_line(tmp_path: Path, lines: str, message: str) -> None:
    with pytest.raises(BadSheet) as refusal:
        parse_sheet(lines.encode())
    assert str(refusal.value) == message
    file = tmp_path / "sheet.csv"
    file.write_text(lines)
    done = CliRunner().invoke(main, ["reviews", "import", str(file), "--reviewer", "A"])
    assert (done.exit_code, done.output) == (1, f"Error: {file}: {message}\n")


def test_a_sheet_in_another_encoding_is_refused() -> None:
    with pytest.raises(BadSheet, match="not in UTF-8"):
        parse_sheet("claim,verdict,quote\n,,é".encode("latin-1"))


def test_the_same_verdict_twice_is_one() -> None:
    assert parse_sheet(f"verdict,claim\nright,{ONE}\nRIGHT,{ONE}\n".encode()) == [GivenVerdict(2, ONE, Verdict.RIGHT)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "2026-11-02", "--to", "2026-11-01", "--size", "1", "--seed", "x"), "is after 2026-11-01"),
        (("--from", "2026-11-01", "--to", "2026-11-01", "--size", "0", "--seed", "x"), "0 is not in the range"),
        (("--from", "2026-11-01", "--to", "2026-11-01", "--size", "1", "--seed", "ü"), "printable ASCII"),
        (("--from", "2026-11-01", "--to", "2026-11-01", "--size", "1", "--seed", " x"), "printable ASCII"),
        (("--from", "November", "--to", "2026-11-01", "--size", "1", "--seed", "x"), "does not match the format"),
    ],
)
def test_a_draw_that_cannot_be_is_refused_before_anything_starts(arguments: tuple[str, ...], message: str) -> None:
    done = CliRunner().invoke(main, ["reviews", "draw", *arguments])
    assert done.exit_code == 2
    assert message in done.output


def test_a_reviewer_has_a_short_name(tmp_path: Path) -> None:
    file = tmp_path / "sheet.csv"
    file.write_text("claim,verdict\n")
    done = CliRunner().invoke(main, ["reviews", "import", str(file), "--reviewer", "A" * 41])
    assert done.exit_code == 2
    assert "at most 40" in done.output
