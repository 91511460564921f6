"""The events of a recorded answer: server-sent events if it was streamed, else its single JSON document.

An incomplete last event is ignored, so the record of a broken stream can be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from contracts.transcript import Call

SHAPE_ERRORS = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Raised when an object from a provider does not have the documented shape."""

Json = dict[str, Any]
"""An object from a provider. Code reads the documented fields; another shape raises one of `SHAPE_ERRORS`."""


_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


class BadEvent(Exception):
    """A provider sent something that its protocol does not allow."""


def events(call: Call) -> Iterator[Json]:
    """The JSON objects of an answer, in order. Source: HTML Living Standard, server-sent events."""
    if call.encoding != "utf-8":
        return
    if not call.headers.get("content-type", "").startswith("text/event-stream"):
        yield from _object(call.body)
        return
    lines: list[str] = []
    for line in call.body.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif not line and lines:
            yield from _object("\n".join(lines))
            lines = []


def _object(text: str) -> Iterator[Json]:
    try:
        found = json.loads(text)
    except ValueError:
        return
    if isinstance(found, dict):
        yield writable(found)


def writable(found: Json) -> Json:
    """`found` with U+FFFD for NUL and lone surrogates: JSON can encode them, UTF-8 and PostgreSQL cannot store them."""
    return {name: _writable(value) for name, value in found.items()}


def _writable(value: object) -> object:
    match value:
        case str():
            return _UNWRITABLE.sub("\ufffd", value)
        case list():
            return [_writable(each) for each in value]
        case dict():
            return {_writable(name): _writable(each) for name, each in value.items()}
        case _:
            return value
