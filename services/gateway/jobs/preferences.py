"""The header `Prefer: wait=N`. Source: RFC 7240; a preference that cannot be read is ignored, never an error."""

from __future__ import annotations

from typing import Final

import http_sf

LONGEST_WAIT_S: Final = 60


def read_wait_s(prefer: str) -> int | None:
    """How long the client would like to wait, at most a minute; None if it does not want to wait."""
    if not prefer:
        return None
    try:
        preferences = http_sf.parse(prefer.lower().encode("latin-1", "replace"), tltype="dictionary")
    except http_sf.StructuredFieldError:
        return None
    item = preferences.get("wait") if isinstance(preferences, dict) else None
    wait_s = item[0] if isinstance(item, tuple) else None
    if isinstance(wait_s, bool) or not isinstance(wait_s, int) or wait_s < 1:
        return None
    return min(wait_s, LONGEST_WAIT_S)
