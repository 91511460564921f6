"""When an operator's regular tasks last went well, told to whoever watches: a task itself ends before anybody asks."""

from __future__ import annotations

from typing import Final

from contracts.topology import MARKS
from kit.bus import Bus
from kit.kv import Bucket

BACKUP: Final = "backup"
LEDGER_VERIFY: Final = "ledger-verify"
TASKS: Final = (BACKUP, LEDGER_VERIFY)


async def went_well(bus: Bus, task: str) -> None:
    """Note that a task has just gone well. Raises: BusError."""
    marks = await Bucket.open(bus, MARKS)
    await marks.put(f"task-{task}", str(bus.clock.now().timestamp()).encode())


async def last_success(bus: Bus) -> dict[str, float]:
    """When each task last went well, as Unix time; 0 if never. Raises: BusError."""
    marks = await Bucket.open(bus, MARKS)
    return {task: float(await marks.get(f"task-{task}") or b"0") for task in TASKS}
