"""Roll scenarios up to a claim's verdict, and claims to the article's. Source: requirements FH-80, FH-81, FH-87."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from analyses.claims.labels import Label
from analyses.claims.scoring import Severity


class Rollup(StrEnum):
    """The verdict on a claim from all of its scenarios."""

    SUPPORTED = "Supported"
    REFUTED = "Refuted"
    INCONCLUSIVE = "Inconclusive"


class ArticleVerdict(StrEnum):
    """The verdict on an article."""

    WELL_SUPPORTED = "WELL-SUPPORTED"
    MISLEADING = "MISLEADING"
    REFUTED = "REFUTED"
    UNCERTAIN = "UNCERTAIN"


def roll_up(labels: Sequence[Label]) -> Rollup:
    """The roll-up of a claim: at least 60 per cent of its scenarios must agree; computed in integers."""
    likely = sum(each in (Label.LIKELY, Label.HIGHLY_LIKELY) for each in labels)
    unlikely = sum(each in (Label.UNLIKELY, Label.HIGHLY_UNLIKELY) for each in labels)
    if labels and 10 * likely >= 6 * len(labels):
        return Rollup.SUPPORTED
    if labels and 10 * unlikely >= 6 * len(labels):
        return Rollup.REFUTED
    return Rollup.INCONCLUSIVE


def judge_article(
    central: Sequence[Rollup | None], fallacies: Iterable[Severity], *, thesis_follows: bool
) -> ArticleVerdict:
    """Judge the article by its central claims, then by its reasoning; None is a central claim without an analysis."""
    if Rollup.REFUTED in central:
        return ArticleVerdict.REFUTED
    if not central or any(each is not Rollup.SUPPORTED for each in central):
        return ArticleVerdict.UNCERTAIN
    if not thesis_follows or any(each is not Severity.MINOR for each in fallacies):
        return ArticleVerdict.MISLEADING
    return ArticleVerdict.WELL_SUPPORTED
