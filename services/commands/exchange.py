"""A recorded exchange with a model as lines for a terminal, whichever provider it was with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

import click

from contracts.transcript import Transcript
from kit.models.audit import Audit, rows
from kit.models.audit_rows import OutputItem

ANSWER_CHARACTERS: Final = 4_000


def exchanged(transcript: Transcript) -> Iterator[str]:
    """What was said, in its order; long answers of tools are cut, and it is said by how much."""
    if transcript.instead_of is not None:
        yield from exchanged(transcript.instead_of)
        yield _head("instead another provider was asked")
    audit = rows(transcript)
    yield _head(f"instructions to {transcript.provider} {transcript.model}")
    yield _clean(audit.request_instructions)
    yield _head("message")
    yield _clean(audit.request_input)
    if audit.requested_tools:
        yield _head("tools")
        yield ", ".join(_clean(_name(tool.raw_definition, tool.tool_type)) for tool in audit.requested_tools)
    answers = {each.call_id: each.output for each in transcript.research}
    for item in audit.output_items:
        yield from _item(item, answers)
    yield from _end(audit)


def _item(item: OutputItem, answers: dict[str, str]) -> Iterator[str]:
    for thought in item.reasoning_summaries:
        yield _head("thought")
        yield _clean(thought)
    for part in item.text_parts:
        yield _head("refusal" if part.part_type == "refusal" else "said")
        yield _clean(part.text)
        for each in part.annotations:
            yield f"  cites {_clean(each.title or '')} {_clean(each.url or each.file_id or '')}"
    call = item.tool_call
    if call is None:
        return
    yield _head(f"called {_clean(_name(call.raw_payload, call.tool_type))}")
    yield _clean(json.dumps(_asked(call.raw_payload), ensure_ascii=False))
    answer = answers.get(call.provider_tool_call_id or "")
    if answer is not None:
        yield _head("answered")
        more = len(answer) - ANSWER_CHARACTERS
        yield _clean(answer[:ANSWER_CHARACTERS]) + (f"\n\u2026 {more:,} more characters" if more > 0 else "")


def _end(audit: Audit) -> Iterator[str]:
    if audit.error is not None:
        status = "" if audit.error.status_code is None else f" {audit.error.status_code}"
        yield _head(f"failed: {_clean(audit.error.name)}{status}")
        yield _clean(audit.error.reason)
    else:
        yield _head(f"end: {_clean(audit.response_status or 'no status')}")


def _name(payload: Mapping[str, object], kind: str) -> str:
    function = payload.get("function")
    for place in (payload, function if isinstance(function, dict) else {}):
        if isinstance(name := place.get("name"), str):
            return name
    return kind


def _asked(payload: Mapping[str, object]) -> object:
    """What the call asked for, where providers keep it; else all of it."""
    return next((payload[name] for name in ("arguments", "input", "action", "content") if name in payload), payload)


def _head(text: str) -> str:
    return click.style(f"\u2500\u2500 {text}", fg="cyan")


def _clean(text: str) -> str:
    """Without anything that a terminal obeys, except the ends of lines."""
    return "".join(each if each.isprintable() or each in "\n\t" else "\ufffd" for each in text)
