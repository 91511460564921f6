"""A wall clock that jumps, for processes that are started with it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

_SHIM: Final = Path(__file__).with_name("clock_shim.c")


class JumpingClock:
    """Sets how far a process' wall clock is off; the monotonic clock is not changed."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock-offset"
        self._library = folder / "clock_shim.so"
        self.jump(0)
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", self._library, _SHIM, "-ldl"], check=True)

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a process that lives by this clock."""
        return {"LD_PRELOAD": str(self._library), "CLOCK_OFFSET_FILE": str(self._file)}

    def jump(self, offset_s: int) -> None:
        """Shift the wall clock of all these processes by this much from now on."""
        with self._file.open("r+b" if self._file.exists() else "wb") as file:  # in place: it is mapped
            file.write(offset_s.to_bytes(8, "little", signed=True))
