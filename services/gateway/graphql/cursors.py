"""Cursors that hold a key: opaque to clients, checked when they come back."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from services.gateway.search.question import BadQuestion


def write_key(*parts: str) -> str:
    """The key of a row as clients hold it."""
    return base64.urlsafe_b64encode(json.dumps(parts, ensure_ascii=False).encode()).decode().rstrip("=")


def read_key(cursor: str, *kinds: Callable[[str], Any]) -> tuple[Any, ...]:
    """The key again, one value for each of `kinds`, which raise ValueError for what they do not take.

    Raises: BadQuestion: it was not made by `write_key` from such parts.
    """
    try:
        parts = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        if not isinstance(parts, list):
            raise ValueError("a cursor is a list")
        return tuple(kind(stored_text(part)) for kind, part in zip(kinds, parts, strict=True))
    except (ValueError, RecursionError):
        raise BadQuestion("This cursor is none of ours.") from None


def stored_text(part: object) -> str:
    """A text that PostgreSQL can hold: no NUL, no lone surrogate. Raises: ValueError."""
    if not isinstance(part, str) or "\0" in part:
        raise ValueError("no text")
    part.encode()
    return part
