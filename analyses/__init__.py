"""Every analysis there is, named one by one.

A run records its kind; a kind that is missing here could no longer be read, so names are only ever added.
"""

from __future__ import annotations

from analyses.base import Analysis
from analyses.fact_check import FactCheck

ANALYSES: tuple[Analysis, ...] = (FactCheck(),)


def analysis(kind: str) -> Analysis:
    """The analysis of this kind. Raises: LookupError if there is none."""
    for each in ANALYSES:
        if each.kind == kind:
            return each
    raise LookupError(f"no analysis of kind {kind!r}")
