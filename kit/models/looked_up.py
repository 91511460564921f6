"""The addresses that a model has seen in a conversation: in search results, by opening them, or in pages we fetched.

They are read from the record, so a conversation that took several attempts counts as a whole. An address that only the
model wrote does not count: it may be invented.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from contracts.transcript import Transcript
from kit.models.audit import rows
from kit.models.audit_rows import ToolCall
from kit.models.websearch.tool import WEB_SEARCH

_OURS: Final = frozenset({"function_call", "tool_use"})
"""Calls of our functions: the model wrote their arguments, and their answers are in the research."""
_ADDRESSES: Final = frozenset({"url", "requestedUrl", "finalUrl"})
_MARKS: Final = ("?utm_source=openai", "&utm_source=openai")
"""The parameter that OpenAI appends to addresses it cites."""


def list_looked_up(transcript: Transcript) -> frozenset[str]:
    """The addresses as the tools returned them."""
    found = {address for each in transcript.research for address in _read(each.output)}
    for item in rows(transcript).output_items:
        if item.tool_call is not None and item.tool_call.tool_type not in _OURS:
            found.update(_walk(item.tool_call.raw_payload))
        found.update(each.url for part in item.text_parts for each in part.annotations if each.url is not None)
    for mark in _MARKS:
        found.update([each.removesuffix(mark) for each in found])
    return frozenset(found)


def all_searches_failed(transcript: Transcript) -> bool:
    """Whether the model searched and every search failed."""
    answered = [_is_ok(each.output) for each in transcript.research if each.name == WEB_SEARCH.name]
    for item in rows(transcript).output_items:
        match item.tool_call:
            case ToolCall(tool_type="web_search_call", status=status):
                answered.append(status != "failed")
            case ToolCall(tool_type="web_search_tool_result", raw_payload=payload):
                answered.append(isinstance(payload.get("content"), list))
            case _:
                pass
    return bool(answered) and not any(answered)


def _is_ok(output: str) -> bool:
    try:
        found = json.loads(output)
    except ValueError:
        return False
    return isinstance(found, dict) and found.get("ok") is True


def _read(output: str) -> Iterator[str]:
    try:
        yield from _walk(json.loads(output))
    except ValueError:
        return


def _walk(value: object) -> Iterator[str]:
    """The values of address fields at any depth; texts are not searched, as a page could mention any address."""
    match value:
        case dict():
            for name, each in value.items():
                if name in _ADDRESSES and isinstance(each, str):
                    yield each
                else:
                    yield from _walk(each)
        case list():
            for each in value:
                yield from _walk(each)
        case _:
            return
