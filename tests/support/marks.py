"""Messages to a model without the word that each one's markers hold."""

from __future__ import annotations

import re

_WORD = re.compile(r"(<<<(?:BEGIN|END) [A-Z ]+?(?: \d+)?) [0-9a-f]{20}(?=>>>)")


def without_words(message: str) -> str:
    """The message as if its markers were fixed ones."""
    return _WORD.sub(r"\1", message)
