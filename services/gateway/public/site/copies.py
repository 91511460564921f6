"""Serves archived pages as plain text or as a download, and proofs of posts.

They are untrusted content under our own origin, so their own content type is never sent, the policy sandboxes them, and
only pages cited by a published finding are served.
"""

from __future__ import annotations

import re
from mimetypes import guess_extension
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.ports import Copies
from services.gateway.public.site.answers import answer
from services.gateway.record.investigations import Report
from services.gateway.record.repository import PublicRecord

GUARDS: Final = {"content-security-policy": "default-src 'none'; sandbox", "x-robots-tag": "noindex"}
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_TEXT: Final = re.compile(r"text/.+|application/(?:[a-z0-9.-]+\+)?(?:json|xml)")


class SourceArchive:
    """The archived pages that findings cite."""

    def __init__(self, record: PublicRecord, copies: Copies) -> None:
        self._record = record
        self._copies = copies

    async def copy(self, request: Request, sha256: str) -> Response | None:
        """The page with this hash; None if no finding cites it, or it was erased. Raises: Unavailable."""
        if not _HASH.fullmatch(sha256):
            return None
        async with self._record.open() as session:
            media_type = await session.investigations.media_type(sha256)
        data = None if media_type is None else await self._copies.copy(sha256)
        if media_type is None or data is None:
            return None
        if _TEXT.fullmatch(media_type):
            return answer(request, data, f"text/plain{_charset(data)}", guards=GUARDS)
        name = f"{sha256[:16]}{guess_extension(media_type) or '.bin'}"
        headers = GUARDS | {"content-disposition": f'attachment; filename="{name}"'}
        return answer(request, data, "application/octet-stream", guards=headers)

    async def proof(self, request: Request, report: Report | None) -> Response | None:
        """The proof of an investigation's post; None if it has none, or it was erased. Raises: Unavailable."""
        sha256 = None if report is None else report.proof_sha256
        data = None if sha256 is None else await self._copies.copy(sha256)
        if sha256 is None or data is None:
            return None
        headers = GUARDS | {"content-disposition": f'attachment; filename="{sha256[:16]}.cbor"'}
        return answer(request, data, "application/vnd.ipld.dag-cbor", guards=headers)


def _charset(data: bytes) -> str:
    """The charset if it is certain; the bytes are sent unchanged, as they were hashed."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return ""
    return "; charset=utf-8"
