"""What became of a claim's sources: one set of rows a round, the first that is told."""

from __future__ import annotations

import pytest

from contracts.v1.parts import CheckedSource
from services.projector.rows.claims import SOURCE_CHECKS, SourceCheck
from tests.unit.projector.histories import START, Page, digest
from tests.unit.projector.test_project import folded

PAGE = Page("a")
CLAIM = PAGE.claim(0)[0]
URL = "https://source.example/0"


@pytest.mark.requirement("2.12-06")
def test_a_found_source_names_its_archived_page() -> None:
    """2.12-06: Source snapshots with hash and retrieval time."""
    (row,) = folded(PAGE.proposed(0), PAGE.approved(0))[SOURCE_CHECKS].written
    assert row == SourceCheck(CLAIM, 1, 0, URL, "found", None, f"{URL}/", digest(URL), len(URL), "text/html", START)


def test_a_source_without_a_page_says_why() -> None:
    missing, gone = folded(PAGE.proposed(0), PAGE.rejected(0))[SOURCE_CHECKS].written
    assert (missing.ordinal, missing.status, missing.page_hash) == (0, "missing", digest(URL))
    assert gone == SourceCheck(CLAIM, 1, 1, URL, "unavailable", "http_404")


def test_a_half_told_page_is_no_page() -> None:
    half = PAGE.approved(0).model_copy(
        update={"sources": (CheckedSource(url=URL, status="found", final_url=URL, fetched_at=START),)}
    )
    assert folded(half)[SOURCE_CHECKS].new == [SourceCheck(CLAIM, 1, 0, URL, "found")]


def test_the_first_verdict_of_a_round_is_kept_and_every_round_has_its_own() -> None:
    again = PAGE.rejected(0).model_copy(update={"round": 2})
    rows = folded(PAGE.proposed(0), PAGE.approved(0), PAGE.rejected(0), again)[SOURCE_CHECKS].written
    assert [(row.round, row.ordinal, row.status) for row in rows] == [
        (1, 0, "found"),
        (1, 1, "unavailable"),
        (2, 0, "missing"),
        (2, 1, "unavailable"),
    ]
