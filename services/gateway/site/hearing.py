"""The whole audit of one investigation as a page: the prompt's words, every tool call, and the gate at every candidate.

Of candidates that were not published it shows what became of them and nothing of what they said. A page holds so much
and no more; the JSON document holds all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from services.gateway.graphql.audit import audit
from services.gateway.site import links, naming, provenance
from services.gateway.site.reads import Row

PROMPT_SHOWN: Final = 24_000
CALLS_SHOWN: Final = 60
CANDIDATES_SHOWN: Final = 100
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


def page(row: Row, found: tuple[Row, Sequence[Row], Sequence[Row]], checks: Sequence[Row]) -> dict[str, Any]:
    """What the template shows; `checks` are of the sources of what is published."""
    told = audit(*found)
    published = {claim["id"]: number for number, claim in enumerate(row["claims"], 1)}
    candidates = told["validation"]
    left = CALLS_SHOWN
    attempts = []
    for attempt in told["attempts"]:
        calls = [_call(call) for call in attempt["tool_calls"][:left]]
        left -= len(calls)
        attempts.append(attempt | {"calls": calls, "hidden": len(attempt["tool_calls"]) - len(calls)})
    return {
        "section": "/corrections",
        "id": row["id"],
        "listed": provenance.is_listed(row),
        "heading": naming.excerpt(naming.post_name(row), 140),
        "demo": naming.is_demo(row["provider"]),
        "prompt": told["prompt"],
        "prompt_shown": told["prompt"]["text"][:PROMPT_SHOWN],
        "attempts": attempts,
        "candidates": [_candidate(each, published, checks) for each in candidates[:CANDIDATES_SHOWN]],
        "more_candidates": max(0, len(candidates) - CANDIDATES_SHOWN),
    }


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
        "retained_from": row["retained_from"],
        "decided_at": row["decided_at"],
        "model": row["model"],
        "total_tokens": row["total_tokens"],
    }
