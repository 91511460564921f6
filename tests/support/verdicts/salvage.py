"""JSON objects in a model's answer, a second time; the original is extension/src/verdict/salvage.ts.

Models think aloud, draft and answer at the end, so readers take the last object that has their shape. Nothing is
repaired: a comma, quotation mark or number that the model did not write is never read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, Never

from pydantic import JsonValue

from analyses.surrogates import well_formed

MAX_NESTING: Final = 64
MAX_UNCLOSED: Final = 64
"""How many braces that are never closed are passed over; each costs a look at the rest of the text."""
SPACES: Final = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""A character class: what browsers trim. `str.strip` also takes what they leave, and leaves the byte order mark."""

_OPENED: Final = re.compile("<think>", re.IGNORECASE | re.ASCII)
_CLOSED: Final = re.compile("</think>", re.IGNORECASE | re.ASCII)
_FENCED: Final = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_TOKEN: Final = re.compile(r'"(?:[^"\\]+|\\.)*"?|[{}\[\]]', re.DOTALL)
_ENDS: Final = re.compile(rf"\A[{SPACES}]+|[{SPACES}]+\Z")


def find_objects(said: str) -> Iterator[dict[str, JsonValue]]:
    """JSON objects of a text, the last one first: the whole text, fenced blocks, balanced braces."""
    for candidate in reversed(_candidates(drop_thoughts(well_formed(said)))):
        value = _parse(candidate)
        if isinstance(value, dict):
            yield value


def trim(text: str) -> str:
    """A text without white space around it."""
    return _ENDS.sub("", text)


def drop_thoughts(text: str) -> str:
    """A text without complete `<think>` blocks; one that is not closed may hold the answer."""
    parts = []
    at = 0
    while (opened := _OPENED.search(text, at)) and (closed := _CLOSED.search(text, opened.start())):
        parts.append(text[at : opened.start()])
        at = closed.end()
    return "".join(parts) + text[at:]


def _candidates(text: str) -> list[str]:
    found = [(0, trim(text)), *((block.start(), trim(block[1])) for block in _FENCED.finditer(text)), *_objects(text)]
    return [candidate for _, candidate in sorted(found, key=lambda each: each[0])]


def _objects(text: str) -> Iterator[tuple[int, str]]:
    """Each balanced `{…}` that lies in no other, with its place."""
    failed = 0
    start = text.find("{")
    while start >= 0 and failed < MAX_UNCLOSED:
        end = _find_end(text, start)
        if end is None:
            failed += 1
        else:
            yield start, text[start:end]
        start = text.find("{", start + 1 if end is None else end)


def _find_end(text: str, start: int) -> int | None:
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return None


def _parse(candidate: str) -> JsonValue:
    """A value of JSON, None if the text is none. Shapes: every number is a float, as in a browser."""
    depth = 0
    for token in _TOKEN.finditer(candidate):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth > MAX_NESTING:
            return None
    try:
        value: JsonValue = json.loads(candidate, parse_int=float, parse_constant=_refuse)
    except ValueError:
        return None
    return value


def _refuse(constant: str) -> Never:
    raise ValueError(constant)
