"""The gates that decide by code whether a correction may be shown: what they cannot prove, they refuse.

They stand between the pages that a claim cites and the reviewer, in a fixed order, and the first refusal ends the
judgement. Each of them may cost a right correction; none may let a wrong one through that it could have recognised.
Source: decision 0086.
"""

from __future__ import annotations

from analyses.gates.case import Case, CitedPage, Judgement
from analyses.gates.order import GATES, RULES, judge
from analyses.gates.words import MEANINGS, REASONS

__all__ = ["GATES", "MEANINGS", "REASONS", "RULES", "Case", "CitedPage", "Judgement", "judge"]
