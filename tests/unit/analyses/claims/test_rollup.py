"""Scenarios decide a claim, central claims decide the article."""

from __future__ import annotations

from itertools import product

import pytest

from analyses.claims.labels import Label
from analyses.claims.rollup import ArticleVerdict, Rollup, judge_article, roll_up
from analyses.claims.scoring import Severity
from tests.support.audit_cases import Case, read_cases


class RolledUp(Case):
    labels: list[Label]
    rollup: Rollup


@pytest.mark.parametrize("case", read_cases("rollup", list[RolledUp]), ids=str)
@pytest.mark.requirement("FH-80", "FH-81")
def test_sixty_per_cent_decide(case: RolledUp) -> None:
    """FH-80: Sixty per cent of the scenarios decide the roll-up.
    FH-81: The roll-up is computed in integers.
    """
    assert roll_up(case.labels) is case.rollup


@pytest.mark.requirement("FH-86", "FH-87")
def test_the_truth_table_of_an_article() -> None:
    """FH-86: The article has one of four verdicts.
    FH-87: Central claims decide before reasoning does.
    """
    central = (Rollup.SUPPORTED, Rollup.REFUTED, Rollup.INCONCLUSIVE, None)
    for number in range(4):
        for claims in product(central, repeat=number):
            for fallacies, follows in product(((), *((each,) for each in Severity)), (True, False)):
                if Rollup.REFUTED in claims:
                    expected = "REFUTED"
                elif number == 0 or set(claims) != {Rollup.SUPPORTED}:
                    expected = "UNCERTAIN"
                elif not follows or fallacies in ((Severity.MODERATE,), (Severity.SEVERE,)):
                    expected = "MISLEADING"
                else:
                    expected = "WELL-SUPPORTED"
                assert judge_article(claims, fallacies, thesis_follows=follows) is ArticleVerdict(expected)
