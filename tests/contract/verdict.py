"""extension/src/verdict/given.ts, written from contracts/verdict: what checks of posts are given, for the extension.

The copy lies inside the extension, so that a store's reviewers have its sources complete.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Final

from tests.contract.schemas import ROOT

GIVEN: Final = ROOT / "extension" / "src" / "verdict" / "given.ts"
FOLDER: Final = ROOT / "contracts" / "verdict"

HEAD: Final = """\
/** What a check of a post is given. Written by `python -m tests.contract.write` from contracts/verdict; do not edit. */
"""


def verdict() -> dict[Path, str]:
    """The module by its file."""
    prompt = (FOLDER / "prompt.txt").read_text()
    exports = [
        ("PROMPT", prompt, ""),
        ("PROMPT_SHA256", sha256(prompt.encode()).hexdigest(), ""),
        ("ANSWER_SCHEMA", json.loads((FOLDER / "answer.schema.json").read_text()), " as const"),
        ("LIMITS", json.loads((FOLDER / "limits.json").read_text()), " as const"),
    ]
    lines = (
        f"export const {name} = {json.dumps(value, ensure_ascii=False, indent=2)}{kind};\n"
        for name, value, kind in exports
    )
    return {GIVEN: "\n".join([HEAD, *lines])}
