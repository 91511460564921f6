"""The JSON Schema of each message, as files: what programs in other languages are written against."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from contracts.v1 import EVENTS, PREFIX, Event, envelope_type

ROOT: Final = Path(__file__).parents[2]
SCHEMAS: Final = ROOT / "contracts" / "schemas" / "v1"
EXAMPLES: Final = ROOT / "contracts" / "examples" / "v1"


def name_of(event: type[Event]) -> str:
    """`<aggregate>.<event>`, the name of its files."""
    return event.SUBJECT.removeprefix(PREFIX)


def schema_of(event: type[Event]) -> str:
    """The schema of the stored message, as it stands in its file."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | envelope_type(event).model_json_schema()
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def schemas() -> dict[Path, str]:
    """All schemas by file."""
    return {SCHEMAS / f"{name_of(event)}.json": schema_of(event) for event in EVENTS}


def examples(event: type[Event]) -> Mapping[str, Mapping[str, Any]]:
    """Example messages of a fact, by name: `full` fills every field, `minimal` only what is required."""
    found: Mapping[str, Mapping[str, Any]] = json.loads((EXAMPLES / f"{name_of(event)}.json").read_text())
    return found


def relied_on(folder: Path) -> dict[str, dict[str, str]]:
    """Files of a folder as others know them: at HEAD and at every release tag, by revision and file name.

    Empty outside a git checkout: there the files themselves are all that is known.
    """
    if not (ROOT / ".git").exists():
        return {}
    place = folder.relative_to(ROOT).as_posix()
    found: dict[str, dict[str, str]] = {}
    for revision in ("HEAD", *_git("tag", "--list", "v*").split()):
        names = _git("ls-tree", "--name-only", f"{revision}:{place}", missing="").split()
        found[revision] = {name: _git("show", f"{revision}:{place}/{name}") for name in names}
    return found


def _git(*arguments: str, missing: str | None = None) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode and missing is None:
        raise RuntimeError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout if done.returncode == 0 else missing or ""
