"""The audit of one investigation as a page: the model's requests and tool calls, and the gates of every candidate.

Of unpublished candidates it shows the outcome and nothing of their content. The page is bounded in size; the JSON
document is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import orjson
from pydantic import JsonValue

from analyses.gates import GATES, MEANINGS
from services.gateway.public.site import links, naming
from services.gateway.public.site.cards import name_post
from services.gateway.public.site.naming import describe_gate
from services.gateway.public.site.rendering import Values
from services.gateway.record.investigations import Report, SourceCheck
from services.gateway.record.rows import WithdrawnClaim
from services.gateway.record.runs import Attempt, Candidate, Run, Tool, ToolCall

PROMPT_SHOWN: Final = 24_000
CHANGES_SHOWN: Final = 24_000
INPUT_SHOWN: Final = 24_000
"""Units: characters, of all attempts together; likewise THOUGHT_SHOWN."""
THOUGHT_SHOWN: Final = 24_000
CITATIONS_SHOWN: Final = 40
CALLS_SHOWN: Final = 60
CANDIDATES_SHOWN: Final = 100
FAILURES_SHOWN: Final = 3
_ASKED: Final = ("query", "queries", "q", "url", "urls", "pattern")
_DEEPEST: Final = 8
_TOOLS: Final = {
    "web_search_call": "Searched the web",
    "web_search": "Searched the web",
    "fetch_url": "Read a page",
}
_GATES: Final = ("rule", "sources", "code", "model")
_OUTCOMES: Final = {
    ("APPROVED", None): "passed every gate and is published",
    ("REJECTED", "rule"): "stopped by the rule: the quote or its sources do not meet it",
    ("REJECTED", "sources"): "stopped at its sources: the quoted words are not on the pages",
    ("REJECTED", "model"): "stopped by the second look",
    ("REJECTED", "hold"): "passed every gate, and was withheld after its hold",
    ("FAILED", None): "could not be judged",
    ("PENDING", None): "waits for its verdict",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """A tool call as the page shows it. Shapes: `asked` as (words, link)."""

    tool: str
    status: str | None
    asked: Sequence[tuple[str, str | None]]
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """An attempt as the page shows it, cut to what the page can hold."""

    row: Attempt
    calls: Sequence[CallView]
    hidden: int
    sent: str
    sent_cut: bool
    tools: Sequence[str]
    thought: str
    thought_cut: bool
    cited: Sequence[tuple[str, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateView:
    """A candidate as the page shows it. `finding`: its number if it is published."""

    row: Candidate
    finding: int | None
    gates: Sequence[str]
    outcome: str
    failures: Sequence[str]


def show_audit(report: Report, run: Run, checks: Sequence[SourceCheck]) -> Values:
    """Values of the template: `run` is the redacted audit, `checks` are of the published sources."""
    published = {claim.id: number for number, claim in enumerate(report.claims, 1)}
    taken_back = {each.id: each for each in report.withdrawn}
    changes = run.content_diff or ""
    return {
        "section": "/corrections",
        "id": report.id,
        "listed": report.is_listed,
        "heading": naming.excerpt(name_post(report), 140),
        "demo": naming.is_demo(report.provider),
        "prompt": run.prompt,
        "prompt_shown": run.prompt.text[:PROMPT_SHOWN],
        "parent": run.parent_investigation_id,
        "changes": changes[:CHANGES_SHOWN],
        "changes_cut": len(changes) > CHANGES_SHOWN,
        "unverified": run.verification_failure,
        "withheld": run.model_text_withheld,
        "attempts": _attempts(run.attempts),
        "candidates": [_candidate(each, published, taken_back, checks) for each in run.validation[:CANDIDATES_SHOWN]],
        "more_candidates": max(0, len(run.validation) - CANDIDATES_SHOWN),
    }


def _attempts(attempts: Sequence[Attempt]) -> list[AttemptView]:
    calls_left, sent_left, thought_left = CALLS_SHOWN, INPUT_SHOWN, THOUGHT_SHOWN
    shown = []
    for attempt in attempts:
        calls = [_call(call) for call in attempt.tool_calls[:calls_left]]
        calls_left -= len(calls)
        request, thoughts = attempt.request, "\n\n".join(attempt.reasoning_summaries)
        sent = request.input[:sent_left] if request else ""
        sent_left -= len(sent)
        thought = thoughts[:thought_left]
        thought_left -= len(thought)
        cited = [
            (naming.excerpt(each.title or each.url, 160), links.safe_link(each.url))
            for each in attempt.citations
            if each.url
        ]
        shown.append(
            AttemptView(
                row=attempt,
                calls=calls,
                hidden=len(attempt.tool_calls) - len(calls),
                sent=sent,
                sent_cut=request is not None and len(sent) < request.input_characters,
                tools=[_tool(tool) for tool in request.tools] if request else [],
                thought=thought,
                thought_cut=len(thought) < len(thoughts),
                cited=cited[:CITATIONS_SHOWN],
            )
        )
    return shown


def _tool(tool: Tool) -> str:
    definition = orjson.loads(tool.definition)
    function = definition.get("function")
    return naming.excerpt(str((function if isinstance(function, dict) else definition).get("name") or tool.type), 60)


def _call(call: ToolCall) -> CallView:
    payload = orjson.loads(call.payload)
    name = str((payload.get("name") if isinstance(payload, dict) else None) or call.tool)
    questions = list(dict.fromkeys(find_questions(payload)))[:4]
    return CallView(
        tool=_TOOLS.get(name) or naming.excerpt(name, 60),
        status=call.status,
        asked=[(naming.excerpt(text, 160), links.safe_link(text) if len(text) <= 500 else None) for text in questions],
        at=call.captured_at,
    )


def find_questions(payload: JsonValue, depth: int = 0) -> Iterator[str]:
    """The search terms and URLs of a tool call, in any provider's form.

    Shapes: in the order of the record; arguments may be JSON inside a text.
    """
    if depth > _DEEPEST:
        return
    if isinstance(payload, str) and payload[:1] in ("{", "["):
        try:
            payload = orjson.loads(payload)
        except orjson.JSONDecodeError:
            return
    if isinstance(payload, dict):
        for name, value in payload.items():
            if name in _ASKED:
                yield from (text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str))
            elif name in ("action", "input", "arguments", "function"):
                yield from find_questions(value, depth + 1)


def describe_gates(row: Candidate, checks: Sequence[SourceCheck]) -> list[str]:
    """The result of each gate for a candidate. Shapes: rule, sources, checks by code, review."""
    stopped = "code" if row.gate in MEANINGS else (row.gate or "").lower()
    if row.retained_from and row.state == "APPROVED":
        return ["passed: the words still stand there", "as before", "as before", "as before"]
    if row.state == "REJECTED" and stopped in _GATES:
        at = _GATES.index(stopped)
        before = ["passed", "passed", _count_passed(row)][:at]
        return [*before, "stopped", *["not reached"] * (3 - at)]
    if row.state != "APPROVED" and stopped != "hold":
        return ["–"] * 4
    found = sum(check.status == "found" for check in checks)
    pages = f"found on {found} of {naming.count(len(checks), 'page')}" if checks else "not looked up"
    return ["passed", pages, _count_passed(row), "passed"]


def _count_passed(row: Candidate) -> str:
    return f"passed {len(row.gates)} of {len(row.gates)}" if row.gates else "not asked"


def _candidate(
    row: Candidate,
    published: Mapping[str, int],
    taken_back: Mapping[UUID, WithdrawnClaim],
    checks: Sequence[SourceCheck],
) -> CandidateView:
    outcome = _OUTCOMES.get((row.state, (row.gate or "").lower())) or _OUTCOMES.get((row.state, None))
    if row.state == "REJECTED" and row.gates and row.gates[-1].outcome != "PASS":
        by = "code" if row.gate in GATES else "the second opinion"
        outcome = f"stopped by {by}: {describe_gate(row.gates[-1])}"
    if (claim := taken_back.get(row.claim_id)) is not None:
        outcome = f"passed every gate, and has been {'retracted' if claim.is_retracted else 'withdrawn for now'} since"
    return CandidateView(
        row=row,
        finding=published.get(str(row.claim_id)),
        gates=describe_gates(row, [check for check in checks if check.claim_id == row.claim_id]),
        outcome=outcome or f"stopped at the gate “{row.gate}”",
        failures=[naming.excerpt(each.reason, 160) for each in row.failures[-FAILURES_SHOWN:]],
    )
