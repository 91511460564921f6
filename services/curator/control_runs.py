"""Requests controls, some each day, as the selector requests any other post."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import structlog

from analyses.fact_check import FactCheck
from contracts.v1 import InvestigationRequested
from contracts.v1.ids import investigation_id
from kit.clock import Clock
from services.curator.control_lists import BadList, ControlList, ControlLists, ListedControl
from services.curator.ports import Log
from services.curator.record.controls import SqlControls

DAY: Final = timedelta(days=1)

log = structlog.get_logger(__name__)


class ControlRuns:
    """Requests what is due. A request that is published again is the same event."""

    def __init__(self, lists: ControlLists, record: SqlControls, log_: Log, clock: Clock, *, a_day: int) -> None:
        self._lists = lists
        self._record = record
        self._log = log_
        self._clock = clock
        self._a_day = a_day

    async def run_once(self) -> int:
        """Request controls of lists that are committed to, and neither closed nor open; how many."""
        now = self._clock.now()
        due = max(0, self._a_day - await self._record.requested(now - DAY))
        requested = 0
        for batch in await self._record.batches():
            if not batch.may_begin(now):
                continue
            try:
                controls = self._lists.read(batch.id)
            except (BadList, OSError) as error:
                log.error("a list of controls cannot be read", batch=str(batch.id), reason=str(error))
                continue
            if controls is None:  # another curator has it
                continue
            begun = {each.version_id for each in await self._record.runs(batch.id)}
            for each in [each for each in controls.in_order if each.version_id not in begun][: due - requested]:
                requested += await self._log.publish(make_request(controls, each), self._clock.new_id())
        return requested


def make_request(controls: ControlList, control: ListedControl) -> InvestigationRequested:
    """The event that requests a control. Nothing that comes after it looks at where it came from."""
    batch, analysis = controls.batch_id, FactCheck.name
    return InvestigationRequested(
        investigation_id=investigation_id(control.version_id, analysis, "CONTROL", batch),
        version_id=control.version_id,
        post_id=control.post_id,
        analysis=analysis,
        origin="CONTROL",
        origin_id=batch,
        requested_by="SELECTOR",
    )
