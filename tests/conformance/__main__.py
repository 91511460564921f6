"""Command line: exit 0 if every implemented kind passes, 1 if a case fails, 2 if the cases cannot be read."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.conformance.run import UnreadableCases, run_folder


def main(arguments: list[str]) -> int:
    """Print one line per file."""
    if len(arguments) != 1 or not arguments[0]:
        print("usage: python -m tests.conformance FOLDER", file=sys.stderr)
        return 2
    failed = False
    try:
        for report in run_folder(Path(arguments[0])):
            print(report.line(), flush=True)
            failed = failed or bool(report.failed)
    except UnreadableCases as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
