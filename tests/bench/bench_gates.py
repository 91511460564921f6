"""What the gates stop of a proposer that is wrong in ten ways, and what they cost where nothing is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import process_time

from contracts.v1.parts import GatePolicy
from tests.bench.report import Report, Target
from tests.bench.weak_proposer import POLICY, Candidate, draw, run

TRUE, FALSE = 1_000, 200
ROUNDS = 5
MOST_OF_TODAY = 1.3


def bench(folder: Path, report: Report) -> None:
    """Report by way, then the validator's time with all gates as a ratio to its time without."""
    report.head("gates: a weak proposer before a reviewer that approves all")
    tally = asyncio.run(run(draw(true=TRUE, false=FALSE)))
    for line in tally.lines():
        report.note(line)
    if tally.false_flags:
        report.fail(f"{tally.false_flags} false flags are released")
    report.line("right corrections released", tally.released["right"] / tally.proposed["right"], "of all")
    right = list(draw(true=0, false=FALSE))
    taken = [(_time_s(right, None), _time_s(right, POLICY)) for _ in range(ROUNDS)]
    without, with_all = (median(each[at] for each in taken) for at in (0, 1))
    report.line(
        "a candidate, judged with all gates",
        1_000 * with_all / len(right),
        "ms of CPU",
        ratio=with_all / without,
        target=Target("<=", MOST_OF_TODAY, of="ratio"),
    )


def _time_s(candidates: Sequence[Candidate], policy: GatePolicy | None) -> float:
    began = process_time()
    asyncio.run(run(iter(candidates), policy))
    return process_time() - began
