"""CORS: any origin may read the public record; mutations are for extensions alone.

Otherwise any web page could have its visitors' browsers register texts and count views; without an allowed origin,
browsers do not send such a request.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from services.gateway.http import ALLOWED_HEADERS, ANY_ORIGIN, HeaderList

JOB_HEADERS: Final[HeaderList] = (
    (b"access-control-allow-origin", b"*"),
    (
        b"access-control-allow-headers",
        b"Content-Type, Authorization, Idempotency-Key, Last-Event-ID, Prefer, OpenErrata-Version",
    ),
    (
        b"access-control-expose-headers",
        b"Location, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed, Preference-Applied, "
        b"OpenErrata-Version, x-correlation-id",
    ),
)
"""The job API may be used from any page: a browser sends no key of its own accord."""
JOB_PREFLIGHT: Final[HeaderList] = (
    (b"access-control-allow-methods", b"GET, POST, DELETE, OPTIONS"),
    (b"access-control-max-age", b"86400"),
)
EXTENSIONS: Final = (b"chrome-extension://", b"moz-extension://", b"safari-web-extension://")


class Cors:
    """CORS headers by origin. `origins` have the rights of extensions."""

    def __init__(self, origins: Iterable[str] = ()) -> None:
        self._origins = frozenset(origin.strip().lower().encode() for origin in origins)

    def headers(self, origin: bytes, *, changes: bool) -> HeaderList:
        """The CORS headers of a response. `changes`: the request is a mutation."""
        if not changes:
            return ANY_ORIGIN
        vary = (b"vary", b"origin")
        if origin and (origin.startswith(EXTENSIONS) or origin.lower() in self._origins):
            return (b"access-control-allow-origin", origin), ALLOWED_HEADERS, vary
        return (vary,)
