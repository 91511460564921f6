"""The header `Idempotency-Key`.

Source: draft-ietf-httpapi-idempotency-key-header: a string of RFC 9651. The bare token is what most clients send.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import http_sf

from services.gateway.jobs.problems import Problem

_KEY: Final = re.compile(r"[!-~]{1,255}")


def read_key(values: Sequence[str]) -> str | None:
    """The key, quoted or bare, from all headers of this name; None without one. Raises: Problem: it cannot be read."""
    if not values:
        return None
    key = _unquote(values[0].strip())
    if len(values) > 1 or key is None or _KEY.fullmatch(key) is None:
        raise Problem("INVALID_IDEMPOTENCY_KEY")
    return key


def _unquote(text: str) -> str | None:
    if not text.startswith('"'):
        return text
    try:
        item = http_sf.parse(text.encode("latin-1", "replace"), tltype="item")
    except http_sf.StructuredFieldError:
        return None
    return item[0] if isinstance(item, tuple) and isinstance(item[0], str) else None
