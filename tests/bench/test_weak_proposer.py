"""No false flag of a weak proposer is released, even before a reviewer that approves everything."""

from __future__ import annotations

import pytest

from tests.bench.weak_proposer import WRONG, draw, run


@pytest.mark.requirement("TR-50")
async def test_a_weak_proposer_gets_no_false_flag_past_the_gates() -> None:
    """TR-50: Mirrored posts have the same outcome; planted, injected and corrected ones get no false flag.

    Among its ways to be wrong are pages that were planted, orders hidden in post and page, and posts that correct
    themselves.
    """
    tally = await run(draw(true=1_000, false=200))
    report = "\n".join(tally.lines())
    assert tally.false_flags == 0, report
    assert {way: tally.proposed[way] for way in WRONG} == dict.fromkeys(WRONG, 100)
    assert tally.released["right"] >= 160, report


async def test_without_the_gates_it_would() -> None:
    tally = await run(draw(true=100, false=20), policy=None)
    assert tally.false_flags >= 90
    assert tally.released["right"] == 20
