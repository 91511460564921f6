"""`python -m tests.contract.write`: write schemas, docs/events.md, the client's types and what the extension is given.

Refuses to write a schema that breaks readers of the one that is there, unless `--break` says that nobody relies on it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.contract.asyncapi import asyncapi
from tests.contract.broker_users import broker_users
from tests.contract.client_types import client_types
from tests.contract.exported import exported
from tests.contract.growth import grown
from tests.contract.reference import reference
from tests.contract.schemas import SCHEMAS, schemas
from tests.contract.verdict import verdict


def breaks(wanted: dict[Path, str]) -> list[str]:
    """What would break readers of the files that are there."""
    found = [
        f"{path.name}{problem}"
        for path, text in wanted.items()
        if path.exists()
        for problem in grown(json.loads(path.read_text()), json.loads(text))
    ]
    gone = sorted(path.name for path in SCHEMAS.glob("*.json") if path not in wanted)
    return found + [f"{name}: was removed" for name in gone]


def main(arguments: list[str]) -> int:
    """Write what differs and name it."""
    wanted = schemas()
    problems = breaks(wanted)
    if problems and "--break" not in arguments:
        print("these changes break readers; add optional fields instead, or pass --break:", file=sys.stderr)
        print("\n".join(problems), file=sys.stderr)
        return 1
    for path in SCHEMAS.glob("*.json"):
        if path not in wanted:
            path.unlink()
    others = (reference(), exported(), asyncapi(), broker_users(), client_types(), verdict())
    for path, text in (wanted | {path: text for each in others for path, text in each.items()}).items():
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
