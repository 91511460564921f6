"""The headers `OpenErrata-Version`, `Idempotency-Key` and `Prefer: wait=N`.

A dated version is added when an answer changes, and never altered.

Sources: draft-ietf-httpapi-idempotency-key-header: a string of RFC 9651; the bare token is what most clients send.
RFC 7240: a preference that cannot be read is ignored, never an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import http_sf

from services.gateway.jobs.problems import Problem

HEADER: Final = b"openerrata-version"
VERSIONS: Final = ("2026-12-01",)
"""Oldest first; the oldest is the default."""
LONGEST_WAIT_S: Final = 60
_KEY: Final = re.compile(r"[!-~]{1,255}")


def choose_version(asked: str) -> str:
    """The version that answers: `asked`, or the oldest if it is empty. Raises: Problem: the version is unknown."""
    if asked in VERSIONS:
        return asked
    if asked:
        raise Problem("UNKNOWN_VERSION", details={"versions": list(VERSIONS)})
    return VERSIONS[0]


def read_key(values: Sequence[str]) -> str | None:
    """The key, quoted or bare, from all headers of this name; None without one. Raises: Problem: it is not valid."""
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
