"""docs/export.md, written from the tables that `openerrata export` writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from services.commands.export.tables import TABLES
from tests.contract.schemas import ROOT

REFERENCE: Final = ROOT / "docs" / "export.md"

HEAD: Final = """\
# Export

Written by `python -m tests.contract.write` from `services/commands/export/tables.py`.

`openerrata export DIR` writes the public record: finished investigations and what they are about. Nothing tells who
read what, and what has not been investigated is not in it. Posts of authors who ask not to be shown are left out while
they do, as on pages; figures and `publicMetrics` of all authors count them.

```text
DIR/manifest.json                 which parts count, their files with rows, bytes and SHA-256, keys and columns
DIR/part-0001/posts.jsonl         one file a table, `.jsonl` or `.parquet`
DIR/part-0001/deleted.jsonl       rows of earlier parts that are gone: {"table": …, "key": […]}
DIR/part-0001/SHA256SUMS          for `sha256sum --check`
DIR/memory-0001.db                what the next run compares with; not for readers
```

- All files of a part are of one moment; `positions` in the manifest says which events it holds, by stream.
- The first run writes everything. Each further run adds a part with the rows that are new or changed, whole, and lists
  those that are gone; where there is nothing to add, only `positions` moves on. So the newest row of each key counts,
  unless a later part lists the key as gone.
- Parts never change, and only the manifest says which count. A run that was interrupted leaves what was there; run it
  again. Two runs into one folder refuse each other.
- `--full` writes everything as the only part and removes the others. Do that after an erasure: earlier parts still hold
  what was erased.
- JSON Lines: one object a line; a time is ISO 8601 in UTC; a missing value is null. Parquet: ids are strings, times
  microseconds in UTC; needs the extra `export` (`pip install 'openerrata[export]'`).
"""


def exported() -> dict[Path, str]:
    """The document by its file."""
    return {REFERENCE: "\n".join(_lines())}


def _lines() -> Iterator[str]:
    yield HEAD
    for table in TABLES:
        yield f"## `{table.name}`"
        yield ""
        yield f"{table.meaning}. Key: {', '.join(f'`{name}`' for name in table.key)}."
        yield ""
        yield "| column | kind | meaning |"
        yield "|---|---|---|"
        for column in table.columns:
            yield f"| `{column.name}` | {column.kind}{', may be missing' if column.null else ''} | {column.meaning} |"
        yield ""
