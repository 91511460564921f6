"""The cost of a job, by stage."""

from __future__ import annotations

from contracts.jobs.values import Document, Money


class CostBreakdown(Document):
    """The cost of a job, by stage."""

    stage1_extraction: Money
    stage2_new_claims: Money
    stage2_cached_claims: Money
    stage3_holistic: Money

    @property
    def total(self) -> int:
        """The sum in micro-dollars."""
        return self.stage1_extraction + self.stage2_new_claims + self.stage2_cached_claims + self.stage3_holistic
