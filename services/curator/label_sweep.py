"""Labels follow the public record: a record with a finding gets a label, one without loses it.

The tables are compared as a whole, so nothing is missed whatever happened meanwhile. They lag behind the log, so they
are used only if they hold what the log held at the previous comparison, and a label is stored only right after the
event that the decision was made from.
"""

from __future__ import annotations

import structlog

from kit.clock import Clock
from services.curator.labelling import decide
from services.curator.ports import LabelRecord, Log

log = structlog.get_logger(__name__)


class LabelSweep:
    """Publishes the labels that are due."""

    def __init__(self, record: LabelRecord, log_: Log, clock: Clock) -> None:
        self._record = record
        self._log = log_
        self._clock = clock
        self._since: int | None = None

    async def run_once(self) -> int:
        """Compare once; return how many labels were published. A label that another worker published first is kept."""
        since, self._since = self._since, await self._record.newest()
        found = None if since is None else await self._record.read(since)
        published = 0
        for record in found or ():
            event = decide(record, self._clock.now())
            if event is not None and await self._log.publish(event, self._clock.new_id()):
                log.info("label issued", label=event.key(), why=event.why)
                published += 1
        return published
