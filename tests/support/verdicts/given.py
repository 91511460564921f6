"""What a check of a post is given, and the cases with known answers that both languages run."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.contract.schemas import ROOT
from tests.contract.verdict import FOLDER

Case = dict[str, Any]
"""One case: JSON of any shape."""

LIMITS: Final = json.loads((FOLDER / "limits.json").read_bytes())
SCHEMA: Final = json.loads((FOLDER / "answer.schema.json").read_bytes())


def cases(name: str) -> list[Case]:
    """The cases of one function."""
    found: list[Case] = json.loads((ROOT / "tests" / "cases" / "verdict" / f"{name}.json").read_bytes())
    return found
