"""Accounts whose jobs come in, go on, end, are cancelled and settled in any order, over the end of a month."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.bank import Bank

SEQUENCES = 10_000


@pytest.mark.requirement("FH-40")
async def test_balances_add_up_over_any_life_of_an_account() -> None:
    """FH-40: Credit is reserved at intake and settled at the end.

    10,000 random sequences of intake, steps, cancellation, failure, settlement and months; sums are required after each
    step. All of it must occur, or the sequences say nothing.
    """
    ends: Counter[str] = Counter()
    months: Counter[int] = Counter()
    for seed in range(SEQUENCES):
        bank = Bank(seed)
        await bank.live(12 + seed % 12)
        assert all(each.open == () for each in bank.periods.values())
        ends.update(each.over.outcome for each in bank.jobs.values() if each.over is not None)
        ends.update(each.entry for each in bank.entries)
        months[len(bank.periods)] += 1
    assert ends.keys() == {"SUCCEEDED", "FAILED", "CANCELED", "RESERVED", "SETTLED", "RELEASED", "EXTRACTION"}
    assert min(ends.values()) > SEQUENCES / 100
    assert months[2] > SEQUENCES / 100
