"""Writers for JSON Lines and for Parquet, which needs the extra `export`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from kit.settings import SettingsError
from services.commands.export.columns import ExportedTable

Format = Literal["jsonl", "parquet"]
Row = dict[str, str | int | datetime | None]
Module = Any  # pyarrow is optional and has no types


class Writer(Protocol):
    """Writes the file of one table."""

    def write(self, rows: Sequence[Row], lines: Sequence[bytes]) -> None:
        """Append rows. Shapes: `lines` are the same rows as JSON."""

    def close(self) -> None:
        """Finish the file."""


class JsonLines:
    """One JSON object a line; times as ISO 8601 in UTC, a missing value as null."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def write(self, rows: Sequence[Row], lines: Sequence[bytes]) -> None:
        self._file.writelines(lines)

    def close(self) -> None:
        self._file.close()


class Parquet:
    """Compressed columns; ids are strings, times are microseconds in UTC."""

    def __init__(self, path: Path, table: ExportedTable) -> None:
        self._arrow = _pyarrow("pyarrow")
        types = {
            "id": self._arrow.string(),
            "text": self._arrow.string(),
            "number": self._arrow.int64(),
            "time": self._arrow.timestamp("us", tz="UTC"),
        }
        self._schema = self._arrow.schema(
            [self._arrow.field(column.name, types[column.kind], nullable=column.null) for column in table.columns]
        )
        self._writer = _pyarrow("pyarrow.parquet").ParquetWriter(path, self._schema, compression="zstd")

    def write(self, rows: Sequence[Row], lines: Sequence[bytes]) -> None:
        """Append rows as one row group."""
        self._writer.write_batch(self._arrow.RecordBatch.from_pylist(list(rows), schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def open_writer(format_: Format, path: Path, table: ExportedTable) -> Writer:
    """Open a table's file.

    Raises: SettingsError: the package for Parquet is not installed.
    """
    return JsonLines(path) if format_ == "jsonl" else Parquet(path, table)


SUFFIX: Final[dict[Format, str]] = {"jsonl": ".jsonl", "parquet": ".parquet"}


def _pyarrow(name: str) -> Module:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise SettingsError(
            "Parquet needs pyarrow: install it with `pip install 'openerrata[export]'`, or choose --format jsonl"
        ) from None
