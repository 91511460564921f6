"""Everything that can go wrong with the servers we run is one family, and each message stands for itself.

A caller shows the message and leaves; a failure of another type would show a traceback to the person at the terminal.
"""

from __future__ import annotations

from pathlib import Path


class EmbeddedError(RuntimeError):
    """A server we run ourselves cannot be run, or ended by itself."""


class DataDirInUse(EmbeddedError):
    """Another process runs its servers on the same data folder."""

    def __init__(self, data_dir: Path, holder: int | None) -> None:
        owner = f"process {holder}" if holder is not None else "another process"
        super().__init__(f"{data_dir} is in use by {owner}; stop it first, or choose another data folder")
        self.holder = holder
