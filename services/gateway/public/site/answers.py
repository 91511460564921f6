"""Responses of pages: common headers, ETag, conditional requests and gzip.

The content security policy allows one style sheet, pictures of our own, and no scripts, so that an escaping bug cannot
run any.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.http import accepts_gzip, names_tag

HTML: Final = "text/html; charset=utf-8"
POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
GUARDS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "strict-origin-when-cross-origin",
}
_WORTH_PACKING: Final = 1_000
_PACKABLE: Final = ("text/", "application/", "image/svg")


def answer(
    request: Request,
    body: bytes,
    kind: str = HTML,
    *,
    status: int = 200,
    max_age_s: int = 60,
    immutable: bool = False,
    guards: Mapping[str, str] | None = None,
) -> Response:
    """The response, or 304 if the client has it. `guards`: stricter security headers."""
    headers = {**GUARDS, **(guards or {}), "content-type": kind}
    if status != 200:
        return Response(body, status, {**headers, "cache-control": "no-store"})
    headers["cache-control"] = "public, max-age=31536000, immutable" if immutable else f"public, max-age={max_age_s}"
    headers["etag"] = tag = f'W/"{sha256(body).hexdigest()[:24]}"'
    packable = kind.startswith(_PACKABLE) and len(body) > _WORTH_PACKING
    if packable:
        headers["vary"] = "accept-encoding"
    # Only the tag decides: a date cannot say that an entry was erased and nothing else has changed.
    if names_tag(request.headers.get("if-none-match", ""), tag):
        del headers["content-type"]
        return Response(b"", 304, headers)
    if packable and accepts_gzip(request.headers.get("accept-encoding", "")):
        headers["content-encoding"] = "gzip"
        body = gzip.compress(body, 5, mtime=0)
    return Response(body, status, headers)
