"""Cursors that hold a key: opaque to clients, checked when they come back."""

from __future__ import annotations

import base64
import json

from services.gateway.search.question import BadQuestion


def write_key(*parts: str) -> str:
    """The key of a row as clients hold it."""
    return base64.urlsafe_b64encode(json.dumps(parts, ensure_ascii=False).encode()).decode().rstrip("=")


def read_key(cursor: str, length: int) -> list[str]:
    """The same again. Raises: BadQuestion: it was not made by `write_key` from so many parts."""
    try:
        parts = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except ValueError:
        parts = None
    if not isinstance(parts, list) or len(parts) != length or not all(isinstance(part, str) for part in parts):
        raise BadQuestion("This cursor is none of ours.")
    return parts
