"""The examples of docs/audits.md, as code that can be run against any server."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

GUIDE: Final = Path(__file__).parents[2] / "docs" / "audits.md"
_BLOCK: Final = re.compile(r"^```([a-z ]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_END: Final = "\x1e"
"""Printed after each block."""


class Walk(NamedTuple):
    """What was typed and what it led to. `printed` is the output of each block, in their order."""

    returncode: int
    printed: list[str]
    stderr: str


def examples(language: str) -> list[str]:
    """The blocks of one language, in their order."""
    return [text for kind, text in _BLOCK.findall(GUIDE.read_text()) if kind == language]


def shown_answers() -> list[str | None]:
    """For each block that is typed, the answer that stands below it."""
    blocks = [(kind, text) for kind, text in _BLOCK.findall(GUIDE.read_text()) if kind in ("sh", "json answer")]
    below = [*blocks[1:], ("", "")]
    return [
        text if kind == "json answer" else None
        for (typed, _), (kind, text) in zip(blocks, below, strict=True)
        if typed == "sh"
    ]


def walk_through(folder: Path, server: str, key: str) -> Walk:
    """Type all that the guide says in one shell, which ends at the first line that fails."""
    script = "set -euo pipefail\n" + "".join(f"{block}\nprintf '{_END}'\n" for block in examples("sh"))
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "SERVER": server, "KEY": key},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Walk(done.returncode, done.stdout.split(_END)[:-1], done.stderr)
