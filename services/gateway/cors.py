"""Which web origins may read what: the public record is anybody's, what changes something is for extensions.

Extensions send from an origin of their own kind. A page of some site could otherwise have its visitors' browsers
register texts and count views; without an origin that is allowed, their browsers do not even send the request.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from services.gateway.http import ALLOWED_HEADERS, ANY_ORIGIN, HeaderList

EXTENSIONS: Final = (b"chrome-extension://", b"moz-extension://", b"safari-web-extension://")


class Cors:
    """Decides by origin. `origins` are further ones that may do what extensions may."""

    def __init__(self, origins: Iterable[str] = ()) -> None:
        self._origins = frozenset(origin.strip().lower().encode() for origin in origins)

    def headers(self, origin: bytes, *, changes: bool) -> HeaderList:
        """What a response says to a browser. `changes`: the request is one that changes something."""
        if not changes:
            return ANY_ORIGIN
        vary = (b"vary", b"origin")
        if origin and (origin.startswith(EXTENSIONS) or origin.lower() in self._origins):
            return (b"access-control-allow-origin", origin), ALLOWED_HEADERS, vary
        return (vary,)
