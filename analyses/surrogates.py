"""Replace lone surrogates, which models write in JSON and UTF-8 cannot encode."""

from __future__ import annotations

import re
from typing import Final

_HALF: Final = re.compile("[\ud800-\udfff]")
_ESCAPED: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""An escape in a JSON string; the group is a lone surrogate."""


def well_formed(text: str) -> str:
    """`text` with U+FFFD for lone surrogates; the two halves of a pair become one character."""
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") if _HALF.search(text) else text
    return _HALF.sub("\ufffd", joined)


def replace_halves(json_text: str) -> str:
    """JSON with U+FFFD for lone surrogates, plain or escaped, which UTF-8 cannot encode."""
    return _ESCAPED.sub(lambda found: r"\ufffd" if found[1] else found[0], well_formed(json_text))
