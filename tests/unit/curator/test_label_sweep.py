"""When the tables count for labels, and who may store one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from contracts.v1 import LabelIssued
from services.curator.label_sweep import LabelSweep
from services.curator.labelling import PinnedRecord
from tests.support.curating import JobsLog
from tests.support.fakes import StillClock
from tests.unit.curator.test_labelling import CID, RESULT, URI

FOUND: Final = PinnedRecord(uri=URI, cid=CID, result=RESULT, label=None)


class Tables:
    """Tables that hold one finding, up to a sequence of the log."""

    def __init__(self) -> None:
        self.log, self.position = 10, 10

    async def newest(self) -> int:
        return self.log

    async def read(self, since: int) -> Sequence[PinnedRecord] | None:
        return None if self.position < since else [FOUND]


async def test_tables_count_once_they_hold_what_the_log_held_before() -> None:
    tables, log = Tables(), JobsLog()
    sweep = LabelSweep(tables, log, StillClock())
    assert await sweep.run_once() == 0, "nothing is known of the log's end yet"
    tables.position = 9
    tables.log = 12
    assert await sweep.run_once() == 0
    tables.position = 11
    assert await sweep.run_once() == 0
    tables.position = 12
    assert await sweep.run_once() == 1
    (event,) = log.facts.events
    assert isinstance(event, LabelIssued)
    assert event.why == "PUBLISHED"


async def test_a_label_that_another_one_stored_first_is_not_stored_again() -> None:
    tables, log = Tables(), JobsLog()
    one, other = (LabelSweep(tables, log, StillClock()) for _ in range(2))
    for sweep in (one, other):
        await sweep.run_once()
    assert await one.run_once() == 1
    tables.log += 1
    tables.position += 1
    assert await other.run_once() == 0
    assert len(log.facts.events) == 1
