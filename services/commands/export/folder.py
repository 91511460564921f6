"""The folder of an export: immutable parts, and one manifest that lists the valid ones.

Replacing the manifest commits a run. A run that ends earlier changes nothing; the next one removes its files.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import TypedDict

from kit.settings import SettingsError
from services.commands.export.formats import Format
from services.commands.export.tables import TABLES
from services.commands.shared import lock_folder

MANIFEST = "manifest.json"
VERSION = 1


class ExportedFile(TypedDict):
    """One file of a part; `path` is relative to the folder."""

    path: str
    table: str
    rows: int
    size_bytes: int
    sha256: str


class Part(TypedDict):
    """What one run has written. Shapes: `positions` by stream."""

    name: str
    positions: dict[str, int]
    files: list[ExportedFile]


class TableFormat(TypedDict):
    """How a table is exported. Shapes: `columns` has kinds by name, with a question mark where null is allowed."""

    key: list[str]
    columns: dict[str, str]


class Manifest(TypedDict):
    """Describes an export; docs/export.md."""

    version: int
    format: Format
    run: int
    positions: dict[str, int]
    parts: list[Part]
    tables: dict[str, TableFormat]


@dataclass(frozen=True)
class Draft:
    """The uncommitted part of a run. `number` counts runs from 1."""

    number: int
    folder: Path
    digests: Path


class Folder:
    """An export on disk; see `open_folder`."""

    def __init__(self, path: Path, format_: Format, manifest: Manifest | None) -> None:
        self.path = path
        self._format = format_
        self._manifest = manifest

    @property
    def _last(self) -> int:
        return 0 if self._manifest is None else int(self._manifest["run"])

    def draft(self, *, full: bool) -> Draft:
        """Begin a part. `full`: ignore earlier runs."""
        self._clear()
        number = self._last + 1
        folder = self.path / f"part-{number:04}.partial"
        folder.mkdir()
        digests = self.path / f"memory-{number:04}.db"
        if self._last and not full:
            shutil.copyfile(self.path / f"memory-{self._last:04}.db", digests)
        return Draft(number, folder, digests)

    def commit(self, draft: Draft, rows: dict[str, int], positions: dict[str, int], *, full: bool) -> Manifest:
        """Commit a part; the new manifest. An empty part is omitted unless it is the only one."""
        if self._manifest is not None and not full and not any(rows.values()):
            unchanged: Manifest = {**self._manifest, "positions": positions}
            self._replace(unchanged)
            return unchanged
        parts = [] if full or self._manifest is None else self._manifest["parts"]
        name = f"part-{draft.number:04}"
        files = [_describe(name, path, rows) for path in sorted(draft.folder.iterdir())]
        sums = "".join(f"{file['sha256']}  {Path(file['path']).name}\n" for file in files)
        (draft.folder / "SHA256SUMS").write_text(sums)
        for path in (*draft.folder.iterdir(), draft.digests, draft.folder):
            _fsync(path)
        draft.folder.rename(self.path / name)
        manifest: Manifest = {
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
        _fsync(self.path)
        self._replace(manifest)
        return manifest

    def _replace(self, manifest: Manifest) -> None:
        self._manifest = manifest
        temporary = self.path / f"{MANIFEST}.partial"
        temporary.write_text(json.dumps(manifest, indent=1) + "\n")
        _fsync(temporary)
        temporary.replace(self.path / MANIFEST)
        _fsync(self.path)
        self._clear()

    def _clear(self) -> None:
        """Remove everything that the manifest does not list."""
        listed = {MANIFEST, ".lock"}
        if self._manifest is not None:
            listed |= {part["name"] for part in self._manifest["parts"]} | {f"memory-{self._last:04}.db"}
        for path in self.path.iterdir():
            if path.name not in listed and path.name.startswith(("part-", "memory-", MANIFEST)):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def open_folder(path: Path, format_: Format) -> Iterator[Folder]:
    """Open and lock the folder.

    Raises: SettingsError: another run has locked it, or it holds something else.
    """
    path.mkdir(parents=True, exist_ok=True)
    with lock_folder(path, "export"):
        manifest: Manifest | None = None
        if (path / MANIFEST).exists():
            manifest = json.loads((path / MANIFEST).read_text())
            if manifest is None or (manifest["version"], manifest["format"]) != (VERSION, format_):
                raise SettingsError(f"{path} holds an export of another format; choose another folder, or --format")
        elif any(each.name != ".lock" and not each.name.startswith(("part-", "memory-")) for each in path.iterdir()):
            raise SettingsError(f"{path} holds something other than an export; choose an empty folder")
        yield Folder(path, format_, manifest)


def _describe(part: str, path: Path, rows: dict[str, int]) -> ExportedFile:
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


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
