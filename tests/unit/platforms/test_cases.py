"""Our own cases, in the form of the recorded ones: a clone without those still tests every rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.kinds import KINDS
from tests.conformance.run import run_file

CASES = Path(__file__).parents[2] / "cases"


@pytest.mark.requirement(
    "2.8-05", "2.10-05", "3.2-04", "3.8-01", "3.8-02", "3.8-03", "3.8-08", "3.9-09", "3.9-10", "3.9-13"
)
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"wikipedia_pages"}))
def test_our_cases_pass(kind: str) -> None:
    report = run_file(CASES / f"{kind}.json")
    assert report.failed == [], report.line()
    assert report.total > 10
