"""The examples of docs/audits.md, as code that can be run against any server."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final

GUIDE: Final = Path(__file__).parents[2] / "docs" / "audits.md"


def examples(language: str) -> list[str]:
    """The blocks of one language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


def walk_through(folder: Path, server: str, key: str) -> subprocess.CompletedProcess[str]:
    """Type all that the guide says in one shell, which ends at the first line that fails."""
    script = "set -euo pipefail\n" + "\n".join(examples("sh"))
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "SERVER": server, "KEY": key},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
