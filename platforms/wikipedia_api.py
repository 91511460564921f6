"""Errors and ids in the responses of MediaWiki's API."""

from __future__ import annotations

import re
from typing import Final

from platforms.base import CanonicalMismatch, Mismatch, get_path

ENDPOINT: Final = "https://{language}.wikipedia.org/w/api.php"
DIGITS: Final = re.compile("[0-9]+")
_NO_PAGE: Final = frozenset(
    (
        "nosuchrevid", "missingtitle", "nosuchpageid", "missingcontent-revid",
        "badinteger", "integeroutofrange", "invalidtitle", "pagecannotexist",
    )
)  # fmt: skip
_NOT_PUBLIC: Final = frozenset({"permissiondenied", "readapidenied"})
_BUSY: Final = frozenset({"maxlag", "ratelimited", "readonly"})
"""Errors of the wiki as a whole. Others concern the request, whose parameters are untrusted."""


def check_answer(answer: object) -> None:
    """Refuse a response that states an error. Raises: CanonicalMismatch."""
    code = get_path(answer, "error", "code")
    if code is None:
        return
    reason: Mismatch = "bad_answer"
    if code in _NO_PAGE:
        reason = "not_found"
    elif code in _NOT_PUBLIC:
        reason = "not_public"
    raise CanonicalMismatch(reason, f"Wikipedia answers with an error: {str(code)[:200]}", broken=code in _BUSY)


def parse_number(value: object) -> str | None:
    """An id, which the API gives as a number or as a string of digits; None for any other value."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return str(value)
    return value if isinstance(value, str) and DIGITS.fullmatch(value) else None
