"""Store when an operator's regular tasks last succeeded, for the metrics: a task ends before it could be scraped."""

from __future__ import annotations

from typing import Final

from contracts.topology import MARKS
from kit.bus import Bus
from kit.kv import Bucket

BACKUP: Final = "backup"
LEDGER_VERIFY: Final = "ledger-verify"
TASKS: Final = (BACKUP, LEDGER_VERIFY)


async def record_success(bus: Bus, task: str) -> None:
    """Record that a task has just succeeded. Raises: BusError."""
    marks = await Bucket.open(bus, MARKS)
    await marks.put(f"task-{task}", str(bus.clock.now().timestamp()).encode())


async def read_last_success(bus: Bus) -> dict[str, float]:
    """When each task last succeeded, as Unix time; 0 if never. Raises: BusError."""
    marks = await Bucket.open(bus, MARKS)
    return {task: float(await marks.get(f"task-{task}") or b"0") for task in TASKS}
