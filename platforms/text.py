"""The canonical form of text: every hash, offset and quotation refers to it.

It is byte-identical to what the JavaScript client computes; any change would break all stored content hashes, versions
and positions.
"""

from __future__ import annotations

import re
from typing import Final

from contracts.composed import nfc
from platforms.markup import Fragment

JS_SPACE: Final = "\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""A character class's body equal to JavaScript's `\\s`. Python's lacks U+FEFF, and has U+001C to U+001F and U+0085."""

REPLACEMENTS: Final = (
    *((character, '"') for character in "\u201c\u201d"),
    *((character, "'") for character in "\u2018\u2019"),
    *((character, "-") for character in "\u2010\u2011\u2012\u2013\u2014\u2015"),
    ("\u2026", "..."),
    *((character, "") for character in "\u200b\u200c\u200d\ufeff"),
)

_SPACES = re.compile(f"[{JS_SPACE}]+")
_SPACE_CHARACTERS = "".join(filter(_SPACES.match, map(chr, range(0x10000))))
_PYTHON_ONLY_SPACES = "\x1c\x1d\x1e\x1f\x85"


def normalize(raw: str) -> str:
    """Normalise text: NFC, plain quotes and dashes, no zero-width characters, single spaces.

    Shapes: lone surrogates remain; two that become adjacent form the character they encode, as in JavaScript.
    Source: docs/protocol.md 3.1.
    """
    return _collapse_spaces(raw if raw.isascii() else _plain(raw))


def utf16_length(text: str) -> int:
    """Count UTF-16 code units, the unit of every offset on the wire."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def word_count(text: str) -> int:
    """Count words, separated by JavaScript white space. Source: docs/protocol.md 3.3."""
    if any(character in text for character in _PYTHON_ONLY_SPACES) or "\ufeff" in text:
        return sum(1 for piece in _SPACES.split(text) if piece)
    return len(text.split())


def js_trim(text: str) -> str:
    """Remove JavaScript white space from both ends."""
    return text.strip(_SPACE_CHARACTERS)


def html_to_text(html: str) -> str:
    """The canonical text of an HTML fragment, without scripts and styles, with a space between blocks.

    Raises: UnparseableHtml: parsing would cost too much. TooLarge: the HTML exceeds the size limit.
    Source: docs/protocol.md 3.2.
    """
    return normalize(article(html).separated_text())


def article(html: str) -> Fragment:
    """Parse an HTML fragment and remove what is never text. Raises: UnparseableHtml."""
    fragment = Fragment.parse(html)
    fragment.remove("script,style,noscript")
    return fragment


def join_surrogates(text: str) -> str:
    """Replace every surrogate pair by the character it encodes."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _plain(raw: str) -> str:
    broken = _has_surrogates(raw)
    text = nfc(join_surrogates(raw) if broken else raw)
    for old, new in REPLACEMENTS:
        text = text.replace(old, new)
    return join_surrogates(text) if broken else text


def _collapse_spaces(text: str) -> str:
    if any(character in text for character in _PYTHON_ONLY_SPACES):
        return _SPACES.sub(" ", text).strip(" ")
    return " ".join(text.split())


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
