"""Archived pages as they came: bytes from anywhere, which a browser shows as plain text or keeps as a file.

They lie under our own address, where whatever they say would run as ours. So their own type is never sent, nothing of
them may load or run, and only pages that a published finding rests on are there at all.
"""

from __future__ import annotations

import re
from mimetypes import guess_extension
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.ports import Copies
from services.gateway.site.answers import answer
from services.gateway.site.reads import Shelf

GUARDS: Final = {"content-security-policy": "default-src 'none'; sandbox", "x-robots-tag": "noindex"}
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_TEXT: Final = re.compile(r"text/.+|application/(?:[a-z0-9.-]+\+)?(?:json|xml)")


class Archived:
    """The copies of the pages that findings rest on."""

    def __init__(self, shelf: Shelf, copies: Copies) -> None:
        self._shelf = shelf
        self._copies = copies

    async def copy(self, request: Request, sha256: str) -> Response | None:
        """The bytes with this hash; None: no finding rests on them, or they were erased. Raises: Unavailable."""
        if not _HASH.fullmatch(sha256):
            return None
        async with self._shelf.open() as looking:
            row = await looking.record.copy(sha256)
        data = None if row is None else await self._copies.copy(sha256)
        if row is None or data is None:
            return None
        if _TEXT.fullmatch(row["media_type"]):
            return answer(request, data, f"text/plain{_charset(data)}", guards=GUARDS)
        name = f"{sha256[:16]}{guess_extension(row['media_type']) or '.bin'}"
        kept = GUARDS | {"content-disposition": f'attachment; filename="{name}"'}
        return answer(request, data, "application/octet-stream", guards=kept)


def _charset(data: bytes) -> str:
    """Sent only where it is known to be true, so that the bytes stay those that were hashed."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return ""
    return "; charset=utf-8"
