"""Recorded cases of real sites, where they lie beside the checkout; our own ones are in tests/cases."""

from __future__ import annotations

import pytest

from tests.conformance.kinds import KINDS
from tests.conformance.run import run_file
from tests.support.recorded import recorded


@pytest.mark.requirement("3.8-01", "2.8-05", "3.2-04", "2.13-05")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_recorded_cases_pass(kind: str) -> None:
    """3.8-01: Text is normalised as the table says.
    2.8-05: The version hash follows its formula.
    3.2-04: Occurrence set dedup and order.
    2.13-05: SSRF-safe image fetch.
    """
    report = run_file(recorded(kind))
    assert report.failed == [], report.line()
    assert report.total > 0
