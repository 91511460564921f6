"""Cursors that encode a key: opaque to clients, and validated."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from services.gateway.domain import read_base64, write_base64
from services.gateway.record.question import BadQuestion

Key = TypeVar("Key")
Row = TypeVar("Row")


def write_key(*parts: str) -> str:
    """Encode a row's key as a cursor."""
    return write_base64(json.dumps(parts, ensure_ascii=False).encode())


def cut_page(
    rows: Sequence[Row], size: int, key: Callable[[Row], tuple[datetime, UUID]]
) -> tuple[Sequence[Row], str | None]:
    """The first `size` rows, and the next page's cursor, or None on the last page.

    Shapes: `rows` holds `size` + 1 rows if there is a next page.
    """
    if len(rows) <= size:
        return rows, None
    at, id_ = key(rows[size - 1])
    return rows[:size], write_key(at.isoformat(), str(id_))


def read_key(cursor: str, read: Callable[..., Key]) -> Key:
    """Decode a cursor; `read` builds the key from its parts, or raises ValueError.

    Raises: BadQuestion: the cursor was not made by `write_key` from such parts.
    """
    try:
        parts = json.loads(read_base64(cursor))
        if not isinstance(parts, list):
            raise ValueError("a cursor is a list")
        return read(*map(require_storable, parts))
    except (TypeError, ValueError, RecursionError):
        raise BadQuestion("This cursor is not valid.") from None


def parse_author_key(name: str, author_id: str) -> tuple[str, UUID]:
    """Parse an author's key in the order of names. Raises: ValueError."""
    return name, UUID(author_id)


def parse_anomaly_key(detected_at: str, observation_id: str, kind: str) -> tuple[datetime, UUID, str]:
    """Parse an anomaly's key in the order of time. Raises: ValueError."""
    return *parse_dated_key(detected_at, observation_id), kind


def parse_dated_key(moment: str, id_: str) -> tuple[datetime, UUID]:
    """Parse a row's key in the order of time. Raises: ValueError."""
    at = datetime.fromisoformat(moment)
    if at.tzinfo is None:
        raise ValueError("the time has no time zone")
    return at, UUID(id_)


def require_storable(part: object) -> str:
    """Check that PostgreSQL can store a text: no NUL, no lone surrogate. Raises: ValueError."""
    if not isinstance(part, str) or "\0" in part:
        raise ValueError("not a text, or a text with NUL")
    part.encode()
    return part
