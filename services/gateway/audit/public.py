"""The whole way to a result, as anybody may read it: what was asked, what was tried, and what became of each candidate.

Candidates that were rejected are counted and never shown: nobody has found them wrong, and showing them would say so.
So a tool call that submits something is shown without what it submits; what was approved stands among the findings.
What else repeats the words of a rejected candidate is left out, and what the model said at length is shown only where
all that it submitted is published (decision 0044).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from services.gateway.audit.withheld import ARGUMENTS, Withheld, called, is_submission

Row = dict[str, Any]
EXCHANGE: Final = ("request", "reasoning_summaries", "citations")


@dataclass(frozen=True, slots=True)
class Found:
    """What the tables hold about one investigation, but for what was exchanged with the model."""

    given: Row
    attempts: Sequence[Row]
    candidates: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Audit:
    """An audit that may be shown. Shapes: `row` lacks EXCHANGE, which `exchanges` gives by the attempt's number."""

    row: Row
    withheld: Withheld

    def exchanges(self, rows: Iterable[Row]) -> dict[int, Row]:
        """What was exchanged in each attempt, as far as it may be shown."""
        return {row["number"]: self._exchange(row) for row in rows}

    def whole(self, rows: Iterable[Row]) -> Row:
        """All of it, each attempt with what was exchanged in it."""
        found = self.exchanges(rows)
        attempts = [attempt | found.get(attempt["number"], NOTHING) for attempt in self.row["attempts"]]
        return self.row | {"attempts": attempts}

    def _exchange(self, row: Row) -> Row:
        request = None
        if row["input"] is not None:
            names = ("instructions", "input", "input_characters", "reasoning_effort", "reasoning_summary")
            request = {name: row[name] for name in names} | {"tools": row["tools"] or []}
        return {
            "request": request,
            "reasoning_summaries": row["reasoning_summaries"] or [] if not self.withheld else [],
            "citations": [each for each in row["citations"] or () if self.withheld.without(each) == each],
        }


NOTHING: Final[Row] = {"request": None, "reasoning_summaries": [], "citations": []}


def audit(found: Found) -> Audit:
    """Put together what the tables hold about one investigation."""
    given, candidates = found.given, found.candidates
    payloads = {
        (attempt["number"], call["index"]): json.loads(call["payload"])
        for attempt in found.attempts
        for call in attempt["tool_calls"] or ()
    }
    withheld = Withheld(candidates, payloads.values())
    states = Counter(candidate["state"] for candidate in candidates)
    failure = None
    if given["unverified_because"] is not None:
        failure = {"reason": given["unverified_because"], "failed_at": given["unverified_at"]}
    row = given | {
        "prompt": {name: given[name] for name in ("version", "hash", "text")},
        "verification_failure": failure,
        "model_text_withheld": bool(withheld),
        "attempts": [_attempt(row, payloads, withheld) for row in found.attempts],
        "validation": [_candidate(row, withheld) for row in candidates],
        "proposed_count": len(candidates),
        "approved_count": states["APPROVED"],
        "rejected_count": states["REJECTED"],
        "failed_count": states["FAILED"],
    }
    return Audit(row, withheld)


def _attempt(row: Row, payloads: Mapping[tuple[int, int], Any], withheld: Withheld) -> Row:
    error = None
    if row["error_name"] is not None:
        error = {
            "name": row["error_name"],
            "message": withheld.without(row["error_message"]),
            "status_code": row["status_code"],
            "at": row["failed_at"],
        }
    calls = []
    for call in row["tool_calls"] or ():
        recorded = payloads[row["number"], call["index"]]
        public = shown(recorded, withheld)
        payload = call["payload"] if public == recorded else json.dumps(public)
        calls.append(call | {"captured_at": datetime.fromisoformat(call["captured_at"]), "payload": payload})
    text = None if withheld else row["output_text"]
    return row | {"error": error, "tool_calls": calls, "output_text": text}


def _candidate(row: Row, withheld: Withheld) -> Row:
    failures = [
        each | {"at": datetime.fromisoformat(each["at"]), "reason": withheld.without(each["reason"])}
        for each in row["failures"] or ()
    ]
    return {name: value for name, value in row.items() if name != "payload"} | {"failures": failures}


def shown(payload: Any, withheld: Withheld) -> Any:
    """A recorded tool call as anybody may read it. Shapes: a JSON value in and out."""
    if is_submission(payload):
        named, _ = called(payload)
        public = {name: value for name, value in named.items() if name not in ARGUMENTS}
        payload = payload | {"function": public} if named is payload.get("function") else public
    return withheld.without(payload)
