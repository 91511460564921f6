"""The whole way to a result, as anybody may read it: what was asked, what was tried, and what became of each candidate.

Candidates that were rejected are counted and never shown: nobody has found them wrong, and showing them would say so.
So a tool call that submits a candidate is shown without what it submits; what was approved stands among the findings.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from analyses.submission import SUBMIT_CORRECTION

SUBMITTED: Final = ("arguments", "input")
"""Where providers put what a call is made with."""
Row = dict[str, Any]


def audit(given: Row, attempts: Sequence[Row], candidates: Sequence[Row]) -> Row:
    """Put together what the tables hold about one investigation."""
    states = Counter(candidate["state"] for candidate in candidates)
    return given | {
        "prompt": {name: given[name] for name in ("version", "hash", "text")},
        "attempts": [_attempt(row) for row in attempts],
        "validation": list(candidates),
        "proposed_count": len(candidates),
        "approved_count": states["APPROVED"],
        "rejected_count": states["REJECTED"],
        "failed_count": states["FAILED"],
    }


def _attempt(row: Row) -> Row:
    error = None
    if row["error_name"] is not None:
        error = {
            "name": row["error_name"],
            "message": row["error_message"],
            "status_code": row["status_code"],
            "at": row["failed_at"],
        }
    calls = [
        call | {"captured_at": datetime.fromisoformat(call["captured_at"]), "payload": shown(call["payload"])}
        for call in row["tool_calls"] or ()
    ]
    return row | {"error": error, "tool_calls": calls}


def shown(payload: str) -> str:
    """A recorded tool call as anybody may read it. Shapes: JSON in and out."""
    call = json.loads(payload)
    function = call.get("function")
    named = function if isinstance(function, dict) else call
    if named.get("name") != SUBMIT_CORRECTION.name:
        return payload
    public = {name: value for name, value in named.items() if name not in SUBMITTED}
    return json.dumps(call | {"function": public} if named is function else public)
