"""All errors of embedded servers are of one family, with messages for the person at the terminal.

A caller prints the message and exits; an error of another type would print a traceback.
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
