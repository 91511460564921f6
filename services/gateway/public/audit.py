"""Redacts the audit of an investigation for publication.

Rejected candidates are counted and never shown: they were not found wrong, and showing them would suggest it. So tool
calls that submit a claim lose their arguments, other texts that repeat a rejected candidate are removed, and the
model's own texts are published only if all its submissions are (decision 0044).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from pydantic import JsonValue

from services.gateway.public.redaction import ARGUMENTS, Redactor, find_call, is_submission
from services.gateway.record.runs import Attempt, Candidate, Exchange, Run

Payloads = Mapping[tuple[int, int], JsonValue]


@dataclass(frozen=True, slots=True)
class PublicAudit:
    """A redacted audit. Shapes: attempts of `run` lack their exchanges, which `exchanges` returns by number."""

    run: Run
    withheld: Redactor

    def exchanges(self, rows: Iterable[Exchange]) -> dict[int, Exchange]:
        """The redacted exchange of each attempt, by its number."""
        return {row.number: self._exchange(row) for row in rows}

    def with_exchanges(self, rows: Iterable[Exchange]) -> Run:
        """The run with the redacted exchange of each attempt."""
        found = self.exchanges(rows)
        attempts = (each.with_exchange(found.get(each.number)) for each in self.run.attempts)
        return replace(self.run, attempts=tuple(attempts))

    def _exchange(self, row: Exchange) -> Exchange:
        return replace(
            row,
            reasoning_summaries=row.reasoning_summaries if not self.withheld else (),
            citations=tuple(each for each in row.citations if not self.withheld.alters(asdict(each))),
        )


def redact_run(run: Run) -> PublicAudit:
    payloads: Payloads = {
        (attempt.number, call.index): json.loads(call.payload)
        for attempt in run.attempts
        for call in attempt.tool_calls
    }
    withheld = Redactor(((each.state, each.payload) for each in run.validation), payloads.values())
    public = replace(
        run,
        model_text_withheld=bool(withheld),
        attempts=tuple(_attempt(attempt, payloads, withheld) for attempt in run.attempts),
        validation=tuple(_candidate(candidate, withheld) for candidate in run.validation),
    )
    return PublicAudit(public, withheld)


def _attempt(row: Attempt, payloads: Payloads, withheld: Redactor) -> Attempt:
    calls = []
    for call in row.tool_calls:
        recorded = payloads[row.number, call.index]
        public = redact_call(recorded, withheld)
        calls.append(call if public == recorded else replace(call, payload=json.dumps(public)))
    return replace(
        row,
        error=None if row.error is None else replace(row.error, message=withheld.redact(row.error.message)),
        tool_calls=tuple(calls),
        output_text=None if withheld else row.output_text,
    )


def _candidate(row: Candidate, withheld: Redactor) -> Candidate:
    failures = tuple(replace(each, reason=withheld.redact(each.reason)) for each in row.failures)
    return replace(row, payload=None, failures=failures)


def redact_call(payload: JsonValue, withheld: Redactor) -> JsonValue:
    """Redact a recorded tool call."""
    if isinstance(payload, dict) and is_submission(payload):
        named, _ = find_call(payload)
        public: dict[str, JsonValue] = {name: value for name, value in named.items() if name not in ARGUMENTS}
        payload = {**payload, "function": public} if named is payload.get("function") else public
    return withheld.without(payload)
