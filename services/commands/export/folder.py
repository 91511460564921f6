"""The folder of an export: parts that never change, and one manifest that says which of them count.

Replacing the manifest is the only moment at which anything happens. A run that ends before it, however it ends, leaves
what was there; the next one removes its remains and does the work again.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

from kit.settings import SettingsError
from services.commands.export.formats import Format
from services.commands.export.tables import TABLES

MANIFEST = "manifest.json"
VERSION = 1


@dataclass(frozen=True)
class Draft:
    """One run's part before it counts. `number` is the run's, from 1."""

    number: int
    folder: Path
    memory: Path


class Folder:
    """An export on disk; see `opened`."""

    def __init__(self, path: Path, chosen: Format, manifest: dict[str, Any] | None) -> None:
        self.path = path
        self._format = chosen
        self._manifest = manifest

    @property
    def _last(self) -> int:
        return 0 if self._manifest is None else int(self._manifest["run"])

    def draft(self, *, full: bool) -> Draft:
        """Begin a part. `full`: as if nothing had been written before."""
        self._clear()
        number = self._last + 1
        folder = self.path / f"part-{number:04}.partial"
        folder.mkdir()
        memory = self.path / f"memory-{number:04}.db"
        if self._last and not full:
            shutil.copyfile(self.path / f"memory-{self._last:04}.db", memory)
        return Draft(number, folder, memory)

    def commit(self, draft: Draft, rows: dict[str, int], positions: dict[str, int], *, full: bool) -> dict[str, Any]:
        """Make a part count; the new manifest. A part without any row is left out, except as the only one."""
        if self._manifest is not None and not full and not any(rows.values()):
            manifest = {**self._manifest, "positions": positions}
            self._replace(manifest)
            return manifest
        parts = [] if full or self._manifest is None else self._manifest["parts"]
        name = f"part-{draft.number:04}"
        files = [_entry(name, path, rows) for path in sorted(draft.folder.iterdir())]
        sums = "".join(f"{file['sha256']}  {Path(file['path']).name}\n" for file in files)
        (draft.folder / "SHA256SUMS").write_text(sums)
        for path in (*draft.folder.iterdir(), draft.memory, draft.folder):
            _sync(path)
        draft.folder.rename(self.path / name)
        manifest = {
            "version": VERSION,
            "format": self._format,
            "run": draft.number,
            "positions": positions,
            "parts": [*parts, {"name": name, "positions": positions, "files": files}],
            "tables": {
                table.name: {
                    "key": list(table.key),
                    "columns": {column.name: column.kind + ("?" if column.null else "") for column in table.columns},
                }
                for table in TABLES
            },
        }
        _sync(self.path)
        self._replace(manifest)
        return manifest

    def _replace(self, manifest: dict[str, Any]) -> None:
        self._manifest = manifest
        temporary = self.path / f"{MANIFEST}.partial"
        temporary.write_text(json.dumps(manifest, indent=1) + "\n")
        _sync(temporary)
        temporary.replace(self.path / MANIFEST)
        _sync(self.path)
        self._clear()

    def _clear(self) -> None:
        """Remove what does not count."""
        counts = {MANIFEST, ".lock"}
        if self._manifest is not None:
            counts |= {part["name"] for part in self._manifest["parts"]} | {f"memory-{self._last:04}.db"}
        for path in self.path.iterdir():
            if path.name not in counts and path.name.startswith(("part-", "memory-", MANIFEST)):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def opened(path: Path, chosen: Format) -> Iterator[Folder]:
    """The folder for one run at a time.

    Raises: SettingsError: another run works there, or it holds something else.
    """
    path.mkdir(parents=True, exist_ok=True)
    with (path / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SettingsError(f"another export into {path} is under way") from None
        manifest = None
        if (path / MANIFEST).exists():
            manifest = json.loads((path / MANIFEST).read_text())
            if (manifest.get("version"), manifest.get("format")) != (VERSION, chosen):
                raise SettingsError(f"{path} holds an export of another format; choose another folder, or --format")
        elif any(each.name != ".lock" and not each.name.startswith(("part-", "memory-")) for each in path.iterdir()):
            raise SettingsError(f"{path} holds something else than an export; choose an empty folder")
        yield Folder(path, chosen, manifest)


def _entry(part: str, path: Path, rows: dict[str, int]) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    size = path.stat().st_size
    return {
        "path": f"{part}/{path.name}",
        "table": path.stem,
        "rows": rows[path.stem],
        "size_bytes": size,
        "sha256": digest,
    }


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
