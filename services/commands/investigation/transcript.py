"""A recorded exchange with a model, of any provider, as lines for a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

import click

from contracts.transcript import Transcript
from kit.models.audit import Audit, rows
from kit.models.audit_rows import OutputItem
from services.commands.terminal import clean_text

MAX_RESULT_CHARACTERS: Final = 4_000


def render_transcript(transcript: Transcript) -> Iterator[str]:
    """Yield the lines in order; long tool results are truncated and say so."""
    if transcript.instead_of is not None:
        yield from render_transcript(transcript.instead_of)
        yield _heading("failed over to another provider")
    audit = rows(transcript)
    yield _heading(f"instructions to {transcript.provider} {transcript.model}")
    yield clean_text(audit.request_instructions)
    yield _heading("message")
    yield clean_text(audit.request_input)
    if audit.requested_tools:
        yield _heading("tools")
        yield ", ".join(clean_text(_tool_name(tool.raw_definition, tool.tool_type)) for tool in audit.requested_tools)
    results = {each.call_id: each.output for each in transcript.research}
    for item in audit.output_items:
        yield from _render_item(item, results)
    yield from _render_end(audit)


def _render_item(item: OutputItem, results: dict[str, str]) -> Iterator[str]:
    for summary in item.reasoning_summaries:
        yield _heading("reasoning")
        yield clean_text(summary)
    for part in item.text_parts:
        yield _heading("refusal" if part.part_type == "refusal" else "text")
        yield clean_text(part.text)
        for each in part.annotations:
            yield f"  cites {clean_text(each.title or '')} {clean_text(each.url or each.file_id or '')}"
    call = item.tool_call
    if call is None:
        return
    yield _heading(f"called {clean_text(_tool_name(call.raw_payload, call.tool_type))}")
    yield clean_text(json.dumps(_arguments(call.raw_payload), ensure_ascii=False))
    result = results.get(call.provider_tool_call_id or "")
    if result is not None:
        yield _heading("result")
        more = len(result) - MAX_RESULT_CHARACTERS
        yield clean_text(result[:MAX_RESULT_CHARACTERS]) + (f"\n\u2026 {more:,} more characters" if more > 0 else "")


def _render_end(audit: Audit) -> Iterator[str]:
    if audit.error is not None:
        status = "" if audit.error.status_code is None else f" {audit.error.status_code}"
        yield _heading(f"failed: {clean_text(audit.error.name)}{status}")
        yield clean_text(audit.error.reason)
    else:
        yield _heading(f"end: {clean_text(audit.response_status or 'no status')}")


def _tool_name(payload: Mapping[str, object], kind: str) -> str:
    function = payload.get("function")
    for place in (payload, function if isinstance(function, dict) else {}):
        if isinstance(name := place.get("name"), str):
            return name
    return kind


def _arguments(payload: Mapping[str, object]) -> object:
    """The arguments, under the name that the provider uses; else the whole payload."""
    return next((payload[name] for name in ("arguments", "input", "action", "content") if name in payload), payload)


def _heading(text: str) -> str:
    return click.style(f"\u2500\u2500 {text}", fg="cyan")
