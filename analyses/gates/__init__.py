"""The gates that decide by code whether a correction may be shown; what they cannot prove, they refuse.

They judge after the cited pages were fetched and before the reviewer, in a fixed order, and the first refusal ends the
judgement. A gate may refuse a right correction; it must not pass a wrong one that it could have recognised.
Source: decision 0086.
"""

from __future__ import annotations

from analyses.gates.case import Case, CitedPage, Judgement
from analyses.gates.order import GATES, RULES, judge
from analyses.gates.words import MEANINGS, REASONS

__all__ = ["GATES", "MEANINGS", "REASONS", "RULES", "Case", "CitedPage", "Judgement", "judge"]
