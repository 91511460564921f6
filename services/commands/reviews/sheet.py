"""The sheet for reviewers, as CSV: written with an empty column for verdicts, and read when it is returned."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TextIO
from uuid import UUID

from accuracy.facts import Verdict
from services.commands.reviews.samples import SheetLine

COLUMNS: Final = ("claim", "page", "quote", "correction", "verdict")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


class BadSheet(ValueError):
    """A sheet cannot be imported; the message names the line."""


@dataclass(frozen=True, slots=True)
class GivenVerdict:
    """A verdict on a finding. Shapes: `line` of the file where it begins, from 1."""

    line: int
    claim_id: UUID
    verdict: Verdict


def write_sheet(file: TextIO, lines: Iterable[SheetLine]) -> None:
    """Write the sheet. Text that a spreadsheet would run as a formula gets an apostrophe before it."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in lines:
        words = (f"'{text}" if text.startswith(_FORMULA) else text for text in (line.quote, line.correction))
        writer.writerow((line.claim_id, line.page, *words, ""))


def parse_sheet(data: bytes) -> list[GivenVerdict]:
    """The verdicts of a sheet; lines without one are left out.

    Raises: BadSheet: it is not CSV in UTF-8, lacks a column, or has an invalid line.
    """
    found: dict[UUID, GivenVerdict] = {}
    last = 1
    try:
        reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        missing = {"claim", "verdict"} - set(reader.fieldnames or ())
        if missing:
            raise BadSheet(f"line 1: there is no column {' and no column '.join(sorted(missing))}")
        for row in reader:
            line, last = last + 1, reader.line_num  # a quoted value may span several lines
            given = _parse(line, row["claim"] or "", row["verdict"] or "")
            if given is None:
                continue
            known = found.setdefault(given.claim_id, given)
            if known.verdict is not given.verdict:
                raise BadSheet(f"line {given.line}: line {known.line} has another verdict on the same claim")
    except UnicodeDecodeError as error:
        raise BadSheet("it is not in UTF-8; save it as CSV in UTF-8") from error
    except csv.Error as error:
        raise BadSheet(f"line {last + 1}: {error}") from error
    return list(found.values())


def _parse(line: int, claim: str, verdict: str) -> GivenVerdict | None:
    try:
        claim_id = UUID(claim.strip())
    except ValueError:
        raise BadSheet(f"line {line}: {claim!r} is not a claim's id") from None
    if not verdict.strip():
        return None
    try:
        return GivenVerdict(line, claim_id, Verdict(verdict.strip().upper()))
    except ValueError:
        raise BadSheet(f"line {line}: {verdict!r} is none of RIGHT, PARTLY, WRONG") from None
