"""Which addresses a model has seen in a conversation: those it searched, opened, or had us fetch.

Read from the record, so a conversation that several attempts held counts as a whole. An address that only the model
wrote does not count: it may be invented.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from contracts.transcript import Transcript
from kit.models.audit import rows

_OURS: Final = frozenset({"function_call", "tool_use"})
"""Calls of functions, whose arguments the model wrote; their answers are research."""
_ADDRESSES: Final = frozenset({"url", "requestedUrl", "finalUrl"})
_MARKS: Final = ("?utm_source=openai", "&utm_source=openai")
"""What OpenAI appends to addresses that it cites."""


def list_looked_up(transcript: Transcript) -> frozenset[str]:
    """The addresses, as the tools gave them."""
    found = {address for each in transcript.research for address in _read(each.output)}
    for item in rows(transcript).output_items:
        if item.tool_call is not None and item.tool_call.tool_type not in _OURS:
            found.update(_walk(item.tool_call.raw_payload))
        found.update(each.url for part in item.text_parts for each in part.annotations if each.url is not None)
    for mark in _MARKS:
        found.update([each.removesuffix(mark) for each in found])
    return frozenset(found)


def _read(output: str) -> Iterator[str]:
    try:
        yield from _walk(json.loads(output))
    except ValueError:
        return


def _walk(value: object) -> Iterator[str]:
    """The addresses in named fields; text, where a page could name others, is not read."""
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
