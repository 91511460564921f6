"""The whole audit of one investigation as a page: what was sent to the model, what it did, the gate at every candidate.

Of candidates that were not published it shows what became of them and nothing of what they said. A page holds so much
and no more; the JSON document holds all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from services.gateway.site import links, naming, provenance
from services.gateway.site.reads import Row

PROMPT_SHOWN: Final = 24_000
CHANGES_SHOWN: Final = 24_000
INPUT_SHOWN: Final = 24_000
"""Units: characters, of all attempts together; likewise what was thought."""
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
_GATES: Final = ("rule", "sources", "model")
_OUTCOMES: Final = {
    ("APPROVED", None): "passed every gate and is published",
    ("REJECTED", "rule"): "stopped by the rule: the quote or its sources are not as they must be",
    ("REJECTED", "sources"): "stopped at its sources: the quoted words are not on the pages",
    ("REJECTED", "model"): "stopped by the second look",
    ("FAILED", None): "could not be judged",
    ("PENDING", None): "waits for its verdict",
}


def page(row: Row, audit: Row, checks: Sequence[Row]) -> dict[str, Any]:
    """What the template shows: `audit` is the whole audit, `checks` are of the sources of what is published."""
    published = {claim["id"]: number for number, claim in enumerate(row["claims"], 1)}
    candidates = audit["validation"]
    return {
        "section": "/corrections",
        "id": row["id"],
        "listed": provenance.is_listed(row),
        "heading": naming.excerpt(naming.post_name(row), 140),
        "demo": naming.is_demo(row["provider"]),
        "prompt": audit["prompt"],
        "prompt_shown": audit["prompt"]["text"][:PROMPT_SHOWN],
        "parent": audit["parent_investigation_id"],
        "changes": (audit["content_diff"] or "")[:CHANGES_SHOWN],
        "changes_cut": len(audit["content_diff"] or "") > CHANGES_SHOWN,
        "unverified": audit["verification_failure"],
        "withheld": audit["model_text_withheld"],
        "attempts": _attempts(audit["attempts"]),
        "candidates": [_candidate(each, published, checks) for each in candidates[:CANDIDATES_SHOWN]],
        "more_candidates": max(0, len(candidates) - CANDIDATES_SHOWN),
    }


def _attempts(attempts: Sequence[Row]) -> list[dict[str, Any]]:
    calls_left, sent_left, thought_left = CALLS_SHOWN, INPUT_SHOWN, THOUGHT_SHOWN
    shown = []
    for attempt in attempts:
        calls = [_call(call) for call in attempt["tool_calls"][:calls_left]]
        calls_left -= len(calls)
        request, thoughts = attempt["request"], "\n\n".join(attempt["reasoning_summaries"])
        sent = request["input"][:sent_left] if request else ""
        sent_left -= len(sent)
        thought = thoughts[:thought_left]
        thought_left -= len(thought)
        cited = [
            (naming.excerpt(each["title"] or each["url"], 160), links.web(each["url"]))
            for each in attempt["citations"]
            if each["url"]
        ]
        shown.append(
            attempt
            | {
                "calls": calls,
                "hidden": len(attempt["tool_calls"]) - len(calls),
                "sent": sent,
                "sent_cut": request is not None and len(sent) < request["input_characters"],
                "tools": [_tool(tool) for tool in request["tools"]] if request else [],
                "thought": thought,
                "thought_cut": len(thought) < len(thoughts),
                "cited": cited[:CITATIONS_SHOWN],
            }
        )
    return shown


def _tool(tool: Row) -> str:
    definition = orjson.loads(tool["definition"])
    function = definition.get("function")
    return naming.excerpt(str((function if isinstance(function, dict) else definition).get("name") or tool["type"]), 60)


def _call(call: Row) -> dict[str, Any]:
    payload = orjson.loads(call["payload"])
    name = payload.get("name") if isinstance(payload, dict) else None
    said = list(dict.fromkeys(asked(payload)))[:4]
    return {
        "tool": _TOOLS.get(str(name or call["tool"])) or naming.excerpt(str(name or call["tool"]), 60),
        "status": call["status"],
        "asked": [(naming.excerpt(text, 160), links.web(text) if len(text) <= 500 else None) for text in said],
        "at": call["captured_at"],
    }


def asked(payload: Any, depth: int = 0) -> Iterator[str]:
    """What a tool was asked, whichever provider recorded it: words that were searched for, addresses that were read.

    Shapes: in the order of the record; arguments may be JSON inside a text.
    """
    if depth > _DEEPEST:
        return
    if isinstance(payload, str) and payload[:1] in ("{", "["):
        try:
            payload = orjson.loads(payload)
        except orjson.JSONDecodeError:
            return
    if isinstance(payload, Mapping):
        for name, value in payload.items():
            if name in _ASKED:
                yield from (text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str))
            elif name in ("action", "input", "arguments", "function"):
                yield from asked(value, depth + 1)


def gates(row: Row, checks: Sequence[Row]) -> list[str]:
    """What each gate said of a candidate. Shapes: one for each of the rule, the sources and the second look."""
    stopped = (row["gate"] or "").lower()
    if row["retained_from"] and row["state"] == "APPROVED":
        return ["passed: the words still stand there", "as before", "as before"]
    if row["state"] == "REJECTED" and stopped in _GATES:
        at = _GATES.index(stopped)
        return ["passed"] * at + ["stopped"] + ["not reached"] * (2 - at)
    if row["state"] != "APPROVED":
        return ["–"] * 3
    held = sum(check["status"] == "found" for check in checks)
    pages = f"found on {held} of {naming.count(len(checks), 'page')}" if checks else "not looked up"
    return ["passed", pages, "passed"]


def _candidate(row: Row, published: Mapping[str, int], checks: Sequence[Row]) -> dict[str, Any]:
    told = _OUTCOMES.get((row["state"], (row["gate"] or "").lower())) or _OUTCOMES.get((row["state"], None))
    return {
        "finding": published.get(str(row["claim_id"])),
        "attempt": row["attempt"],
        "gates": gates(row, [check for check in checks if check["claim_id"] == row["claim_id"]]),
        "told": told or f"stopped at the gate “{row['gate']}”",
        "failures": [naming.excerpt(each["reason"], 160) for each in row["failures"][-FAILURES_SHOWN:]],
        "retained_from": row["retained_from"],
        "decided_at": row["decided_at"],
        "model": row["model"],
        "total_tokens": row["total_tokens"],
    }
