"""How many requests are left, as the server states it. Source: draft-ietf-httpapi-ratelimit-headers, RFC 9651."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import http_sf
import httpx


@dataclass(frozen=True, slots=True)
class RateLimit:
    """One policy: `quota` requests in `window_s` seconds; `remaining` are left, all again in `reset_s` seconds."""

    name: str
    quota: int | None
    window_s: float | None
    remaining: int | None
    reset_s: float | None


def read_rate_limits(headers: httpx.Headers) -> Mapping[str, RateLimit]:
    """The policies of an answer, by name; empty if the headers are missing or cannot be read."""
    policies, states = (_read(headers.get(name, "")) for name in ("ratelimit-policy", "ratelimit"))
    return {
        name: RateLimit(
            name,
            policies.get(name, {}).get("q"),
            policies.get(name, {}).get("w"),
            state.get("r"),
            state.get("t"),
        )
        for name, state in states.items()
    }


def _read(text: str) -> Mapping[str, Mapping[str, int]]:
    try:
        items = http_sf.parse(text.encode("latin-1", "replace"), tltype="list")
    except http_sf.StructuredFieldError:
        return {}
    return {
        str(item[0]): {key: value for key, value in item[1].items() if type(value) is int and value >= 0}
        for item in (items if isinstance(items, list) else ())
        if isinstance(item, tuple) and isinstance(item[0], str)
    }
