"""Halves of surrogate pairs, which models write in JSON and no encoding holds."""

from __future__ import annotations

import re
from typing import Final

_HALF: Final = re.compile("[\ud800-\udfff]")
_ESCAPED: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""An escape in a string of JSON; the group is half of a surrogate pair without the other half."""


def well_formed(text: str) -> str:
    """A text without halves of surrogate pairs; two halves that belong together are one character."""
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") if _HALF.search(text) else text
    return _HALF.sub("\ufffd", joined)


def replace_halves(json_text: str) -> str:
    """JSON without halves of surrogate pairs, plain or escaped, which no encoding holds; each becomes U+FFFD."""
    return _ESCAPED.sub(lambda found: r"\ufffd" if found[1] else found[0], well_formed(json_text))
